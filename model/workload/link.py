"""Whether a layer can read the tensor that another layer writes: its axes and its precision."""

from collections.abc import Sequence
from math import prod

from nestmap.model.workload.affine import AffineIndex
from nestmap.model.workload.layer import InputOperand, Layer

AxisRange = tuple[int, int]
"""The shortest and the longest axis (elements) that the loops along it can have been made for."""


def shape_contradiction(producer: Layer, consumer: Layer, operand: InputOperand) -> str | None:
    """How the axes that ``consumer`` reads contradict those that ``producer`` writes, if they do.

    Axes correspond in order. Tensors with other axes must have as many elements. Where neither the
    length nor the padding of an axis is known, what is read beyond its end is padding.
    """
    written = written_sizes(producer)
    read = tuple(_fitting(consumer, index) for index in operand.indices)
    if _fits(written, read):
        return None
    output = producer.output.name + "".join(f"[{index}]" for index in producer.output.indices)
    access = operand.name + "".join(f"[{index}]" for index in operand.indices)
    return (
        f"{access} of {consumer.name!r}, which reads {' x '.join(map(_text, read))} elements, "
        f"from {output} of {producer.name!r}, which has {' x '.join(map(str, written))}"
    )


def precision_contradiction(producer: Layer, consumer: Layer, operand: InputOperand) -> str | None:
    """How the bits of an element that ``consumer`` reads contradict those of ``producer``."""
    written = producer.output.precision
    if operand.precision == written:
        return None
    return (
        f"{operand.name} of {consumer.name!r} with {operand.precision} bits an element, "
        f"from {producer.output.name} of {producer.name!r} with {written}"
    )


def concatenation_axis(
    producers: Sequence[Layer], consumer: Layer, operand: InputOperand
) -> int | None:
    """The axis along which outputs, one after the other, are what an input reads, if any."""
    written = [written_sizes(producer) for producer in producers]
    read = tuple(_fitting(consumer, index) for index in operand.indices)
    for axis in range(len(read)):
        apart = {(*sizes[:axis], *sizes[axis + 1 :]) for sizes in written}
        if len(apart) == 1 and all(len(sizes) == len(read) for sizes in written):
            whole = sum(sizes[axis] for sizes in written)
            if _fits((*written[0][:axis], whole, *written[0][axis + 1 :]), read):
                return axis
    return None


def written_sizes(producer: Layer) -> tuple[int, ...]:
    """The lengths of the axes that a layer writes."""
    sizes = producer.sizes
    return tuple(
        index.axis_length(tuple(sizes[d] for d in index.dimensions))
        for index in producer.output.indices
    )


def _fits(written: tuple[int, ...], read: tuple[AxisRange, ...]) -> bool:
    if len(written) == len(read) and all(
        low <= size <= high for size, (low, high) in zip(written, read, strict=True)
    ):
        return True
    fewest, most = prod(low for low, _ in read), prod(high for _, high in read)
    return fewest <= prod(written) <= most and (len(written) != len(read) or fewest == most)


def _fitting(layer: Layer, index: AffineIndex) -> AxisRange:
    """The lengths of the axis that an index of an input of the layer fits."""
    sizes = layer.sizes
    if len(index.terms) == 1:
        size = sizes[index.terms[0].dimension]
        return size, size
    if index.size is not None:
        return index.size, index.size
    outer = {d for other in layer.output.indices for d in other.dimensions}
    reaches = {t.dimension: t.coefficient * (sizes[t.dimension] - 1) for t in index.terms}
    window = [reach for d, reach in reaches.items() if d not in outer] or [max(reaches.values())]
    stride = max((t.coefficient for t in index.terms if t.dimension in outer), default=1)
    reached = sum(reaches.values()) + 1
    padding = sum(index.padding)
    low = reached - (padding or sum(window))
    return max(1, low), max(1, reached - padding + stride - 1)


def _text(axis: AxisRange) -> str:
    low, high = axis
    return str(low) if low == high else f"{low} to {high}"
