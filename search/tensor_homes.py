"""Chooses where the tensors between layers stay: a shortest path over the homes that are open.

The nodes of a network run one after the other, and every layer as a whole. Each tensor between two
layers has a *home* from the layer that writes it to the last one that reads it: the outermost
memory, or one on chip that holds it for all units. A layer's mapping ends in the homes of its
operands, and may use what the tensors that only wait leave of a memory. So what a layer costs
depends on the homes of the tensors that are alive while it runs, and on nothing else: node by node,
the best way to each set of homes of those that live on is enough.

The energy-delay product is no sum over layers. Between two points on a line it is least at one of
them, so the least product is a corner of the convex hull of all sums. Each corner minimizes some
weighted sum of energy and latency, so the corners of each set of homes are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Final, Generic, NamedTuple, TypeVar, final

from nestmap.model import (
    OUTPUT,
    InfeasibleError,
    Layer,
    LayerNode,
    MappingProblem,
    MemoryLevel,
    NoCostNode,
    Objective,
    VectorNode,
    Workload,
)
from nestmap.model.dims import LayerOperand
from nestmap.model.units import Bits

MOST_OPEN: Final = 6
"""The most tensors at a time whose homes are chosen; of more, those that live longest leave."""

Found = TypeVar("Found")

Home = str | None
"""The memory in which a tensor stays; ``None``: the outermost one."""


# --- tensors between layers: how large they are, how long they live, which have one home ---


@final
@dataclass(frozen=True, slots=True)
class Buffer:
    """The room that a node fills: its bits, and the first and the last step that need it.

    Vector operators whose output is as large as an input that nothing else reads keep that, as do
    operators that only move data.
    """

    writer: str
    bits: Bits
    first: int
    last: int


@final
@dataclass(frozen=True, slots=True)
class Tensor:
    """Buffers with one home, because one operand reads all of them.

    ``stays_out`` says why the outermost memory is the only home, if it is.
    """

    buffers: tuple[int, ...]
    stays_out: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A node that computes: its layer, if that is mapped, and the buffers of its operands.

    What a vector operator writes takes the room of ``replaced`` where both have the same home.
    ``reads_outside``: it also reads an input of the network. ``sources`` has the buffers that each
    node gives from which it reads.
    """

    node: LayerNode | VectorNode
    layer: Layer | None
    operands: dict[LayerOperand, tuple[int, ...]]
    read: tuple[int, ...]
    written: int
    replaced: int | None = None
    reads_outside: bool = False
    sources: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@final
@dataclass(frozen=True)
class TensorGraph:
    """The steps of a network in order, the buffers between them, and the tensors that these are."""

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    tensors: tuple[Tensor, ...]

    @classmethod
    def of(cls, workload: Workload, mapped: Sequence[Layer]) -> TensorGraph:
        """The graph of a network; other layers than ``mapped`` take place, but no mapping."""
        maker = _GraphMaker(workload, {layer.name for layer in mapped})
        for node in workload.in_order:
            maker.add(node)
        return maker.graph()

    def first(self, tensor: int) -> int:
        """The step that writes the first buffer of a tensor."""
        return min(self.buffers[b].first for b in self.tensors[tensor].buffers)

    def last(self, tensor: int) -> int:
        """The last step that reads a tensor."""
        return max(self.buffers[b].last for b in self.tensors[tensor].buffers)

    @cached_property
    def tensor_of(self) -> dict[int, int]:
        """The tensor that each buffer belongs to."""
        return {b: t for t, tensor in enumerate(self.tensors) for b in tensor.buffers}

    def operands(self, step: int) -> dict[LayerOperand, tuple[int, ...]]:
        """The buffers of the operands of a layer that other nodes write or may read."""
        node = self.steps[step]
        if node.layer is None:
            return {}
        return {**node.operands, node.layer.output.name: (node.written,)}

    @cached_property
    def uses(self) -> dict[int, list[tuple[str, LayerOperand]]]:
        """The layers and operands that write or read each tensor."""
        found: dict[int, list[tuple[str, LayerOperand]]] = {t: [] for t in range(len(self.tensors))}
        for step, node in enumerate(self.steps):
            for name, buffers in self.operands(step).items():
                if node.layer is not None:
                    found[self.tensor_of[buffers[0]]].append((node.layer.name, name))
        return found

    def vector_home(self, step: int, homes: Mapping[int, Home]) -> Home:
        """The home of all tensors of a vector operator, which it then reads and writes.

        ``None``: some are outside, in other memories, or neither written nor read by a layer.
        """
        node = self.steps[step]
        found = {homes.get(self.tensor_of[b]) for b in (*node.read, node.written)}
        return found.pop() if len(found) == 1 and not node.reads_outside else None

    def homes_in(self, tops: Mapping[tuple[str, LayerOperand], str]) -> dict[int, str]:
        """The homes of tensors, where the operands of layers end in these memories on chip."""
        found = {
            t: {tops.get(use) for use in uses} for t, uses in self.uses.items() if len(uses) > 0
        }
        return {t: home for t, (home, *more) in found.items() if home is not None and not more}

    def bits_at(self, tensor: int, step: int) -> Bits:
        """The bits that a tensor takes during a step."""
        alive = (self.buffers[b] for b in self.tensors[tensor].buffers)
        return sum(x.bits for x in alive if x.first <= step <= x.last)

    @cached_property
    def alive(self) -> tuple[tuple[int, ...], ...]:
        """The buffers that are needed during each step."""
        found: list[list[int]] = [[] for _ in self.steps]
        for b, buffer in enumerate(self.buffers):
            for i in range(buffer.first, buffer.last + 1):
                found[i].append(b)
        return tuple(map(tuple, found))


@final
class _GraphMaker:
    """Takes in the nodes of a network in order."""

    def __init__(self, workload: Workload, mapped: set[str]) -> None:
        self._mapped, self._outputs = mapped, {*workload.outputs}
        self._nodes = {node.name: node for node in workload.nodes}
        self._readers = workload.graph().out_degree()
        self._steps: list[Step] = []
        self._buffers: list[Buffer] = []
        self._outside: dict[int, str] = {}
        self._tied: list[tuple[int, ...]] = []
        self._shared: set[int] = set()
        self._values: dict[str, tuple[int, ...]] = {}

    def add(self, node: LayerNode | VectorNode | NoCostNode) -> None:
        """Takes in a node whose sources are in."""
        read = tuple(dict.fromkeys(b for source in node.sources for b in self._values[source]))
        if isinstance(node, NoCostNode):
            value = self._moved(node, read)
        else:
            for b in read:
                self._buffers[b] = replace(self._buffers[b], last=len(self._steps))
            value = self._computed(node, read)
            given = {source: self._values[source] for source in node.sources}
            self._steps[-1] = replace(self._steps[-1], sources=given)
        self._values[node.name] = value
        if self._readers[node.name] > 1:
            self._shared.update(value)
        if self._readers[node.name] == 0 or node.name in self._outputs:
            self._send_out(value, "it is an output of the network")

    def graph(self) -> TensorGraph:
        """The graph of all nodes so far."""
        labels = list(range(len(self._buffers)))
        for buffers in self._tied:
            joined = {labels[b] for b in buffers}
            if len(joined) > 1:
                labels = [min(joined) if label in joined else label for label in labels]
        groups: dict[int, list[int]] = {}
        for b, label in enumerate(labels):
            groups.setdefault(label, []).append(b)
        tensors = tuple(map(self._tensor, groups.values()))
        return TensorGraph(tuple(self._steps), tuple(self._buffers), tensors)

    def _tensor(self, group: list[int]) -> Tensor:
        reasons = [self._outside[b] for b in group if b in self._outside]
        return Tensor(tuple(group), reasons[0] if reasons else None)

    def _moved(self, node: NoCostNode, read: tuple[int, ...]) -> tuple[int, ...]:
        """What a node gives that computes nothing: what it reads."""
        if not node.known:
            self._send_out(read, f"{node.name} of the unknown type {node.operator} reads it")
        if self._reads_outside(node):
            self._send_out(read, f"{node.name} joins it with an input of the network")
        self._tied.append(read)
        return read

    def _reads_outside(self, node: VectorNode | NoCostNode) -> bool:
        """Whether a node reads something that no node before it has computed, except constants.

        Tensors are told by name; a source that names none of them gives one.
        """
        read = {x.name: x.constant for x in node.inputs}
        left = {name for name, constant in read.items() if not constant}
        unnamed = 0
        for source in node.sources:
            given = {x.name for x in self._nodes[source].outputs}
            gives_constants = bool(given & {*read}) and not given & left
            if not self._values[source] and not gives_constants:
                return True
            unnamed += given.isdisjoint(read)
            left -= given
        return len(left) > unnamed

    def _computed(self, node: LayerNode | VectorNode, read: tuple[int, ...]) -> tuple[int, ...]:
        """What a node gives that computes: a new buffer, or one of those that it reads."""
        if isinstance(node, VectorNode):
            return self._vector(node, read)
        sources = {x.name: x.source for x in node.layer.inputs if x.source is not None}
        operands = {x: self._values[name] for x, name in sources.items() if self._values[name]}
        self._tied += operands.values()
        output = node.layer.output
        bits = node.layer.elements(output.name) * output.precision
        return self._new(node, bits, read, operands)

    def _vector(self, node: VectorNode, read: tuple[int, ...]) -> tuple[int, ...]:
        """What a vector operator gives: it works in place where nothing else reads its input."""
        values = (self._values[source] for source in node.sources)
        free = [x[0] for x in values if len(x) == 1 and x[0] not in self._shared]
        bits = node.bits_written
        if free and self._buffers[free[0]].bits == bits:
            self._steps.append(Step(node, None, {}, read, free[0]))
            value: tuple[int, ...] = (free[0],)
        else:
            value = self._new(node, bits, read, {})
            self._steps[-1] = replace(self._steps[-1], replaced=free[0] if free else None)
        if self._reads_outside(node):
            self._steps[-1] = replace(self._steps[-1], reads_outside=True)
        if not node.outputs or any(x.sizes is None for x in node.outputs):
            self._send_out(value, "its size is not known")
        return value

    def _new(
        self,
        node: LayerNode | VectorNode,
        bits: Bits,
        read: tuple[int, ...],
        operands: dict[LayerOperand, tuple[int, ...]],
    ) -> tuple[int, ...]:
        """A new buffer that a step writes."""
        step, b = len(self._steps), len(self._buffers)
        is_layer = isinstance(node, LayerNode) and node.name in self._mapped
        layer = node.layer if isinstance(node, LayerNode) and is_layer else None
        self._buffers.append(Buffer(node.name, bits, step, step))
        self._steps.append(Step(node, layer, operands, read, b))
        return (b,)

    def _send_out(self, buffers: tuple[int, ...], reason: str) -> None:
        for b in buffers:
            self._outside.setdefault(b, reason)


# --- the homes that each tensor may have, and why it has no other ---


@final
@dataclass(frozen=True)
class OpenHomes:
    """The homes that each tensor may have, the outermost memory last, and why it has no other.

    A memory on chip is a home if it has one instance for the whole array, holds the operands of all
    layers that write or read the tensor, and is large enough for it alone. Where a mapping fixes
    the memories of these operands, the one in which they end is the only home. ``sizes`` are those
    of all memories.
    """

    options: tuple[tuple[Home, ...], ...]
    sizes: dict[str, Bits]
    reasons: dict[int, str]

    @classmethod
    def of(cls, graph: TensorGraph, problems: Mapping[str, MappingProblem]) -> OpenHomes:
        """The homes of the tensors of layers on one accelerator."""
        found = [_open_homes(graph, t, problems) for t in range(len(graph.tensors))]
        reasons = {t: x for t, x in enumerate(found) if isinstance(x, str)}
        options = [(None,) if isinstance(x, str) else x for x in found]
        for step in range(len(graph.steps)):
            waiting = {graph.tensor_of[b] for b in graph.alive[step]}
            chosen = sorted(t for t in waiting if len(options[t]) > 1)
            chosen.sort(key=lambda t: graph.last(t) - graph.first(t))
            for t in chosen[MOST_OPEN:]:
                options[t] = (None,)
                reasons[t] = f"homes are chosen of at most {MOST_OPEN} tensors at a time"
        levels = next(iter(problems.values())).accelerator.memories
        return cls(tuple(options), {x.name: x.instance.size for x in levels}, reasons)

    @property
    def is_fixed(self) -> bool:
        """Whether a mapping keeps some tensor on chip."""
        return any(None not in options for options in self.options)


def serving_levels(
    graph: TensorGraph, t: int, problems: Mapping[str, MappingProblem]
) -> list[MemoryLevel]:
    """The memories on chip, each one instance, that hold a tensor for all that write or read it."""
    accelerator = next(iter(problems.values())).accelerator
    serving = [
        level
        for level in accelerator.levels_of(OUTPUT)[:-1]
        if accelerator.instances_of(level) == 1
    ]
    for layer, operand in graph.uses[t]:
        serving = [level for level in serving if level in problems[layer].levels(operand)[:-1]]
    return serving


def _open_homes(
    graph: TensorGraph, t: int, problems: Mapping[str, MappingProblem]
) -> tuple[Home, ...] | str:
    """The homes that a tensor may have; if only the outermost memory, why."""
    tensor = graph.tensors[t]
    if tensor.stays_out is not None:
        return tensor.stays_out
    if not graph.uses[t]:
        return "no layer writes or reads it"
    serving = serving_levels(graph, t, problems)
    fixed: dict[str, str] = {}
    for layer, operand in graph.uses[t]:
        problem = problems[layer]
        for levels in problem.constraints.memory_levels:
            if levels.operand == operand:
                fixed.setdefault(levels.memories[-1].memory, layer)
    if fixed:
        (memory, layer), *others = fixed.items()
        is_home = not others and memory in [level.name for level in serving]
        return (memory,) if is_home else f"the mapping fixes the memories of {layer}"
    if not serving:
        return "no memory on chip holds it for all units"
    bits = max(graph.bits_at(t, step) for step in range(graph.first(t), graph.last(t) + 1))
    largest = max(serving, key=lambda level: level.instance.size)
    if bits > largest.instance.size:
        return f"{largest.name} has {largest.instance.size:,} bit, it takes {bits:,}"
    return (*(level.name for level in serving if level.instance.size >= bits), None)


def why_out(graph: TensorGraph, chosen: Sequence[Home], homes: OpenHomes, t: int) -> str:
    """Why a tensor stays in the outermost memory, where others have the chosen homes."""
    if t in homes.reasons:
        return homes.reasons[t]
    sizes = homes.sizes
    memory = max(filter(None, homes.options[t]), key=lambda name: sizes[name])
    there = {**dict(enumerate(chosen)), t: memory}
    for step in range(graph.first(t), graph.last(t) + 1):
        taken, bits = taken_bits(graph, step, there)[memory], graph.bits_at(t, step)
        if taken > sizes[memory]:
            told = f"it takes {bits:,} beside {taken - bits:,} of other tensors"
            return f"{memory} has {sizes[memory]:,} bit, {told}"
    return "layers would cost more with it on chip, or not fit beside it"


def taken_bits(graph: TensorGraph, step: int, homes: Mapping[int, Home]) -> Counter[str]:
    """What all tensors take of each memory during a step."""
    node, tensor_of = graph.steps[step], graph.tensor_of
    taken = Counter[str]()
    for b in graph.alive[step]:
        if (home := homes[tensor_of[b]]) is not None:
            taken[home] += graph.buffers[b].bits
    if node.replaced is not None:
        home = homes[tensor_of[node.replaced]]
        if home is not None and home == homes[tensor_of[node.written]]:
            taken[home] -= min(graph.buffers[b].bits for b in (node.replaced, node.written))
    return taken


# --- the shortest path ---


@final
@dataclass(frozen=True, slots=True)
class Visit:
    """A step under some homes: where the tensors of its operands are, and what others take."""

    homes: tuple[tuple[LayerOperand, Home], ...]
    waiting: tuple[tuple[str, Bits], ...]


class Costs(NamedTuple, Generic[Found]):
    """What a step costs (pJ, cycles), a lower bound of that, and what was found for its layer."""

    energy: float
    latency: float
    bound: float | None
    found: Found | None


Costing = Callable[[Layer, Visit], "Costs[Found] | None"]
"""The costs of a layer on a visit; ``None``: it has no mapping there."""

VectorCosting = Callable[[VectorNode, Home], tuple[float, float]]
"""Energy and latency of a vector operator, all of whose tensors have this home."""

Homes = tuple[tuple[int, Home], ...]
"""The homes of some tensors, by their numbers."""


class Leap(NamedTuple, Generic[Found]):
    """Several steps that run together: the step after them, the homes of what they write, costs."""

    end: int
    chosen: Homes
    costs: Costs[Found]


Leaps = Callable[[int, Homes], Iterator[Leap[Found]]]
"""The ways to go from a step, under the homes of the tensors that are alive then."""


class Part(NamedTuple, Generic[Found]):
    """A step by itself, or several together: the first, the one after the last, what they cost."""

    first: int
    end: int
    energy: float
    latency: float
    found: Found | None


@final
@dataclass(frozen=True, slots=True)
class Placement(Generic[Found]):
    """The home of each tensor, the parts of the network in order, and a lower bound.

    ``outside``: energy and latency with all tensors in the outermost memory, ``None`` where a
    mapping fixes others. ``bound`` is one of the total, whatever the homes: a product of two sums
    is at least the square of the sum of the roots of the products (Cauchy and Schwarz). ``None``:
    some layer has none, or steps may run together.
    """

    homes: tuple[Home, ...]
    parts: tuple[Part[Found], ...]
    outside: tuple[float, float] | None
    bound: float | None

    @property
    def found(self) -> tuple[Found, ...]:
        """What was found for each layer, or for layers together."""
        return tuple(x.found for x in self.parts if x.found is not None)


@final
@dataclass(frozen=True, slots=True)
class _Path(Generic[Found]):
    """A way to a step: its costs, and the steps before, the last one first."""

    energy: float = 0.0
    latency: float = 0.0
    before: _Path[Found] | None = None
    leap: Leap[Found] | None = None

    def then(self, leap: Leap[Found]) -> _Path[Found]:
        """The way through one more step, or several together."""
        costs = leap.costs
        return _Path(self.energy + costs.energy, self.latency + costs.latency, self, leap)

    def leaps(self) -> list[Leap[Found]]:
        """The leaps of this way, the first one first."""
        passed: list[Leap[Found]] = []
        path: _Path[Found] | None = self
        while path is not None and path.leap is not None:
            passed.append(path.leap)
            path = path.before
        return passed[::-1]


@final
@dataclass(frozen=True, slots=True)
class _StepCosts(Generic[Found]):
    """The costs of each step under the homes of the tensors that are alive then."""

    graph: TensorGraph
    homes: OpenHomes
    layers: Costing[Found]
    operators: VectorCosting
    objective: Objective
    known: dict[tuple[int, Visit], Costs[Found] | None]

    def of(self, step: int, chosen: Mapping[int, Home]) -> Costs[Found] | None:
        """The costs of a step; ``None``: something does not fit."""
        visit = _visit(self.graph, step, chosen, self.homes.sizes)
        layer, node = self.graph.steps[step].layer, self.graph.steps[step].node
        if visit is None:
            return None
        if layer is not None:
            if (step, visit) not in self.known:
                self.known[step, visit] = self.layers(layer, visit)
            return self.known[step, visit]
        if isinstance(node, LayerNode):
            return Costs(0.0, 0.0, 0.0, None)
        energy, latency = self.operators(node, self.graph.vector_home(step, chosen))
        return Costs(energy, latency, self.objective.value_of(energy, latency), None)

    def bound(self, step: int, chosen: Mapping[int, Home]) -> Costs[Found] | None:
        """The bound of a step, or its root for the energy-delay product, as if it were energy."""
        known = self.of(step, chosen)
        if known is None or known.bound is None:
            return known and Costs(-inf, 0.0, None, None)
        least = sqrt(known.bound) if self.objective is Objective.EDP else known.bound
        return Costs(least, 0.0, None, None)

    def outside(self) -> tuple[float, float]:
        """Energy and latency of all steps with all tensors in the outermost memory."""
        nowhere = dict.fromkeys(range(len(self.graph.tensors)))
        costs = [self.of(step, nowhere) for step in range(len(self.graph.steps))]
        known = [x for x in costs if x is not None]  # all are: nothing waits on chip
        return sum(x.energy for x in known), sum(x.latency for x in known)


def place(
    graph: TensorGraph,
    homes: OpenHomes,
    costing: tuple[Costing[Found], VectorCosting],
    objective: Objective,
    leaps: Leaps[Found] | None = None,
    together: frozenset[int] = frozenset(),
) -> Placement[Found]:
    """The homes with the least total costs of all layers, and of the vector operators.

    Steps run one by one, or several together where ``leaps`` has a way; those that have to run
    ``together`` with others never by themselves.

    All tensors in the outermost memory are one of the placements, so the result is never worse,
    unless a mapping fixes memories on chip.

    Raises:
        InfeasibleError: where memories that a mapping fixes have no room for what waits in them.
    """
    costs = _StepCosts(graph, homes, *costing, objective, {})

    def single(step: int, chosen: Mapping[int, Home]) -> Costs[Found] | None:
        return None if step in together else costs.of(step, chosen)

    paths = _shortest(graph, homes.options, single, objective, leaps)
    leapt = min(paths, key=lambda path: _rank(path, objective)).leaps()
    chosen = dict(pair for leap in leapt for pair in leap.chosen)
    firsts = (0, *(leap.end for leap in leapt))
    least = -inf
    if leaps is None:
        bounds = _shortest(graph, homes.options, costs.bound, Objective.ENERGY, None)
        least = min(path.energy for path in bounds)
    return Placement(
        tuple(chosen.get(t) for t in range(len(graph.tensors))),
        tuple(
            Part(first, x.end, x.costs.energy, x.costs.latency, x.costs.found)
            for first, x in zip(firsts[:-1], leapt, strict=True)
        ),
        None if homes.is_fixed else costs.outside(),
        None if least == -inf else least**2 if objective is Objective.EDP else least,
    )


def _visit(
    graph: TensorGraph, step: int, homes: Mapping[int, Home], sizes: dict[str, Bits]
) -> Visit | None:
    """What a step finds; ``None``: some memory cannot hold all that waits in it."""
    layer, tensor_of = graph.steps[step].layer, graph.tensor_of
    taken = taken_bits(graph, step, homes)
    ends: list[tuple[LayerOperand, Home]] = []
    held: dict[tuple[int, bool], Bits] = {}
    for name, buffers in graph.operands(step).items():
        tensor, is_output = tensor_of[buffers[0]], buffers == (graph.steps[step].written,)
        ends.append((name, homes[tensor]))
        if layer is not None:
            bits = min(sum(graph.buffers[b].bits for b in buffers), tensor_bits(layer, name))
            held[tensor, is_output] = max(held.get((tensor, is_output), 0), bits)
    for (tensor, _), bits in held.items():  # what the mapping of the layer holds itself, once
        if (home := homes[tensor]) is not None:
            taken[home] -= bits
    if any(bits > sizes[memory] for memory, bits in taken.items()):
        return None
    return Visit(tuple(ends), tuple((x, bits) for x, bits in sorted(taken.items()) if bits > 0))


def tensor_bits(layer: Layer, name: LayerOperand) -> Bits:
    """The bits of the part of a tensor that a layer reads or writes."""
    return layer.elements(name) * layer.operand(name).precision


def _shortest(
    graph: TensorGraph,
    options: Sequence[tuple[Home, ...]],
    costs: Callable[[int, Mapping[int, Home]], Costs[Found] | None],
    objective: Objective,
    leaps: Leaps[Found] | None,
) -> list[_Path[Found]]:
    """The best paths through all steps."""
    ways: list[dict[Homes, list[_Path[Found]]]] = [{} for _ in range(len(graph.steps) + 1)]
    ways[0] = {(): [_Path()]}
    for step, node in enumerate(graph.steps):
        tensor = graph.tensor_of[node.written]
        is_new = graph.first(tensor) == step
        for key, paths in ways[step].items():
            kept = _kept(paths, objective)
            for home in options[tensor] if is_new else (dict(key)[tensor],):
                cost = costs(step, {**dict(key), tensor: home})
                if cost is not None:
                    way = Leap(step + 1, ((tensor, home),) if is_new else (), cost)
                    _follow(graph, ways, kept, key, way)
            for way in leaps(step, key) if leaps is not None else ():
                _follow(graph, ways, kept, key, way)
        if not any(ways[step + 1 :]):  # only what is fixed leaves no other way
            found = "memories or tiles fixed by the mapping without room for what waits in them"
            wanted = "another mapping, or tensors that need not stay on chip"
            raise InfeasibleError(f"{node.node.name}: found {found}; expected {wanted}")
    return [path for paths in ways[-1].values() for path in _kept(paths, objective)]


def _follow(
    graph: TensorGraph,
    ways: list[dict[Homes, list[_Path[Found]]]],
    paths: Sequence[_Path[Found]],
    key: Homes,
    leap: Leap[Found],
) -> None:
    """Adds what paths to some homes become by a leap."""
    homes = {**dict(key), **dict(leap.chosen)}
    left = tuple((t, x) for t, x in sorted(homes.items()) if graph.last(t) >= leap.end)
    longer = (path.then(leap) for path in paths)
    ways[leap.end].setdefault(left, []).extend(longer)


def _rank(path: _Path[Found], objective: Objective) -> tuple[float, float, float]:
    """Ties as everywhere: by the objective, then by energy, then by latency."""
    return objective.of(path), path.energy, path.latency


def _kept(paths: Sequence[_Path[Found]], objective: Objective) -> list[_Path[Found]]:
    """Those of the paths to one set of homes that may be part of the best one."""
    if objective is not Objective.EDP:
        return [min(paths, key=lambda path: _rank(path, objective))]
    corners: list[_Path[Found]] = []
    for path in sorted(paths, key=lambda path: (path.energy, path.latency)):
        if corners and path.latency >= corners[-1].latency:
            continue
        while len(corners) > 1 and not _turns(corners[-2], corners[-1], path):
            corners.pop()
        corners.append(path)
    return corners


def _turns(first: _Path[Found], second: _Path[Found], third: _Path[Found]) -> bool:
    """Whether the second of three paths is a corner of the lower convex hull."""
    right = (second.energy - first.energy) * (third.latency - first.latency)
    return right > (second.latency - first.latency) * (third.energy - first.energy)
