"""Reads a network from a file, a bundled name or a Python object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import ValidationError

from nestmap.model import InputError, Layer, Workload
from nestmap.model.errors import check_kind, shortened
from nestmap.model.workload.builders import network
from nestmap.model.workload.consistency import check_workload
from nestmap.pipeline.frontend.bundled import light_names, resolve_workload
from nestmap.pipeline.frontend.networks import generate_workload, network_names

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import FieldValues, GivenWorkload
    from nestmap.pipeline.frontend.onnx_bytes import InputValue


def read_workload(
    given: GivenWorkload,
    dims: Mapping[str, int] | None = None,
    float_bits: int | None = None,
    *,
    measures_density: bool = False,
    values: Mapping[str, InputValue] | None = None,
    trust_shapes: bool = False,
) -> Workload:
    """Reads a workload from a model, an ONNX model, layers, a file or a bundled name.

    Args:
        given: the workload itself, a layer, an ONNX model, layers as in a YAML file, a path or a
            bundled name.
        dims: sizes of the network's open dimensions, by name.
        float_bits: bits counted for each float32 or float64 of an ONNX model (``None``: 8).
        measures_density: whether to count the zeros in the weights of an ONNX model.
        values: the values of inputs of an ONNX model that decide what runs, by name.
        trust_shapes: whether shapes are as an ONNX model states them where others follow.

    Raises:
        InputError: if the file, the name or a dimension is invalid.
    """
    _check_dims(dims)
    check_kind("float_bits", float_bits, (int, NoneType), "a whole number")
    asked = _Asked(dims, float_bits, measures_density, values or {}, trust_shapes)
    if isinstance(given, Layer):
        given = _network_of(given)
    if isinstance(given, Workload):
        _check_fixed(f"workload {given.name}", asked)
        check_workload(given)
        return given
    if isinstance(given, Sequence) and not isinstance(given, str):
        _check_fixed("workload", asked)
        return _parse_yaml(given)
    if given in network_names():
        _check_fixed(f"network {str(given)!r}", asked._replace(dims=None))
        return generate_workload(str(given), dims or {})
    if isinstance(given, str | Path):
        return _read_file(str(given), asked)
    if not hasattr(given, "graph"):  # importing onnx to ask for its models takes long
        found = shortened(repr(cast(object, given)))
        raise InputError("workload", found, "a network, layers, an ONNX model, a file or a name")
    # onnx is slow to import; only commands that use it pay for it
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415
    from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED  # noqa: PLC0415

    bits = UNSTATED if float_bits is None else float_bits
    return parse_onnx(
        given,
        dims=dims,
        float_bits=bits,
        measures_density=measures_density,
        values=values,
        trust_shapes=trust_shapes,
    )


class _Asked(NamedTuple):
    """How an ONNX model is read; other networks state all of it."""

    dims: Mapping[str, int] | None
    float_bits: int | None
    measures_density: bool
    values: Mapping[str, InputValue]
    trust_shapes: bool


def _read_file(given: str, asked: _Asked) -> Workload:
    path = resolve_workload(given)
    if path.suffix.lower() in (".yaml", ".yml"):
        _check_fixed(str(path), asked)
        return _parse_yaml(path)
    # only commands that read ONNX files pay for the import
    from nestmap.pipeline.frontend.onnx_process.client import read_onnx  # noqa: PLC0415

    is_light = given in light_names()
    return read_onnx(
        path,
        asked.dims,
        asked.float_bits,
        measures_density=asked.measures_density,
        values=asked.values,
        trust_shapes=asked.trust_shapes,
        is_trusted=is_light,
    )


def _parse_yaml(source: Sequence[FieldValues] | Path) -> Workload:
    # only networks in YAML pay for the import
    from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml  # noqa: PLC0415

    return parse_workload_yaml(source)


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


def _check_fixed(where: str, asked: _Asked) -> None:
    for name in asked.dims or ():
        raise InputError.conflict(f"--dim {name}", where, "all its sizes are fixed")
    for name in asked.values:
        hint = "it is for ONNX models whose inputs decide what runs"
        raise InputError.conflict(f"--value {name}", where, hint)
    if asked.float_bits is not None:
        hint = "it is for ONNX models, others state their precisions"
        raise InputError.conflict(f"--float-bits {asked.float_bits}", where, hint)
    if asked.measures_density:
        hint = "it is for ONNX models, others state their densities"
        raise InputError.conflict("--measure-density", where, hint)
    if asked.trust_shapes:
        hint = "it is for ONNX models, others state their shapes once"
        raise InputError.conflict("--trust-shapes", where, hint)
