"""Reads accelerators with one core or several: a file, a bundled name or a Python object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from nestmap.model import Accelerator, InputError
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.frontend.bundled import (
    resolve_accelerator,
    resolve_mapping,
    resolve_multicore,
)
from nestmap.pipeline.frontend.cacti_cache import cached_cacti
from nestmap.pipeline.frontend.given import source_of
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenAccelerator, GivenCoreMapping, GivenCores
    from nestmap.store import Store

# --- makes the energies of an accelerator include static energy ---


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


# --- reads an accelerator with one core from a file, a bundled name or a Python object ---


def read_accelerator(
    given: GivenAccelerator, store: Store | Path | str | None = None, *, static_energy: bool = False
) -> Accelerator:
    """Reads an accelerator from a model, a file or a bundled name.

    Args:
        given: the accelerator itself, its fields as in a YAML file, a path or a bundled name.
        store: caches the memory costs that CACTI computes, if the file asks for CACTI.
        static_energy: whether energies include leakage.

    Raises:
        InputError: if the file or the name is invalid.
        StoreError: if the store is needed and cannot be used.
    """
    accelerator = (
        given
        if isinstance(given, Accelerator)
        else parse_accelerator(source_of(given, resolve_accelerator), cached_cacti(store))
    )
    return with_static_energy(accelerator) if static_energy else accelerator


# --- reads an accelerator with several cores, and allocations of layers to them ---


def read_multicore(
    given: GivenCores, store: Store | Path | str | None = None
) -> MultiCoreAccelerator:
    """Reads a multi-core accelerator from a model, a file or a bundled name.

    The store caches the memory costs that CACTI computes, if a file asks for CACTI.

    Raises:
        InputError: if a file or the name is invalid.
        StoreError: if the store is needed and cannot be used.
    """
    if isinstance(given, MultiCoreAccelerator):
        return given
    return parse_multicore(source_of(given, resolve_multicore), cached_cacti(store))


def read_core_mapping(given: GivenCoreMapping | None) -> CoreMapping:
    """Reads core allocations from a model or a mapping file; ``None`` means no allocations.

    Raises:
        InputError: if the file or the name is invalid.
    """
    if isinstance(given, CoreMapping):
        return given
    return CoreMapping() if given is None else parse_core_mapping(source_of(given, resolve_mapping))
