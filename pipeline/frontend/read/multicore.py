"""Reads an accelerator with several cores, and allocations of layers to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.frontend.bundled import resolve_mapping, resolve_multicore
from nestmap.pipeline.frontend.cacti_cache import cached_cacti
from nestmap.pipeline.frontend.read.source import source_of
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenCoreMapping, GivenCores
    from nestmap.store import Store


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
