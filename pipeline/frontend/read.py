"""Reads a workload, an accelerator or a mapping from a path, a bundled name or a Python object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, TypeVar, cast

from pydantic import ValidationError

from nestmap.model import Accelerator, InputError, Layer, MappingConstraints, Workload
from nestmap.model.errors import check_kind, shortened
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.workload.builders import network
from nestmap.model.workload.consistency import check_workload
from nestmap.pipeline.frontend.bundled import (
    default_mapping_for,
    light_names,
    resolve_accelerator,
    resolve_mapping,
    resolve_multicore,
    resolve_workload,
)
from nestmap.pipeline.frontend.cacti_cache import cached_cacti
from nestmap.pipeline.frontend.networks import generate_workload, network_names
from nestmap.pipeline.frontend.static_energy import with_static_energy
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import (
        GivenAccelerator,
        GivenCoreMapping,
        GivenCores,
        GivenMapping,
        GivenWorkload,
    )
    from nestmap.store import Store

V = TypeVar("V")
"""The values of a YAML file."""


def read_workload(
    given: GivenWorkload,
    dims: Mapping[str, int] | None = None,
    float_bits: int | None = None,
    *,
    measures_density: bool = False,
) -> Workload:
    """Reads a workload from a model, an ONNX model, layers, a file or a bundled name.

    Args:
        given: the workload itself, a layer, an ONNX model, layers as in a YAML file, a path or a
            bundled name.
        dims: sizes of the network's open dimensions, by name.
        float_bits: bits counted for each float32 or float64 of an ONNX model (``None``: 8).
        measures_density: whether to count the zeros in the weights of an ONNX model.

    Raises:
        InputError: if the file, the name or a dimension is invalid.
    """
    _check_dims(dims)
    check_kind("float_bits", float_bits, (int, NoneType), "a whole number")
    if isinstance(given, Layer):
        given = _network_of(given)
    if isinstance(given, Workload):
        _check_fixed(f"workload {given.name}", dims, float_bits, measures_density)
        check_workload(given)
        return given
    if isinstance(given, Sequence) and not isinstance(given, str):
        _check_fixed("workload", dims, float_bits, measures_density)
        return parse_workload_yaml(given)
    if given in network_names():
        _check_fixed(f"network {str(given)!r}", None, float_bits, measures_density)
        return generate_workload(str(given), dims or {})
    if isinstance(given, str | Path):
        return _read_file(str(given), dims, float_bits, measures_density)
    if not hasattr(given, "graph"):  # importing onnx to ask for its models takes long
        found = shortened(repr(cast(object, given)))
        raise InputError("workload", found, "a network, layers, an ONNX model, a file or a name")
    # onnx is slow to import; only commands that use it pay for it
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415
    from nestmap.pipeline.frontend.onnx.node.precision import UNSTATED  # noqa: PLC0415

    bits = UNSTATED if float_bits is None else float_bits
    return parse_onnx(given, dims=dims, float_bits=bits, measures_density=measures_density)


def _read_file(
    given: str, dims: Mapping[str, int] | None, float_bits: int | None, measures_density: bool
) -> Workload:
    path = resolve_workload(given)
    if path.suffix.lower() in (".yaml", ".yml"):
        _check_fixed(str(path), dims, float_bits, measures_density)
        return parse_workload_yaml(path)
    # only commands that read ONNX files pay for the import
    from nestmap.pipeline.frontend.onnx_process.client import read_onnx  # noqa: PLC0415

    is_light = given in light_names()
    return read_onnx(path, dims, float_bits, measures_density=measures_density, is_trusted=is_light)


def _network_of(layer: Layer) -> Workload:
    try:
        return network(layer.name, layer)
    except ValidationError as error:  # its input comes from another layer
        raise InputError.of(f"layer {layer.name}", error) from None


def _check_dims(dims: object) -> None:
    check_kind("dims", dims, (Mapping, NoneType), "sizes by name")
    sizes = cast("Mapping[object, object]", dims or {})
    for name, size in sizes.items():
        check_kind(f"dims of {name}", size, (int,), "a whole number")


def _check_fixed(
    where: str, dims: Mapping[str, int] | None, float_bits: int | None, measures_density: bool
) -> None:
    for name in dims or ():
        raise InputError.conflict(f"--dim {name}", where, "all its sizes are fixed")
    if float_bits is not None:
        hint = "it is for ONNX models, others state their precisions"
        raise InputError.conflict(f"--float-bits {float_bits}", where, hint)
    if measures_density:
        hint = "it is for ONNX models, others state their densities"
        raise InputError.conflict("--measure-density", where, hint)


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
        else parse_accelerator(_source(given, resolve_accelerator), cached_cacti(store))
    )
    return with_static_energy(accelerator) if static_energy else accelerator


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
    return parse_multicore(_source(given, resolve_multicore), cached_cacti(store))


def read_core_mapping(given: GivenCoreMapping | None) -> CoreMapping:
    """Reads core allocations from a model or a mapping file; ``None`` means no allocations.

    Raises:
        InputError: if the file or the name is invalid.
    """
    if isinstance(given, CoreMapping):
        return given
    return CoreMapping() if given is None else parse_core_mapping(_source(given, resolve_mapping))


def read_mapping(given: GivenMapping | None, *, for_accelerator: str | None) -> MappingConstraints:
    """Reads mapping constraints; ``None`` means those bundled for the accelerator, if any.

    Raises:
        InputError: if the file or the name is invalid.
    """
    if isinstance(given, MappingConstraints):
        return given
    if given is not None:
        return parse_mapping(_source(given, resolve_mapping))
    bundled = None if for_accelerator is None else default_mapping_for(for_accelerator)
    return MappingConstraints() if bundled is None else parse_mapping(bundled)


def _source(given: V | Path | str, resolve: Callable[[str], Path]) -> V | Path:
    """The file of a path or name, or the values themselves."""
    return resolve(str(given)) if isinstance(given, str | Path) else given
