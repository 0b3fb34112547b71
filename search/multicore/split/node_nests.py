"""Nodes as loop nests, and the axes of tensors that the loops index."""

from collections.abc import Sequence
from math import prod

from nestmap.model import AffineIndex, InputOperand, LayerNode, Tensor, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension, LayerOperand
from nestmap.model.multicore.cn_layer import LayerNest, TensorAxis, TensorUse
from nestmap.model.workload.access import AxisIndex
from nestmap.model.workload.affine import Term

Sizes = dict[Dimension, int]


def layer_nest(node: LayerNode, number: int) -> LayerNest:
    """The nest of a layer."""
    layer, sizes = node.layer, node.layer.sizes
    made = node.outputs[0] if node.outputs else None
    return LayerNest(
        name=layer.name,
        number=number,
        operator=layer.operator,
        loops=layer.loops,
        output=TensorUse(
            operand=layer.output.name,
            axes=_axes(layer.output.indices, sizes, made.sizes if made else None),
            precision=layer.output.precision,
            tensor=made.name if made else None,
        ),
        inputs=tuple(
            _layer_read(operand, sizes, _tensor_of(node, position))
            for position, operand in enumerate(layer.inputs)
        ),
    )


def vector_nest(node: VectorNode, number: int) -> LayerNest:
    """The nest of a vector operator; if its accesses are unknown, each part needs all inputs."""
    nest, tensors = node.nest, node.inputs
    sizes = {loop.dimension: loop.size for loop in nest.loops} if nest else {}
    made = node.outputs[0]
    accesses = [x.axes if x else None for x in nest.inputs] if nest else [None] * len(tensors)
    names = ("I", *(f"I{place}" for place in range(1, len(tensors))))
    return LayerNest(
        name=node.name,
        number=number,
        operator=node.operator,
        loops=nest.loops if nest else (),
        output=_use("O", made, nest.output if nest else None, sizes),
        inputs=tuple(
            _use(name, tensor, access, sizes)
            for name, tensor, access in zip(names, tensors, accesses, strict=True)
        ),
    )


def _use(
    operand: LayerOperand, tensor: Tensor, indices: Sequence[AxisIndex] | None, sizes: Sizes
) -> TensorUse:
    extents = tensor.sizes or ()
    known = (None,) * len(extents) if indices is None else indices
    return TensorUse(
        operand=operand,
        axes=tuple(_axis(index, sizes, size) for index, size in zip(known, extents, strict=True)),
        precision=tensor.precision,
        constant=tensor.constant,
        tensor=tensor.name,
    )


def _layer_read(operand: InputOperand, sizes: Sizes, tensor: Tensor | None) -> TensorUse:
    """The reads of a layer; the layout of constants, which no node writes, does not matter."""
    extents = tensor.sizes if tensor and not operand.constant else None
    return TensorUse(
        operand=operand.name,
        axes=_axes(operand.indices, sizes, extents),
        precision=operand.precision,
        constant=operand.constant,
        source=operand.source,
        tensor=tensor.name if tensor else None,
    )


def _tensor_of(node: LayerNode, position: int) -> Tensor | None:
    if not node.inputs:
        return None
    return node.inputs[node.positions[position] if node.positions else position]


def _axes(
    indices: Sequence[AffineIndex], sizes: Sizes, extents: Sequence[int] | None
) -> tuple[TensorAxis, ...]:
    """The axes of a tensor.

    Each has one index, or several with one loop each, the last one fastest.
    """
    if extents is None:
        return tuple(_merged(part, sizes) for part in _by_group(indices))
    parts = _matched(indices, sizes, extents)
    if parts is None:
        return tuple(TensorAxis(terms=(), size=size) for size in extents)
    return tuple(_merged(part, sizes) if part else TensorAxis(terms=(), size=1) for part in parts)


def _by_group(indices: Sequence[AffineIndex]) -> list[Sequence[AffineIndex]]:
    """The default order of indices: channels are groups times the channels of one group."""
    parts: list[list[AffineIndex]] = []
    for index in indices:
        if parts and parts[-1][-1].dimensions == ("G",) and len(index.terms) == 1:
            parts[-1].append(index)
        else:
            parts.append([index])
    return list(parts)


def _matched(
    indices: Sequence[AffineIndex], sizes: Sizes, extents: Sequence[int]
) -> list[Sequence[AffineIndex]] | None:
    """The indices that each axis consists of; ``None`` if they do not match it."""
    parts: list[Sequence[AffineIndex]] = []
    left = list(indices)
    for place, extent in enumerate(extents):
        taken: list[AffineIndex] = []
        after = len(extents) - place - 1
        while left and (
            not taken
            or not after
            or _length(taken, sizes) < extent
            or (len(left) > after and _is_single(left[0], sizes))
        ):
            taken.append(left.pop(0))
        if not taken and extent == 1:
            parts.append(())
            continue
        if not taken or _length(taken, sizes) != extent or _is_blurred(taken, sizes):
            return None
        parts.append(taken)
    return parts if not left else None


def _is_single(index: AffineIndex, sizes: Sizes) -> bool:
    """Whether the index has a loop of one iteration, which may belong to any axis."""
    return len(index.terms) == 1 and _extent(index, sizes) == 1


def _is_blurred(indices: Sequence[AffineIndex], sizes: Sizes) -> bool:
    """Whether several loops index an axis in an unknown order.

    Groups and the channels of one group are known to form one axis; others may be parts of a
    permuted axis (the heads of an attention), even if their sizes match. An index with two loops
    may exceed its range, so it cannot be one digit of several.
    """
    long = [index for index in indices if not _is_single(index, sizes)]
    return len(long) > 1 and (long[0].dimensions != ("G",) or len(long[1].terms) > 1)


def _length(indices: Sequence[AffineIndex], sizes: Sizes) -> int:
    return prod(_extent(index, sizes) for index in indices)


def _extent(index: AffineIndex, sizes: Sizes) -> int:
    return index.axis_length(tuple(sizes[d] for d in index.dimensions))


def _merged(indices: Sequence[AffineIndex], sizes: Sizes) -> TensorAxis:
    """Indices that together form one axis; a padded index is only merged with sizes of 1."""
    terms: list[Term] = []
    step, offset = 1, 0
    for index in reversed(indices):
        terms += [copy_with(term, {"coefficient": term.coefficient * step}) for term in index.terms]
        offset -= index.padding[0] * step
        step *= _extent(index, sizes)
    return TensorAxis(terms=tuple(reversed(terms)), size=step, offset=offset)


def _axis(index: AxisIndex, sizes: Sizes, size: int) -> TensorAxis:
    if index is None:
        return TensorAxis(terms=(), size=size)
    return TensorAxis(terms=index.terms, size=size, offset=-index.padding[0])
