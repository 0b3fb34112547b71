"""Whatever names a workload, an accelerator or a mapping, made into the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model import Accelerator, InputError, MappingConstraints, Workload
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.frontend.bundled import (
    default_mapping_for,
    resolve_accelerator,
    resolve_mapping,
    resolve_multicore,
    resolve_workload,
)
from nestmap.pipeline.frontend.cacti_cache import remembered
from nestmap.pipeline.frontend.networks import generated_workload, network_names
from nestmap.pipeline.frontend.static_energy import leaking
from nestmap.pipeline.frontend.yaml.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from nestmap.pipeline.frontend.yaml.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml

if TYPE_CHECKING:
    import onnx

    from nestmap.store import Store


def read_workload(
    given: Workload | onnx.ModelProto | Path | str,
    dims: Mapping[str, int] | None = None,
    float_bits: int | None = None,
) -> Workload:
    """The workload that is given as a model, an ONNX model, a file or a bundled name.

    Args:
        given: what to read.
        dims: sizes of the dimensions that the network leaves open, by name.
        float_bits: bits that a float32 or float64 of an ONNX model counts (``None``: 8).

    Raises:
        InputError: where the file, the name or a dimension is not right.
    """
    if isinstance(given, Workload):
        _check_fixed(f"workload {given.name}", dims, float_bits)
        return given
    if given in network_names():
        _check_fixed(f"network {str(given)!r}", None, float_bits)
        return generated_workload(str(given), dims or {})
    if isinstance(given, str | Path):
        path = resolve_workload(str(given))
        if path.suffix.lower() in (".yaml", ".yml"):
            _check_fixed(str(path), dims, float_bits)
            return parse_workload_yaml(path)
        given = path
    # onnx takes long to import, and only those who use it shall wait
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415

    if float_bits is None:
        return parse_onnx(given, dims=dims)
    return parse_onnx(given, dims=dims, float_bits=float_bits)


def _check_fixed(where: str, dims: Mapping[str, int] | None, float_bits: int | None) -> None:
    for name in dims or ():
        raise InputError.conflict(f"--dim {name}", where, "all its sizes are fixed")
    if float_bits is not None:
        hint = "it is for ONNX models, others state their precisions"
        raise InputError.conflict(f"--float-bits {float_bits}", where, hint)


def read_accelerator(
    given: Accelerator | Path | str,
    store: Store | Path | str | None = None,
    *,
    static_energy: bool = False,
) -> Accelerator:
    """The accelerator that is given as a model, a file or a bundled name.

    Where the file asks CACTI for the costs of memories, the store remembers the answers. With
    ``static_energy`` energies include what leaks.

    Raises:
        InputError: where the file or the name is not right.
        StoreError: where the store is needed and cannot be used.
    """
    accelerator = (
        given
        if isinstance(given, Accelerator)
        else parse_accelerator(resolve_accelerator(str(given)), remembered(store))
    )
    return leaking(accelerator) if static_energy else accelerator


def read_multicore(
    given: MultiCoreAccelerator | Path | str, store: Store | Path | str | None = None
) -> MultiCoreAccelerator:
    """The accelerator with several cores that is given as a model, a file or a bundled name.

    Where a file asks CACTI for the costs of memories, the store remembers the answers.

    Raises:
        InputError: where a file or the name is not right.
        StoreError: where the store is needed and cannot be used.
    """
    if isinstance(given, MultiCoreAccelerator):
        return given
    return parse_multicore(resolve_multicore(str(given)), remembered(store))


def read_core_mapping(given: CoreMapping | Path | str | None) -> CoreMapping:
    """The core allocations that are given as a model or a mapping file; ``None``: there are none.

    Raises:
        InputError: where the file or the name is not right.
    """
    if isinstance(given, CoreMapping):
        return given
    return CoreMapping() if given is None else parse_core_mapping(resolve_mapping(str(given)))


def read_mapping(
    given: MappingConstraints | Path | str | None, *, for_accelerator: str | None
) -> MappingConstraints:
    """The constraints that are given; ``None``: those bundled for the accelerator, else none.

    Raises:
        InputError: where the file or the name is not right.
    """
    if isinstance(given, MappingConstraints):
        return given
    if given is not None:
        return parse_mapping(resolve_mapping(str(given)))
    bundled = None if for_accelerator is None else default_mapping_for(for_accelerator)
    return MappingConstraints() if bundled is None else parse_mapping(bundled)
