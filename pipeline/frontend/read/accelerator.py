"""Reads an accelerator with one core from a file, a bundled name or a Python object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model import Accelerator
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.cacti_cache import cached_cacti
from nestmap.pipeline.frontend.read.source import source_of
from nestmap.pipeline.frontend.static_energy import with_static_energy
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenAccelerator
    from nestmap.store import Store


def read_accelerator(
    given: GivenAccelerator,
    store: Store | Path | str | None = None,
    *,
    static_energy: bool = False,
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
