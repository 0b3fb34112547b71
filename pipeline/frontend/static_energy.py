"""Energies that include what leaks: asked for beside an accelerator, kept as a part of it."""

from __future__ import annotations

from pydantic import ValidationError

from nestmap.model import Accelerator, InputError
from nestmap.model.base import replaced


def leaking(accelerator: Accelerator) -> Accelerator:
    """The accelerator with energies that include static energy.

    Raises:
        InputError: where nothing on it leaks, or its clock period is not known.
    """
    where = f"accelerator {accelerator.name}"
    memories = any(level.instance.leakage for level in accelerator.memories)
    if not (memories or accelerator.array.unit_leakage):
        raise InputError(
            where,
            "no leakage, and static energy is asked for",
            "leakage (mW) of some memory, or unit_leakage (mW) of the array",
        )
    try:
        return replaced(accelerator, {"counts_leakage": True})
    except ValidationError as error:
        raise InputError.of(where, error) from None
