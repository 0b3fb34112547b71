"""Finds the symbolic dimensions of an ONNX model and sets their sizes."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import onnx
from pydantic import ValidationError

from nestmap.model import InputError
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import ExpressionError
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.onnx.load.opsets import as_text
from nestmap.pipeline.frontend.onnx.load.shapes import GENERATED, LIMIT
from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes, subgraphs

_Dimension = onnx.TensorShapeProto.Dimension


def free_dimensions(graph: onnx.GraphProto, stored: Collection[str]) -> tuple[str, ...]:
    """The symbolic dimensions of the graph's inputs: ``batch``, or ``x[0]`` if unnamed.

    Of a sum, difference or product (``past + length``), those that it is of.
    """
    names = _of_inputs(graph, stored)
    return tuple(dict.fromkeys(x for name in names for x in _terms(name) or (name,)))


def set_dimensions(
    model: onnx.ModelProto, stored: Collection[str], sizes: Mapping[str, int], where: str
) -> None:
    """Sets the sizes of symbolic dimensions wherever they occur, and of expressions of them.

    Args:
        model: the model, changed in place.
        stored: the names of the tensors stored in the model.
        sizes: sizes by name, or by input and axis (``x[0]``) for unnamed dimensions.
        where: the model, for messages.

    Raises:
        InputError: if the model has no such dimension or a size is not in 1 to 2**31 - 1.
    """
    if not sizes:
        return
    places = _of_inputs(model.graph, stored)
    for value in _elsewhere(model.graph):
        for _, name, dim in _free(value):
            if name:
                places.setdefault(name, []).append(dim)
    terms = {x: name for name in places for x in _terms(name)}
    for name, size in sizes.items():
        if not places:
            raise InputError.conflict(f"--dim {name}", where, "all its sizes are fixed")
        if name not in places and name not in terms:
            known = tuple({**places, **terms})
            raise InputError(where, f"no dimension {name!r}", suggestion(name, known))
        if not 1 <= size < LIMIT:
            found = f"size {size} for dimension {name!r}"
            raise InputError(where, found, "1 to 2**31 - 1")
        for dim in places.get(name, ()):
            dim.dim_value = size
    _set_expressions(places, sizes, where)


# --- dimensions that are called after what they are: ``past_length + length`` ---

_HYPHENATED: Final = re.compile(r"\w+(-\w+)+")
"""A name such as ``batch-size``, which is no difference."""


def _expression(name: str) -> Expression | None:
    """The expression of other dimensions that a name is; ``None`` if it is another name."""
    if name.isidentifier() or _HYPHENATED.fullmatch(name):
        return None
    try:
        found = Expression(text=name)
    except ValidationError:
        return None
    return found if found.names else None


def _terms(name: str) -> tuple[str, ...]:
    """The dimensions of which an expression is; empty if the name is none."""
    found = _expression(name)
    return () if found is None else found.names


def _set_expressions(
    places: Mapping[str, Sequence[_Dimension]], sizes: Mapping[str, int], where: str
) -> None:
    """Sets the dimensions that are expressions of sizes that are known."""
    for name, dims in places.items():
        found = None if name in sizes else _expression(name)
        if found is None or not sizes.keys() >= {*found.names}:
            continue
        try:
            size = found.value(sizes)
        except ExpressionError as error:
            raise InputError(where, f"dimension {name!r} with {error}", "a size") from None
        if type(size) is not int or not 1 <= size < LIMIT:
            raise InputError(where, f"size {size} for dimension {name!r}", "1 to 2**31 - 1")
        for dim in dims:
            dim.dim_value = size


def _of_inputs(graph: onnx.GraphProto, stored: Collection[str]) -> dict[str, list[_Dimension]]:
    """The symbolic dimensions of the graph's inputs, by name."""
    places: dict[str, list[_Dimension]] = {}
    for value in graph.input:
        if value.name not in stored:
            for axis, name, dim in _free(value):
                places.setdefault(name or f"{value.name}[{axis}]", []).append(dim)
    return places


def _elsewhere(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    """The declared types of all tensors except graph inputs, including those in subgraphs."""
    yield from graph.value_info
    yield from graph.output
    for node in all_nodes(graph):
        for body in subgraphs(node):
            for values in (body.input, body.value_info, body.output):
                yield from values


def _free(value: onnx.ValueInfoProto) -> Iterator[tuple[int, str, _Dimension]]:
    """Axis, name (empty if unnamed) and value of each symbolic dimension of a tensor."""
    for axis, dim in enumerate(_shape(value.type).dim):
        if not dim.HasField("dim_value"):
            name = as_text(dim.dim_param)
            yield axis, "" if name.startswith(GENERATED) else name, dim


def _shape(kind: onnx.TypeProto) -> onnx.TensorShapeProto:
    while True:
        match kind.WhichOneof("value"):
            case "sequence_type":
                kind = kind.sequence_type.elem_type
            case "optional_type":
                kind = kind.optional_type.elem_type
            case "sparse_tensor_type":
                return kind.sparse_tensor_type.shape
            case _:
                return kind.tensor_type.shape
