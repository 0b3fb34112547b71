"""Operators that move data by indices: gather, scatter, compress, one-hot.

Routes follow from sizes, attributes and constant inputs. ScatterElements and ScatterND count
without their ``reduction``.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

import numpy as np

from nestmap.model.workload.access import AccessRoute, AnyIndex, Gather
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    axis_at,
    check_fits,
    input_sizes,
    integers_at,
    normalize_axis,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.operand_routes import (
    Steps,
    anywhere,
    drop_axes,
    parameters,
    reshape_step,
    resize_steps,
    route,
)
from nestmap.pipeline.frontend.onnx.operators.record import Folding, Movement, Operator


def _gather(reader: NodeReader) -> Iterator[AccessRoute]:
    """Slices of a tensor, selected by index along an axis."""
    data, picked, after = (input_sizes(reader), input_sizes(reader, 1), output_sizes(reader))
    axis = axis_at(reader, 0, len(data))
    behind = axis + len(picked)
    check_fits(reader, after == (*data[:axis], *picked, *data[axis + 1 :]))
    flat = (*data[:axis], prod(picked), *data[axis + 1 :])
    yield route(
        0,
        reshape_step(after, flat),
        _picked(axis, integers_at(reader, 1), (flat[axis], data[axis])),
    )
    if not reader.tensor(1).constant:
        yield route(1, drop_axes(after, (*range(axis), *range(behind, len(after)))))


def _picked(axis: int, indices: Sizes | None, lengths: tuple[int, int]) -> Steps:
    """The step along an axis by known indices, possibly counted from the end, or by any index."""
    after, size = lengths
    if indices is None or len(indices) != after or not all(-size <= i < size for i in indices):
        return (AnyIndex(axis=axis, size=size),)
    return (Gather(axis=axis, indices=tuple(i % size for i in indices), size=size),)


def _gather_elements(reader: NodeReader) -> Iterator[AccessRoute]:
    """Elements of a tensor, selected by index along one axis."""
    data, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(data) == len(after))
    yield route(0, resize_steps(after, data, {axis_at(reader, 0, len(data))}))
    if not reader.tensor(1).constant:
        yield route(1, reshape_step(after, input_sizes(reader, 1)))


def _gather_nd(reader: NodeReader) -> Iterator[AccessRoute]:
    """Slices of a tensor, selected by indices along several axes."""
    data, picked, after = (input_sizes(reader), input_sizes(reader, 1), output_sizes(reader))
    batch = reader.integer("batch_dims", 0, least=0)
    check_fits(reader, batch < len(picked) and batch + picked[-1] <= len(data))
    inner = batch + picked[-1]
    columns = data[batch:inner]
    flat = (*data[:batch], prod(picked[batch:-1]), *data[inner:])
    values = None if batch else _flat(integers_at(reader, 1), columns)
    lengths = flat[batch], prod(columns)
    joined = (*data[:batch], lengths[1], *data[inner:])
    steps = _picked(batch, values, lengths)
    yield route(0, reshape_step(after, flat), steps, reshape_step(joined, data))
    if not reader.tensor(1).constant:
        one = (*picked[:-1], 1)
        behind = drop_axes(after, range(len(picked) - 1, len(after)))
        yield route(
            1, behind, reshape_step(picked[:-1], one), resize_steps(one, picked, {len(one) - 1})
        )


def _flat(indices: Sizes | None, columns: Sizes) -> Sizes | None:
    """Converts rows of indices along several axes to flat indices along these axes combined."""
    if indices is None or not columns or 0 in columns:
        return None
    rows = np.asarray(indices, dtype=np.int64).reshape(-1, len(columns))
    if ((rows < -np.asarray(columns)) | (rows >= columns)).any():
        return None
    together = np.ravel_multi_index(tuple((rows % columns).T), columns)
    return tuple(int(i) for i in np.atleast_1d(together))


def _scatter_elements(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor with some elements replaced, at indices along an axis."""
    data, updates = input_sizes(reader), input_sizes(reader, 2)
    axis = axis_at(reader, 0, len(data))
    check_fits(reader, output_sizes(reader) == data and len(updates) == len(data))
    yield route(0)
    yield route(2, resize_steps(data, updates, {axis}))
    if not reader.tensor(1).constant:
        yield route(1, resize_steps(data, input_sizes(reader, 1), {axis}))


def _scatter_nd(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor with some slices replaced, at indices along several axes."""
    data, places, updates = (input_sizes(reader), input_sizes(reader, 1), input_sizes(reader, 2))
    check_fits(reader, output_sizes(reader) == data and bool(places) and places[-1] <= len(data))
    outer, rows = data[: places[-1]], prod(places[:-1])
    rest = data[places[-1] :]
    any_row: Steps = (AnyIndex(axis=0, size=rows),)
    yield route(0)
    yield route(
        2, reshape_step(data, (prod(outer), *rest)), any_row, reshape_step((rows, *rest), updates)
    )
    yield from parameters(reader, 1)


def _tensor_scatter(reader: NodeReader) -> Iterator[AccessRoute]:
    """A cache with some elements along an axis replaced, at a position per batch element."""
    data, updates = input_sizes(reader), input_sizes(reader, 1)
    axis = axis_at(reader, -2, len(data))
    check_fits(reader, output_sizes(reader) == data and len(updates) == len(data))
    yield route(0)
    yield route(1, resize_steps(data, updates, {axis}))
    yield from parameters(reader, 2)


def _reverse_sequence(reader: NodeReader) -> Iterator[AccessRoute]:
    """The first elements along an axis reversed, with a length per batch element."""
    data = input_sizes(reader)
    axes = (reader.integer(name, i, least=0) for i, name in enumerate(("time_axis", "batch_axis")))
    time, batch = (normalize_axis(reader, axis, len(data)) for axis in axes)
    yield route(0, resize_steps(data, data, {time}))
    if not reader.tensor(1).constant:
        yield route(1, drop_axes(data, (axis for axis in range(len(data)) if axis != batch)))


def _compress(reader: NodeReader) -> Iterator[AccessRoute]:
    """The elements, along an axis or of the flat tensor, for which a condition holds."""
    data, after = input_sizes(reader), output_sizes(reader)
    yield from parameters(reader, 1)
    along = any(attribute.name == "axis" for attribute in reader.node.proto.attribute)
    axis = axis_at(reader, 0, len(data)) if along else 0
    flat = data if along else (prod(data),)
    check_fits(reader, len(after) == len(flat))
    condition = reader.value(1)
    indices = None if condition is None else tuple(map(int, np.flatnonzero(condition)))
    steps = _picked(axis, indices, (after[axis], flat[axis]))
    yield route(0, steps, reshape_step(flat, data))


def _max_unpool(reader: NodeReader) -> Iterator[AccessRoute]:
    """Elements at the positions given by a tensor, with zeros in between."""
    yield from (anywhere(reader, 0), anywhere(reader, 1))


def _one_hot(reader: NodeReader) -> Iterator[AccessRoute]:
    """One of two values, depending on an index."""
    indices, after = input_sizes(reader), output_sizes(reader)
    axis = axis_at(reader, -1, len(after))
    yield from parameters(reader, 1, 2)
    if not reader.tensor(0).constant:
        yield route(0, drop_axes(after, {axis}), reshape_step(_but(after, axis), indices))


def _but(sizes: Sizes, axis: int) -> Sizes:
    return (*sizes[:axis], *sizes[axis + 1 :])


INDEXING: Final[Mapping[str, Operator]] = {
    "Gather": Operator(Movement(_gather), folds=Folding.VALUES),
    "GatherElements": Operator(Movement(_gather_elements), folds=Folding.VALUES),
    "GatherND": Operator(Movement(_gather_nd), folds=Folding.VALUES),
    f"{MICROSOFT}.GatherND": Operator(Movement(_gather_nd), shapes.like("GatherND", 0, 1)),
    "Scatter": Operator(Movement(_scatter_elements)),
    "ScatterElements": Operator(Movement(_scatter_elements), folds=Folding.VALUES),
    "ScatterND": Operator(Movement(_scatter_nd), folds=Folding.VALUES),
    "TensorScatter": Operator(Movement(_tensor_scatter)),
    "ReverseSequence": Operator(Movement(_reverse_sequence)),
    "Compress": Operator(Movement(_compress), folds=Folding.OPEN),
    "MaxUnpool": Operator(Movement(_max_unpool)),
    "OneHot": Operator(Movement(_one_hot), folds=Folding.VALUES),
}
"""The operators that move data by indices."""
