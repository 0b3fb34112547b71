"""Homes of tensors: equal to trying all of them, within what memories hold step by step."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import product
from math import sqrt
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Layer,
    LayerConstraints,
    LayerNode,
    MappingProblem,
    NoCostNode,
    Objective,
    PinnedLevels,
    PinnedMemory,
    Tensor,
    VectorNode,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.search.tensor_homes import (
    MOST_OPEN,
    Costs,
    Home,
    Homes,
    Leap,
    OpenHomes,
    TensorGraph,
    Visit,
    place,
    taken_bits,
    why_out,
)
from tests.costmodel.machines import machine, memory
from tests.sweeps import some_of

examples = settings(max_examples=some_of(3000))

MACHINE = machine(
    memory("register", size=64),
    memory("low", size=300, served="D1"),
    memory("high", size=800, served="D1"),
    memory("top", served="D1"),
    sides={"D1": 2},
)
SIZES = {"low": 300, "high": 800}


def dense(name: str, size: int, *sources: str) -> Layer:
    """A layer of ``size`` outputs of 8 bit each, which reads one or two others."""
    return layer_from_equation(
        "O[k]+=I[k]*W[k]",
        {"K": size},
        name=name,
        sources=dict(zip("IW", sources, strict=False)),
        constants=() if len(sources) == 2 else ("W",),
    )


def vector(name: str, size: int, *sources: str) -> VectorNode:
    tensor = Tensor(name=name, sizes=(size,), precision=8)
    return VectorNode(
        name=name, operator="Relu", sources=sources, iterations=(size,), outputs=(tensor,)
    )


def moved(name: str, *sources: str, known: bool = True) -> NoCostNode:
    return NoCostNode(name=name, operator="Concat", sources=sources, known=known)


def graph_of(workload: Workload) -> tuple[TensorGraph, OpenHomes]:
    graph = TensorGraph.of(workload, workload.layers)
    problems = {x.name: MappingProblem(layer=x, accelerator=MACHINE) for x in workload.layers}
    return graph, OpenHomes.of(graph, problems)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    nodes: list[LayerNode | VectorNode | NoCostNode] = []
    for number in range(draw(st.integers(2, 6))):
        name, names = f"n{number}", [node.name for node in nodes]
        last = names[-1:] * 2
        sources = draw(st.lists(st.sampled_from(names + last), max_size=2)) if names else []
        size = draw(st.integers(1, 40))
        kind = draw(st.integers(0, 5)) if sources else 0
        if kind == 4:
            nodes.append(vector(name, size, *sources))
        elif kind == 5:
            nodes.append(moved(name, *sources))
        else:
            nodes.append(LayerNode(layer=dense(name, size, *sources)))
    return Workload(name="net", nodes=tuple(nodes))


def costs_of(layer: Layer, visit: Visit) -> Costs[str] | None:
    """Any costs that depend on the homes and on what waits; sometimes there is no mapping."""
    digest = sha256(repr((layer.name, visit)).encode()).digest()
    on_chip = any(home is not None for _, home in visit.homes) or visit.waiting
    if on_chip and digest[0] < 40:
        return None
    energy, latency = 1.0 + digest[1] % 16, 1.0 + digest[2] % 16
    bound = digest[3] / 256 * (energy * latency)
    return Costs(energy, latency, bound, layer.name)


def vector_costs(node: VectorNode, home: Home) -> tuple[float, float]:
    digest = sha256(repr((node.name, home)).encode()).digest()
    return float(digest[0] % 16), float(digest[1] % 16)


class Simulation:
    """Runs the nodes, and keeps each value until no later node reads it."""

    def __init__(self, workload: Workload) -> None:
        self.nodes = workload.nodes
        self.by_name = {x.name: x for x in self.nodes}
        self.held: dict[str, int] = {}
        self.places: dict[str, str] = {}

    def run(self) -> list[int]:
        """The bits held while each node computes."""
        found: list[int] = []
        for position, node in enumerate(self.nodes):
            if not isinstance(node, NoCostNode):
                found.append(self.compute(position, node))
                read_later = {
                    place
                    for later in self.nodes[position + 1 :]
                    if not isinstance(later, NoCostNode)
                    for source in later.sources
                    for place in self.value(source)
                }
                self.held = {x: bits for x, bits in self.held.items() if x in read_later}
        return found

    def compute(self, position: int, node: LayerNode | VectorNode) -> int:
        if isinstance(node, LayerNode):
            self.held[node.name] = node.layer.elements("O") * 8
            self.places[node.name] = node.name
            return sum(self.held.values())
        before = sum(self.held.values())
        for source in node.sources:
            value = self.value(source)
            place = min(value, default="")
            if len(value) == 1 and self.is_read_once(place, position):
                more = max(node.bits_written - self.held[place], 0)
                self.held[place] = node.bits_written
                self.places[node.name] = place
                return before + more
        self.held[node.name], self.places[node.name] = node.bits_written, node.name
        return sum(self.held.values())

    def is_read_once(self, place: str, position: int) -> bool:
        """Whether every node so far that gives this value has one reader."""
        giving = [x.name for x in self.nodes[:position] if place in self.value(x.name)]
        return all(sum(x in set(y.sources) for y in self.nodes) == 1 for x in giving)

    def value(self, name: str) -> set[str]:
        node = self.by_name[name]
        if isinstance(node, NoCostNode):
            return {place for source in node.sources for place in self.value(source)}
        return {self.places[name]} if name in self.places else set()


@examples
@given(workloads())
def test_tensors_take_what_is_read_later(workload: Workload) -> None:
    graph, _ = graph_of(workload)
    one_home = dict.fromkeys(range(len(graph.tensors)), "low")
    taken = [taken_bits(graph, step, one_home)["low"] for step in range(len(graph.steps))]
    assert taken == Simulation(workload).run()


class Total(NamedTuple):
    """What all layers cost with tensors in these homes."""

    energy: float
    latency: float
    bound: float
    root: float
    homes: tuple[Home, ...]


def test_homes_are_those_in_which_operands_end() -> None:
    parts = dense("a", 9), vector("relu", 9, "a"), dense("b", 9, "relu"), vector("last", 5, "b")
    graph, _ = graph_of(Workload.of(*parts, name="net"))
    homes = graph.homes_in({("a", "O"): "low", ("b", "I"): "low"})
    assert homes == {0: "low"}
    assert [graph.vector_home(step, homes) for step in (1, 3)] == ["low", None]
    assert graph.homes_in({("a", "O"): "low", ("b", "I"): "high"}) == {}
    assert graph.homes_in({("a", "O"): "low"}) == {}


def every_placement(
    graph: TensorGraph, options: Sequence[tuple[Home, ...]], objective: Objective
) -> list[Total]:
    """All placements that fit."""
    found: list[Total] = []
    for homes in product(*options):
        costs = [step_costs(graph, step, homes, objective) for step in range(len(graph.steps))]
        if None in costs:
            continue
        known = [x for x in costs if x is not None]
        bounds = [x.bound or 0.0 for x in known]
        energy, latency = sum(x.energy for x in known), sum(x.latency for x in known)
        found.append(Total(energy, latency, sum(bounds), sum(map(sqrt, bounds)), homes))
    return found


def step_costs(
    graph: TensorGraph, step: int, homes: tuple[Home, ...], objective: Objective
) -> Costs[str] | None:
    layer, operands = graph.steps[step].layer, graph.operands(step)
    own = {b for buffers in operands.values() for b in buffers}
    taken = dict.fromkeys(SIZES, 0)
    for b in graph.alive[step]:
        home = homes[graph.tensor_of[b]]
        if home is not None and b not in own:
            taken[home] += graph.buffers[b].bits
    old, written = graph.steps[step].replaced, graph.steps[step].written
    home = None if old is None else homes[graph.tensor_of[old]]
    if old is not None and home is not None and home == homes[graph.tensor_of[written]]:
        taken[home] -= min(graph.buffers[old].bits, graph.buffers[written].bits)
    ends = tuple((x, homes[graph.tensor_of[b[0]]]) for x, b in operands.items())
    for t in {graph.tensor_of[b] for b in own}:  # what the layer does not hold of it waits
        parts = [[x for x in operands if x != "O"], ["O"]]
        for names in parts:
            read = {b for x in names for b in operands.get(x, ()) if graph.tensor_of[b] == t}
            whole = sum(graph.buffers[b].bits for b in read)
            most = max((held_bits(graph, step, x, t) for x in names), default=0)
            if (home := homes[t]) is not None:
                taken[home] += whole - most
    if any(bits > SIZES[m] for m, bits in taken.items()):
        return None
    waiting = tuple((m, bits) for m, bits in sorted(taken.items()) if bits)
    if layer is not None:
        return costs_of(layer, Visit(ends, waiting))
    node = graph.steps[step].node
    assert isinstance(node, VectorNode)
    taking = *graph.steps[step].read, graph.steps[step].written
    tensors = {homes[graph.tensor_of[b]] for b in taking}
    energy, latency = vector_costs(node, tensors.pop() if len(tensors) == 1 else None)
    return Costs(energy, latency, objective.value_of(energy, latency), None)


def held_bits(graph: TensorGraph, step: int, operand: str, t: int) -> int:
    """The bits of a tensor that the mapping of a layer holds as one of its operands."""
    layer, buffers = graph.steps[step].layer, graph.operands(step).get(operand, ())
    if layer is None or t not in [graph.tensor_of[b] for b in buffers]:
        return 0
    return min(sum(graph.buffers[b].bits for b in buffers), layer.elements(operand) * 8)


@examples
@given(workloads(), st.sampled_from(Objective))
def test_no_placement_is_better(workload: Workload, objective: Objective) -> None:
    graph, homes = graph_of(workload)
    every = every_placement(graph, homes.options, objective)
    found = place(graph, homes, (costs_of, vector_costs), objective)
    (chosen,) = (x for x in every if x.homes == found.homes)
    assert objective.of(chosen) == min(map(objective.of, every))
    assert found.found == tuple(x.name for x in workload.layers)
    (apart,) = (x for x in every if not any(x.homes))
    assert found.outside == (apart.energy, apart.latency)
    bounds = [x.root**2 if objective is Objective.EDP else x.bound for x in every]
    assert found.bound == pytest.approx(min(bounds))


@examples
@given(
    layers=st.integers(2, 5),
    objective=st.sampled_from(Objective),
    drawn=st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(0, 4)),
        st.tuples(st.integers(1, 60), st.integers(1, 60)),
    ),
)
def test_steps_that_run_together_are_a_way(
    layers: int, objective: Objective, drawn: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """The best way through the network takes single steps and leaps: as trying all of them."""
    names = [f"n{i}" for i in range(layers)]
    parts = [dense(name, 400, *names[max(0, i - 1) : i]) for i, name in enumerate(names)]
    graph = TensorGraph.of(Workload.of(*parts), parts)
    homes = OpenHomes(((None,),) * layers, SIZES, {})

    def leaps(step: int, key: Homes) -> Iterator[Leap[str]]:
        assert len(key) == min(step, 1)
        for (start, last), (energy, latency) in drawn.items():
            if start == step < last < layers:
                chosen = tuple((graph.tensor_of[b], None) for b in range(start, last + 1))
                yield Leap(last + 1, chosen, Costs(energy, latency, None, f"{start}-{last}"))

    def one(layer: Layer, visit: Visit) -> Costs[str]:
        del visit
        return Costs(10.0 + names.index(layer.name), 20.0, None, layer.name)

    def ways(step: int) -> Iterator[tuple[float, float]]:
        """Energy and latency of all ways from a step on."""
        if step == layers:
            yield 0.0, 0.0
            return
        steps = {(step, step): (10 + step, 20)}
        steps |= {x: y for x, y in drawn.items() if x[0] == step < x[1] < layers}
        for (_, last), (energy, latency) in steps.items():
            yield from ((energy + e, latency + t) for e, t in ways(last + 1))

    placed = place(graph, homes, (one, lambda _node, _home: (0.0, 0.0)), objective, leaps)
    best = min(objective.value_of(*way) for way in ways(0))
    costs = {name: (10.0 + i, 20.0) for i, name in enumerate(names)}
    costs |= {f"{i}-{j}": (float(e), float(t)) for (i, j), (e, t) in drawn.items()}
    found = [costs[x] for x in placed.found]
    energy, latency = (sum(x) for x in zip(*found, strict=True))
    assert objective.value_of(energy, latency) == best
    assert placed.bound is None, "steps that run together may cost less than their bounds"


def test_a_layer_without_a_bound_leaves_none() -> None:
    graph, homes = graph_of(Workload.of(dense("a", 9), dense("b", 9, "a"), name="net"))

    def unknown(layer: Layer, _: Visit) -> Costs[str]:
        return Costs(1.0, 1.0, None, layer.name)

    costing = unknown, vector_costs
    assert place(graph, homes, costing, Objective.ENERGY).bound is None


def reasons(workload: Workload) -> dict[str, str]:
    """Why what each node writes stays out, where nothing else is on chip."""
    graph, homes = graph_of(workload)
    out: list[Home] = [None] * len(graph.tensors)
    return {
        buffer.writer: why_out(graph, out, homes, graph.tensor_of[b])
        for b, buffer in enumerate(graph.buffers)
    }


def test_reasons_to_stay_out() -> None:
    net = Workload.of(
        dense("large", 101), dense("small", 30, "large"), moved("unknown", "small", known=False),
        dense("last", 5, "unknown"), name="net",
    )  # fmt: skip
    assert reasons(net) == {
        "large": "high has 800 bit, it takes 808",
        "small": "unknown of the unknown type Concat reads it",
        "last": "it is an output of the network",
    }


def test_what_fits_stays_out_if_that_costs_less() -> None:
    net = Workload.of(dense("a", 9), dense("b", 9, "a"), name="net")
    assert reasons(net)["a"] == "layers would cost more with it on chip, or not fit beside it"


def test_others_that_take_the_room_are_told() -> None:
    layers = dense("a", 60), dense("b", 60, "a"), dense("c", 60, "b", "a")
    graph, homes = graph_of(Workload.of(*layers, name="net"))
    told = why_out(graph, ["high", None, None], homes, 1)
    assert told == "high has 800 bit, it takes 480 beside 480 of other tensors"


def test_joined_tensors_have_one_home() -> None:
    net = Workload.of(
        dense("a", 9), dense("b", 9), moved("ab", "a", "b"), dense("c", 18, "ab"), name="net"
    )
    graph, _ = graph_of(net)
    assert [x.buffers for x in graph.tensors] == [(0, 1), (2,)]


def test_what_is_joined_with_an_input_of_the_network_stays_out() -> None:
    net = Workload.of(
        dense("a", 9), moved("in"), moved("both", "a", "in"), dense("c", 18, "both"), name="n"
    )
    assert reasons(net)["a"] == "both joins it with an input of the network"


def test_homes_of_few_tensors_are_chosen_at_a_time() -> None:
    many = [dense(f"n{i}", 2) for i in range(MOST_OPEN + 2)]
    readers = [dense(f"r{i}", 2, layer.name) for i, layer in enumerate(many)]
    _, homes = graph_of(Workload.of(*many, *readers, name="net"))
    assert sum(x == (None,) for x in homes.options[: len(many)]) == 2


@pytest.mark.parametrize(
    ("first", "second", "options", "reason"),
    [
        ("low", "low", ("low",), None),
        (None, "low", ("low",), None),
        ("top", "top", (None,), "the mapping fixes the memories of first"),
        ("low", "high", (None,), "the mapping fixes the memories of first"),
        ("register", None, (None,), "the mapping fixes the memories of first"),
    ],
)
def test_layers_with_fixed_memories_keep_them(
    first: str | None, second: str | None, options: tuple[Home, ...], reason: str | None
) -> None:
    layers = dense("first", 9), dense("second", 9, "first")
    problems = {
        layer.name: MappingProblem(
            layer=layer, accelerator=MACHINE, constraints=fixed(operand, memory)
        )
        for layer, operand, memory in zip(layers, "OI", (first, second), strict=True)
    }
    graph = TensorGraph.of(Workload.of(*layers, name="net"), layers)
    homes = OpenHomes.of(graph, problems)
    assert (homes.options[0], homes.reasons.get(0)) == (options, reason)


def fixed(operand: str, memory: str | None) -> LayerConstraints:
    """Constraints under which an operand ends in a memory."""
    if memory is None:
        return LayerConstraints()
    pinned = PinnedLevels(operand=operand, memories=(PinnedMemory(memory=memory, loops=0),))
    return LayerConstraints(memory_levels=(pinned,))


def named(name: str, *sizes: int) -> Tensor:
    return Tensor(name=name, sizes=sizes, precision=8)


def test_a_tensor_that_is_read_twice_does_not_come_from_outside() -> None:
    halves = named("left", 4), named("right", 4)
    split = NoCostNode(
        name="split", operator="Split", sources=("a",), inputs=(named("a", 8),), outputs=halves
    )
    swapped = NoCostNode(
        name="swapped", operator="Concat", sources=("split",), inputs=halves[::-1],
        outputs=(named("swapped", 8),),
    )  # fmt: skip
    square = copy_with(
        vector("square", 8, "swapped"), {"inputs": (named("swapped", 8), named("swapped", 8))}
    )
    first = LayerNode(layer=dense("a", 8), outputs=(named("a", 8),))
    graph, homes = graph_of(
        Workload.of(first, split, swapped, square, dense("b", 8, "square"), name="net")
    )
    assert graph.tensors[0].stays_out is None
    assert homes.options[0] == ("low", "high", None)
    assert graph.vector_home(1, {0: "low"}) == "low"


def test_an_input_of_the_network_comes_from_outside() -> None:
    joined = NoCostNode(
        name="joined", operator="Concat", sources=("a",), inputs=(named("a", 8), named("x", 8))
    )
    scaled = copy_with(vector("scaled", 8, "a"), {"inputs": (named("a", 8), named("x", 8))})
    first = LayerNode(layer=dense("a", 8), outputs=(named("a", 8),))
    graph, _ = graph_of(Workload.of(first, scaled, dense("b", 8, "scaled"), name="net"))
    assert graph.vector_home(1, {0: "low"}) is None
    net = Workload.of(first, joined, dense("b", 16, "joined"), name="net")
    assert reasons(net)["a"] == "joined joins it with an input of the network"


def test_constants_that_nodes_make_do_not_come_from_outside() -> None:
    scale = copy_with(named("scale", 8), {"constant": True})
    made = NoCostNode(name="made", operator="ConstantOfShape", outputs=(scale,))
    norm = copy_with(vector("norm", 8, "a", "made"), {"inputs": (named("a", 8), scale)})
    joined = NoCostNode(
        name="joined", operator="Concat", sources=("norm", "made"), inputs=(named("norm", 8), scale)
    )
    first = LayerNode(layer=dense("a", 8), outputs=(named("a", 8),))
    graph, homes = graph_of(
        Workload.of(first, made, norm, joined, dense("b", 16, "joined"), name="net")
    )
    assert homes.options[0] == ("low", "high", None)
    assert graph.vector_home(1, {0: "low"}) == "low"


def test_what_is_computed_of_inputs_alone_is_read_outside() -> None:
    table = NoCostNode(name="table", operator="Gather", outputs=(named("words", 8),))
    add = copy_with(vector("add", 8, "table"), {"inputs": (named("words", 8),)})
    graph, _ = graph_of(Workload.of(table, add, dense("b", 8, "add"), name="net"))
    assert graph.vector_home(0, {0: "low"}) is None
