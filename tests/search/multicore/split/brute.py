"""Which computation node reads what another one wrote, element by element, by plain loops.

Shares nothing with the code that it checks but the models.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from nestmap.model import LayerNode, NoCostNode, VectorNode, Workload
from nestmap.model.multicore.cn_workload import CnWorkload, ComputationNode
from nestmap.model.workload.access import AccessStep, Gather, Permute, Repeat, Reshape, Shift
from nestmap.model.workload.affine import AffineIndex

Index = tuple[int, ...]
Loops = dict[str, int]
Id = tuple[int, int]


def iterations(node: ComputationNode) -> Iterator[Loops]:
    """All iterations of the loops of a node."""
    names = [part.dimension for part in node.ranges]
    for values in product(*(range(part.first, part.end) for part in node.ranges)):
        yield dict(zip(names, values, strict=True))


def _value(index: AffineIndex, at: Loops) -> int:
    return sum(t.coefficient * at[t.dimension] for t in index.terms) - index.padding[0]


def _elements(indices: Sequence[AffineIndex | None], at: Loops, sizes: Sequence[int]) -> set[Index]:
    """The elements of a tensor that an iteration touches, none in the padding."""
    ranges = [
        range(size) if index is None else [_value(index, at)]
        for index, size in zip(indices, sizes, strict=True)
    ]
    return {
        found
        for found in product(*ranges)
        if all(0 <= i < size for i, size in zip(found, sizes, strict=True))
    }


def _of_layer(node: LayerNode, indices: Sequence[AffineIndex], at: Loops) -> list[int] | None:
    """The value of each index of a layer's operand; ``None`` in the padding."""
    values = [_value(index, at) for index in indices]
    for index, value in zip(indices, values, strict=True):
        if len(index.terms) == 2 and not 0 <= value < (index.size or 0):
            return None
    return values


def _flat(values: Sequence[int], lengths: Sequence[int]) -> int:
    flat = 0
    for value, length in zip(values, lengths, strict=True):
        flat = flat * length + value
    return flat


def _unflat(flat: int, sizes: Sequence[int]) -> Index:
    found: list[int] = []
    for size in reversed(sizes):
        flat, rest = divmod(flat, size)
        found.append(rest)
    return tuple(reversed(found))


def written(node: LayerNode | VectorNode, at: Loops) -> set[Index]:
    """The elements of the output that an iteration writes."""
    sizes = node.outputs[0].sizes or ()
    if isinstance(node, VectorNode):
        assert node.nest is not None
        return _elements(node.nest.output, at, sizes)
    indices = node.layer.output.indices
    lengths = [node.layer.sizes[index.dimensions[0]] for index in indices]
    values = _of_layer(node, indices, at)
    assert values is not None
    return {_unflat(_flat(values, lengths), sizes)}


def read(node: LayerNode | VectorNode, position: int, at: Loops) -> set[Index]:
    """The elements of an input that an iteration reads."""
    sizes = node.inputs[position].sizes or ()
    if isinstance(node, VectorNode):
        assert node.nest is not None
        access = node.nest.inputs[position]
        assert access is not None
        return _elements(access.axes, at, sizes)
    indices = node.layer.inputs[node.positions.index(position)].indices
    lengths = [index.size or node.layer.sizes[index.dimensions[0]] for index in indices]
    values = _of_layer(node, indices, at)
    return set() if values is None else {_unflat(_flat(values, lengths), sizes)}


def _before(step: AccessStep, index: Index, sizes: Sequence[int]) -> Index | None:
    """Where an element comes from: the index before the step; sizes are those behind it."""
    match step:
        case Reshape():
            return _unflat(_flat(index, sizes), step.sizes)
        case Permute():
            return tuple(index[axis] for axis in step.axes)
        case Shift():
            moved = step.start + step.step * index[step.axis]
            return _put(index, step.axis, moved) if 0 <= moved < step.size else None
        case Repeat():
            return _put(index, step.axis, index[step.axis] % step.size)
        case Gather():
            return _put(index, step.axis, step.indices[index[step.axis]])
        case _:
            raise AssertionError(step)


def _put(index: Index, axis: int, value: int) -> Index:
    return (*index[:axis], value, *index[axis + 1 :])


def origins(workload: Workload, tensor: str, index: Index) -> Iterator[tuple[str, Index]]:
    """The nodes that compute an element of a tensor, and which element of theirs it is."""
    maker = next((n for n in workload.nodes if tensor in [x.name for x in n.outputs]), None)
    if maker is None:
        return
    if not isinstance(maker, NoCostNode):
        yield maker.name, index
        return
    for route in maker.routes or ():
        at: Index | None = index
        for place, step in enumerate(route.steps):
            sizes = type(route)(steps=route.steps[:place]).input_sizes(maker.outputs[0].sizes or ())
            at = _before(step, at, sizes) if at is not None else None
        if at is not None:
            yield from origins(workload, maker.inputs[route.input].name, at)


def edges(workload: Workload, split: CnWorkload) -> set[tuple[Id, Id, int]]:
    """Who needs what whom has finished: writer, reader, and which input of the reader."""
    nodes = {node.name: node for node in workload.nodes}
    finished: dict[tuple[str, Index], Id] = {}
    for part in split.nodes():  # the last one to write an element finishes it
        maker = nodes[part.layer]
        assert isinstance(maker, LayerNode | VectorNode)
        for at in iterations(part):
            for element in written(maker, at):
                finished[part.layer, element] = (part.id.layer, part.id.node)
    found: set[tuple[Id, Id, int]] = set()
    for part in split.nodes():
        reader = nodes[part.layer]
        assert isinstance(reader, LayerNode | VectorNode)
        for position, tensor in enumerate(reader.inputs):
            if tensor.constant:
                continue
            elements = {e for at in iterations(part) for e in read(reader, position, at)}
            for element in elements:
                for origin in origins(workload, tensor.name, element):
                    found.add((finished[origin], (part.id.layer, part.id.node), position))
    return found


def macs(node: ComputationNode) -> int:
    """Iterations of a node."""
    return prod(part.end - part.first for part in node.ranges)
