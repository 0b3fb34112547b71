"""Makes the energies of an accelerator include static energy."""

from __future__ import annotations

from pydantic import ValidationError

from nestmap.model import Accelerator, InputError
from nestmap.model.base import copy_with


def with_static_energy(accelerator: Accelerator) -> Accelerator:
    """The same accelerator, with static energy included in its energies.

    Raises:
        InputError: if nothing on the accelerator leaks, or its clock period is unknown.
    """
    where = f"accelerator {accelerator.name}"
    memories = any(level.instance.leakage for level in accelerator.memories)
    if not (memories or accelerator.array.unit_leakage):
        raise InputError(
            where,
            "no leakage, although static energy is requested",
            "leakage (mW) of a memory, or unit_leakage (mW) of the array",
        )
    try:
        return copy_with(accelerator, {"counts_leakage": True})
    except ValidationError as error:
        raise InputError.of(where, error) from None
