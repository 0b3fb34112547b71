"""Kinds of computation nodes, and the cores on which the nodes of each may run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np

from nestmap.model import (
    AffineIndex,
    Counting,
    Dataflow,
    InfeasibleError,
    InputError,
    InputOperand,
    LayerNode,
    Loop,
    NoCostNode,
    OutputOperand,
    VectorNode,
)
from nestmap.model.arrays import Ints
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import CnKind, CnKinds
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.units import Bits
from nestmap.model.workload.access import AxisIndex, Tensor
from nestmap.model.workload.affine import Term
from nestmap.model.workload.graph import Workload

# --- the loops and operands of nodes before splitting: layers and vector operators ---
# Each iteration of a vector operator counts as one operation of a core's array, times the
# operations per iteration of the node. It reads one element of each input that its loops index,
# and accumulates or writes its output at the precision of the output. If it needs an entire axis,
# as a softmax needs rows, it reads each element once, so the input is indexed as the output. An
# input that is read as a whole, because the elements are unknown, is spread evenly over all
# iterations.

Indices = tuple[AffineIndex, ...]
Sizes = dict[Dimension, int]


@final
@dataclass(frozen=True)
class WholeNest:
    """All loops of a node with its operands; indices with two loops have the length of their axis.

    ``spread`` are the bits of inputs that are read as a whole, by position.
    """

    loops: tuple[Loop, ...]
    output: OutputOperand
    inputs: tuple[InputOperand, ...]
    spread: dict[int, Bits]
    operations: int = 1
    vector: bool = False


def whole_nest(node: LayerNode | VectorNode, nest: LayerNest) -> WholeNest:
    """The loops and operands of a node, whose tiles the nest divides."""
    if isinstance(node, LayerNode):
        return _of_layer(node)
    return _of_vector(node, nest)


def _of_layer(node: LayerNode) -> WholeNest:
    layer = node.layer
    sizes = layer.sizes
    return WholeNest(
        loops=layer.loops,
        output=copy_with(layer.output, {"indices": _measured(layer.output.indices, sizes)}),
        inputs=tuple(
            copy_with(x, {"indices": _measured(x.indices, sizes), "source": None})
            for x in layer.inputs
        ),
        spread={},
    )


def _measured(indices: Sequence[AffineIndex], sizes: Sizes) -> Indices:
    """The indices, with axis lengths for sums of two loops."""
    return tuple(
        copy_with(index, {"size": index.axis_length(tuple(sizes[d] for d in index.dimensions))})
        if index.terms[1:]
        else index
        for index in indices
    )


def _of_vector(node: VectorNode, nest: LayerNest) -> WholeNest:
    loops = node.nest.loops if node.nest and node.nest.loops else _numbered(node.iterations)
    made = node.outputs[0]
    output = _digits(node.nest.output) if node.nest else _all(loops)
    reads = _reads(node)
    return WholeNest(
        loops=loops,
        output=OutputOperand(
            name=nest.output.operand,
            indices=output,
            precision=made.precision,
            partial_precision=made.precision,
        ),
        inputs=tuple(
            InputOperand(
                name=use.operand,
                indices=_all(loops) if axes is None else _read(axes, tensor, node),
                precision=tensor.precision,
                constant=tensor.constant,
            )
            for use, tensor, axes in zip(nest.inputs, node.inputs, reads, strict=True)
        ),
        spread={place: node.inputs[place].bits for place, axes in enumerate(reads) if axes is None},
        operations=max(1, node.operations),
        vector=True,
    )


def _numbered(iterations: Sequence[int]) -> tuple[Loop, ...]:
    """Loops without names, numbered."""
    return tuple(Loop(dimension=f"D{i}", size=n) for i, n in enumerate(iterations or (1,)))


def _reads(node: VectorNode) -> list[tuple[AxisIndex, ...] | None]:
    """The indices of each input; ``None``: read as a whole."""
    if node.nest is None:
        return [None] * len(node.inputs)
    return [access.axes if access else None for access in node.nest.inputs]


def _all(loops: Sequence[Loop]) -> Indices:
    return tuple(_single(loop.dimension) for loop in loops)


def _single(dimension: Dimension) -> AffineIndex:
    return AffineIndex(terms=(Term(dimension=dimension),))


def _digits(indices: Sequence[AffineIndex]) -> Indices:
    """The indices of an output: two loops that count an axis like digits become one index each."""
    return tuple(_single(d) for index in indices for d in index.dimensions)


def _read(axes: Sequence[AxisIndex], tensor: Tensor, node: VectorNode) -> Indices:
    """The indices of an input; each loop counts once."""
    found: list[AffineIndex] = []
    taken: set[Dimension] = set()
    for index in _indexed(axes, tensor, node):
        if taken.isdisjoint(index.dimensions):
            found.append(index)
            taken.update(index.dimensions)
    return tuple(found)


def _indexed(axes: Sequence[AxisIndex], tensor: Tensor, node: VectorNode) -> Iterator[AffineIndex]:
    assert node.nest is not None
    assert tensor.sizes is not None
    sizes = {loop.dimension: loop.size for loop in node.nest.loops}
    output = node.nest.output
    offset = len(output) - len(axes)
    for place, (index, extent) in enumerate(zip(axes, tensor.sizes, strict=True)):
        if index is not None:
            yield copy_with(index, {"size": max(1, extent)}) if index.terms[1:] else index
        elif 0 <= place + offset < len(output):
            across = output[place + offset].dimensions
            if prod(sizes[d] for d in across) == extent:
                yield from (_single(d) for d in across)


# --- groups computation nodes with equal loops, operands, bits and dataflows into kinds ---

Margins = dict[AffineIndex, Ints]
"""Elements outside an axis that each node touches: padding, which no memory holds."""


def cn_kinds(workload: Workload, nodes: CnWorkload, mapping: CoreMapping) -> CnKinds:
    """The kinds of all nodes: nodes with equal loops, operands, bits and dataflows, across layers.

    Args:
        workload: the network.
        nodes: the computation nodes of the network.
        mapping: the dataflow of each layer.
    """
    by_name = {node.name: node for node in workload.nodes}
    numbers: dict[CnKind, int] = {}
    first: list[int] = []
    columns: list[Ints] = []
    fed = _fed_bits(nodes)
    for layer, start, end in zip(
        nodes.layers, nodes.first_nodes, nodes.first_nodes[1:], strict=False
    ):
        node = by_name[layer.nest.name]
        assert not isinstance(node, NoCostNode)
        flow = mapping.of(node.name, node.operator).dataflow if node.kind == "layer" else None
        tiles = _tiles_of(node, layer, fed[start:end], nodes.counting, flow)
        rows, which = _different(list(tiles.columns))
        own: list[int] = []
        for row in rows.tolist():
            kind = tiles.kind(row)
            if kind not in numbers:
                numbers[kind] = len(numbers)
                first.append(int(start) + row)
            own.append(numbers[kind])
        columns.append(np.array(own, dtype=np.int64)[which])
    return CnKinds(tuple(numbers), np.concatenate(columns), np.array(first, dtype=np.int64))


def _fed_bits(nodes: CnWorkload) -> Ints:
    """Bits that other nodes produce for each operand of each node: [node, operand].

    For its output these are the partial sums that the node continues.
    """
    edges, count = nodes.edges, len(nodes)
    operands = 1 + max((len(layer.nest.inputs) for layer in nodes.layers), default=0)
    real = edges.read != WITHIN_GROUP
    slots = np.where(edges.read == PARTIAL_SUMS, 0, 1 + edges.read)[real]
    places = edges.consumer[real] * operands + slots
    bits = np.bincount(places, edges.bits[real].astype(np.float64), minlength=count * operands)
    return bits.astype(np.int64).reshape(count, operands)


def _different(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first row of each distinct kind, in order, and the kind of each row."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if column.min() != column.max():
            _, values = np.unique(column, return_inverse=True)
            mixed = codes * (values.max() + 1) + values
            _, codes = np.unique(mixed, return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[codes]


@final
@dataclass(frozen=True, eq=False)
class _Tiles:
    """The nodes of a layer as columns."""

    operator: str
    whole: WholeNest
    layer: CnLayer
    sizes: dict[Dimension, Ints]
    margins: Margins
    held: tuple[Ints, ...]
    counting: Counting
    dataflow: Dataflow | None

    @property
    def columns(self) -> Iterator[Ints]:
        """All columns in which nodes may differ."""
        yield from self.sizes.values()
        yield from self.margins.values()
        yield from self.held

    def kind(self, row: int) -> CnKind:
        """The kind of one of the nodes."""
        whole = self.whole
        sizes = {d: int(column[row]) for d, column in self.sizes.items()}
        sizes = sizes or {loop.dimension: loop.size for loop in whole.loops}
        exact = self.counting is Counting.EXACT
        return CnKind(
            operator=self.operator,
            loops=tuple(Loop(dimension=d, size=n) for d, n in sizes.items()),
            output=self._output(sizes, row),
            inputs=tuple(self._input(i, sizes, row) for i in range(len(whole.inputs))),
            held=tuple(int(column[row]) for column in self.held),
            operations=whole.operations if exact else 1,
            vector=whole.vector,
            dataflow=self.dataflow,
        )

    def _output(self, sizes: Mapping[Dimension, int], row: int) -> OutputOperand:
        output = self.whole.output
        indices = self._cut(output.indices, sizes, row)
        return copy_with(output, {"indices": indices})

    def _input(self, place: int, sizes: Mapping[Dimension, int], row: int) -> InputOperand:
        read = self.whole.inputs[place]
        changed: dict[str, object] = {"indices": self._cut(read.indices, sizes, row)}
        if place in self.whole.spread:
            changed["precision"] = -(-self.whole.spread[place] // prod(sizes.values()))
        return copy_with(read, changed)

    def _cut(self, indices: Indices, sizes: Mapping[Dimension, int], row: int) -> Indices:
        return tuple(
            self._axis(index, sizes, row) if index.terms[1:] else index for index in indices
        )

    def _axis(self, index: AffineIndex, sizes: Mapping[Dimension, int], row: int) -> AffineIndex:
        """The index on a part of its axis, with all padding before it: its position has no cost.

        In the reference's counting padding is a part of the axis like any other.
        """
        if self.counting is Counting.REFERENCE:
            return copy_with(index, {"size": None, "padding": (0, 0)})
        padding = int(self.margins[index][row])
        reach = 1 + sum(t.coefficient * (sizes[t.dimension] - 1) for t in index.terms)
        return copy_with(index, {"size": max(1, reach - padding), "padding": (padding, 0)})


def _tiles_of(
    node: LayerNode | VectorNode,
    layer: CnLayer,
    fed: Ints,
    counting: Counting,
    dataflow: Dataflow | None,
) -> _Tiles:
    whole, tiling = whole_nest(node, layer.nest), layer.tiling
    operands: tuple[InputOperand | OutputOperand, ...] = (whole.output, *whole.inputs)
    sums = [index for x in operands for index in x.indices if index.terms[1:]]
    exact = counting is Counting.EXACT
    return _Tiles(
        operator=node.operator,
        whole=whole,
        layer=layer,
        sizes={d: tiling.ends(d) - tiling.starts(d) for d in tiling.sizes},
        margins={index: _margins(index, layer) for index in sums} if exact else {},
        held=tuple(_held(layer, fed, counting)),
        counting=counting,
        dataflow=dataflow,
    )


def _margins(index: AffineIndex, layer: CnLayer) -> Ints:
    """The elements that each node touches before and after an axis."""
    tiling, length = layer.tiling, index.size
    assert length is not None, "indices with two loops have an axis length"
    first = np.full(tiling.count, -index.padding[0], dtype=np.int64)
    last = first.copy()
    for term in index.terms:
        first += term.coefficient * tiling.starts(term.dimension)
        last += term.coefficient * (tiling.ends(term.dimension) - 1)
    return np.maximum(0, -first) + np.maximum(0, last + 1 - length)


def _held(layer: CnLayer, fed: Ints, counting: Counting) -> Iterator[Ints]:
    """Bits of each operand that a core holds while a node runs, output first.

    Partial sums from another node are held in addition to the output.
    """
    yield layer.bits_of(layer.nest.output, counting) + fed[:, 0]
    for place, read in enumerate(layer.nest.inputs, 1):
        own, made = layer.bits_of(read, counting), fed[:, place]
        if counting is Counting.REFERENCE:
            yield np.where(made > 0, made, own)
        else:
            yield np.maximum(own, made)


# --- the node groups of each layer and the cores that they may run on ---

Reasons = Mapping[tuple[int, CoreId], str]
"""The reason why a core cannot run nodes of a kind, by kind and core."""


@final
@dataclass(frozen=True)
class Group:
    """Nodes of a layer that read the same constants, and the cores that the mapping allows."""

    layer: CnLayer
    number: int
    cores: tuple[CoreId, ...]


@final
@dataclass(frozen=True, eq=False)
class Groups:
    """All groups, and the group of each node."""

    groups: tuple[Group, ...]
    group_of: Ints
    kinds: CnKinds

    @cached_property
    def kinds_of(self) -> list[list[int]]:
        """The kinds of the nodes of each group."""
        count = len(self.kinds)
        found = [list[int]() for _ in self.groups]
        for pair in map(int, np.unique(self.group_of * count + self.kinds.kind)):
            found[pair // count].append(pair % count)
        return found

    @cached_property
    def cores_of_kinds(self) -> list[list[CoreId]]:
        """The cores that nodes of each kind may run on, in ascending order."""
        wanted = [set[CoreId]() for _ in range(len(self.kinds))]
        for group, kinds in zip(self.groups, self.kinds_of, strict=True):
            for kind in kinds:
                wanted[kind].update(group.cores)
        return [sorted(cores) for cores in wanted]


def groups_of(split: SplitProblem, kinds: CnKinds) -> Groups:
    """The groups of all layers, with the cores that the mapping and the operators allow.

    Raises:
        InputError: if there is no such core, or a mapping fixes cores for fewer groups than
            there are.
    """
    by_name = {node.name: node for node in split.problem.workload.nodes}
    groups: list[Group] = []
    columns: list[Ints] = []
    for layer in split.nodes.layers:
        node = by_name[layer.nest.name]
        assert not isinstance(node, NoCostNode)
        columns.append(layer.groups + len(groups))
        count = int(layer.groups.max(initial=0)) + 1
        able = [core.id for core in split.problem.cores_of(node)]
        fixed = _fixed(split.problem, layer, count, able)
        for number in range(count):
            cores = (fixed[number],) if fixed else tuple(sorted(able))
            groups.append(Group(layer, number, cores))
    return Groups(tuple(groups), np.concatenate(columns), kinds)


def _fixed(
    problem: StreamProblem, layer: CnLayer, groups: int, able: Sequence[CoreId]
) -> tuple[CoreId, ...]:
    """The core of each group; empty if the cores are not fixed."""
    nest = layer.nest
    entry = problem.mapping.of(nest.name, nest.operator)
    if not able:
        raise InputError(
            f"layer {nest.name}",
            f"operator {nest.operator}, which no core of {problem.accelerator.name} runs",
            "a core that names this operator, or that names none",
        )
    if not entry.fixed or not set(entry.cores) <= set(able):
        return ()
    if len(entry.cores) == 1:
        return entry.cores * groups
    if len(entry.cores) < groups:
        raise InputError(
            f"mapping: core_allocation for {entry.target!r}",
            f"{len(entry.cores)} fixed cores for the {groups} groups of layer {nest.name}",
            "one core for all groups, or one for each",
        )
    return entry.cores[:groups]


def gene_space(groups: Groups, refused: Reasons) -> AllocationSpace:
    """The allocation space: each group with the cores that can run all of its nodes.

    Raises:
        InfeasibleError: if no core can run a group, with the reason for each core.
    """
    genes: list[NodeGroup] = []
    for group, kinds in zip(groups.groups, groups.kinds_of, strict=True):
        able = tuple(x for x in group.cores if all((kind, x) not in refused for kind in kinds))
        if not able:
            raise InfeasibleError(_no_core(group, kinds, refused))
        genes.append(NodeGroup(layer=group.layer.nest.number, group=group.number, cores=able))
    return AllocationSpace(tuple(genes), groups.group_of)


def _no_core(group: Group, kinds: Sequence[int], refused: Reasons) -> str:
    """The reasons why no core can run a group; cores with the same reason are listed together."""
    alike: dict[str, list[CoreId]] = {}
    for core in group.cores:
        reason = next(refused[kind, core] for kind in kinds if (kind, core) in refused)
        alike.setdefault(reason, []).append(core)
    nest = group.layer.nest
    told = "; ".join(
        f"core{'s' if cores[1:] else ''} {', '.join(map(str, cores))}: {reason}"
        for reason, cores in alike.items()
    )
    return f"layer {nest.name} ({nest.operator}), group {group.number}: no core can run it: {told}"
