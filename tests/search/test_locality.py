"""Which data stays on chip, and the accelerator without the memories that this leaves unused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    MOVEMENTS,
    OUTPUT,
    Accelerator,
    ArraySide,
    CostModelEvaluation,
    Cuts,
    InputError,
    InputOperand,
    Layer,
    LayerNode,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    NetworkProblem,
    NoCostNode,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialProblem,
    TemporalMapping,
    TopLevel,
    Workload,
    layer_from_equation,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.stages import WorkloadStage
from nestmap.pipeline.stages.mapping.layers import (
    ExploitInterLayerDataLocalityStage,
    RemoveUnusedMemoryStage,
    SearchInterLayerDataLocalityStage,
    SearchUnusedMemoryStage,
)
from nestmap.search.locality import keep_on_chip
from tests.strategies import (
    PORT_PREFIXES,
    accelerators,
    layers,
    spatial_problems,
    temporal_mappings,
)

ACTIVATIONS = ("I1", OUTPUT)
EVERYTHING = ("I1", "I2", OUTPUT)
BOTH = ("D1", "D2")

Plan = dict[str, tuple[str, ...]]
"""The top memories of output, input and weights by layer."""


def memory(
    name: str, size: int, operands: tuple[str, ...], served: tuple[str, ...] = BOTH
) -> MemoryLevel:
    """A memory with a port for reads and one for writes."""
    needed = {x: MOVEMENTS if x == OUTPUT else MOVEMENTS[::3] for x in operands}
    uses = tuple(PortUse(operand=x, movement=m) for x, moves in needed.items() for m in moves)
    ports = tuple(
        MemoryPort(
            name=f"{PORT_PREFIXES[kind]}_port_1",
            kind=kind,
            width_min=8,
            width_max=64,
            allocation=tuple(use for use in uses if kind.carries(use.movement)),
        )
        for kind in (PortKind.READ, PortKind.WRITE)
    )
    instance = MemoryInstance(name=name, size=size, read_energy=1.0, write_energy=2.0, ports=ports)
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def machine(*memories: MemoryLevel) -> Accelerator:
    """2 x 2 units with registers, the given memories and a large one on top."""
    sides = tuple(ArraySide(name=name, size=2) for name in BOTH)
    return Accelerator(
        name="machine",
        array=OperationalArray(sides=sides, unit_energy=1.0),
        memories=(
            memory("register", 16, (OUTPUT,), ()),
            *memories,
            memory("dram", 10**9, EVERYTHING),
        ),
    )


def dense(name: str, sizes: tuple[int, int], source: str | None = None, bits: int = 8) -> Layer:
    """``sizes`` inputs and outputs in a batch of 16; the output has 8 bits, partial sums too."""
    inputs, outputs = sizes
    return layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]",
        {"B": 16, "K": outputs, "C": inputs},
        name=name,
        precision={"O": 8, "W": 8, "I": bits},
        partial_precision=8,
        sources={} if source is None else {"I": source},
        constants=["W"],
    )


def plan(
    workload: Workload, accelerator: Accelerator, stage: SearchUnusedMemoryStage | None = None
) -> Plan:
    """The plan, checked to be one that the model accepts."""
    network = NetworkProblem(workload=workload, accelerator=accelerator)
    found = (stage or SearchUnusedMemoryStage())(network)
    list(map(RemoveUnusedMemoryStage(), WorkloadStage()(found)))
    order = {x: i for i, x in enumerate((OUTPUT, "I1", "I2"))}
    return {
        layer.layer: tuple(
            x.memory for x in sorted(layer.top_levels, key=lambda x: order[x.operand])
        )
        for layer in found.top_levels
    }


# activations in bits: 512, 1024, 2048, 256; weights: 256, 1024, 256
CHAIN = Workload.of(dense("a", (4, 8)), dense("b", (8, 16), "a"), dense("c", (16, 2), "b"))
TOP = ("dram", "dram", "dram")


@pytest.mark.parametrize(
    ("size", "outputs", "inputs"),
    [
        (1535, "dram dram dram", "dram dram dram"),
        (1536, "sram dram dram", "sram sram dram"),
        (2304, "sram dram sram", "sram sram dram"),
        (3071, "sram dram sram", "sram sram dram"),
        (3072, "sram sram sram", "sram sram sram"),
    ],
)
def test_data_stays_where_inputs_and_outputs_fit_together(
    size: int, outputs: str, inputs: str
) -> None:
    found = plan(CHAIN, machine(memory("sram", size, ACTIVATIONS)))
    assert [x[0] for x in found.values()] == outputs.split()
    assert [x[1] for x in found.values()] == inputs.split()
    assert {x[2] for x in found.values()} == {"dram"}


def test_the_lowest_memory_with_room_is_taken() -> None:
    low, high = memory("low", 2304, ACTIVATIONS), memory("high", 3072, ACTIVATIONS)
    assert plan(CHAIN, machine(low, high)) == {
        "a": ("low", "low", "dram"),
        "b": ("high", "low", "dram"),
        "c": ("low", "high", "dram"),
    }


@pytest.mark.parametrize(("size", "weights"), [(1535, "dram"), (1536, "weights")])
def test_weights_of_the_whole_network_stay_together(size: int, weights: str) -> None:
    found = plan(CHAIN, machine(memory("weights", size, ("I2",))))
    assert set(found.values()) == {("dram", "dram", weights)}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (3071, [TOP, TOP, TOP]),
        (3072, [("sram", "sram", "sram"), ("dram", "sram", "sram"), ("dram", "dram", "sram")]),
        (4608, [("sram", "sram", "sram")] * 3),
    ],
)
def test_weights_take_room_from_activations(
    size: int, expected: list[tuple[str, str, str]]
) -> None:
    found = plan(CHAIN, machine(memory("sram", size, EVERYTHING)))
    assert list(found.values()) == expected


@pytest.mark.parametrize(("size", "weights"), [(1503, "dram"), (1504, "sram")])
def test_weights_need_room_beside_the_smallest_layer_that_is_no_branch(
    size: int, weights: str
) -> None:
    """224 bits of weights; a and b move 768 and 512 bits through the top, c has 1280."""
    join = NoCostNode(name="add", operator="Add", sources=("a", "b"))
    mapped = dense("a", (4, 2)), dense("b", (2, 2), "a"), dense("c", (2, 8), "add")
    workload = Workload(name="fork", nodes=(join, *(LayerNode(layer=x) for x in mapped)))
    found = plan(workload, machine(memory("sram", size, EVERYTHING)))
    assert {x[2] for x in found.values()} == {weights}


def test_a_memory_in_every_unit_keeps_no_tensor() -> None:
    local = memory("local", 10**6, EVERYTHING, served=("D1",))
    assert set(plan(CHAIN, machine(local)).values()) == {TOP}


def test_data_that_its_reader_sees_as_too_large_goes_to_the_top() -> None:
    tight = machine(memory("sram", 1536, ACTIVATIONS))
    same = Workload.of(dense("a", (4, 8)), dense("b", (8, 2), "a"))
    wider = Workload.of(dense("a", (4, 8)), dense("b", (8, 2), "a", bits=16))
    assert plan(same, tight)["a"][0] == plan(same, tight)["b"][1] == "sram"
    assert plan(wider, tight)["a"][0] == plan(wider, tight)["b"][1] == "dram"


def branchy() -> Workload:
    """a, b; c beside b's output; they meet in a node without cost; d, e."""
    join = NoCostNode(name="add", operator="Add", sources=("b", "c"))
    relu = NoCostNode(name="relu", operator="Relu", sources=("a",))
    mapped = (
        dense("a", (4, 4)),
        dense("b", (4, 4), "relu"),
        dense("c", (4, 4), "b"),
        dense("d", (4, 4), "add"),
        dense("e", (4, 4), "d"),
    )
    return Workload(name="branchy", nodes=(join, relu, *(LayerNode(layer=x) for x in mapped)))


def test_branches_go_to_the_top() -> None:
    found = plan(branchy(), machine(memory("sram", 10**6, ACTIVATIONS)))
    assert {layer: levels[:2] for layer, levels in found.items()} == {
        "a": ("sram", "sram"),
        "b": ("dram", "sram"),
        "c": ("dram", "dram"),
        "d": ("sram", "dram"),
        "e": ("sram", "sram"),
    }


def test_layers_are_connected_through_nodes_without_cost() -> None:
    readers = {name: set(names) for name, names in branchy().readers.items()}
    assert readers == {"a": {"b"}, "b": {"c", "d"}, "c": {"d"}, "d": {"e"}, "e": set()}


def test_inputs_that_several_layers_read_are_branches() -> None:
    roomy = machine(memory("sram", 10**6, ACTIVATIONS))
    two = Workload.of(dense("a", (4, 4)), dense("b", (4, 4)), dense("c", (4, 4), "a"))
    assert {x: levels[:2] for x, levels in plan(two, roomy).items()} == {
        "a": ("sram", "dram"),
        "b": ("dram", "dram"),
        "c": ("dram", "sram"),
    }


@pytest.mark.parametrize(("size", "output"), [(2047, "dram"), (2048, "sram")])
def test_an_output_of_two_inputs_needs_capacity_beside_one_of_them(size: int, output: str) -> None:
    """1024 bits each; one input does not go through the memory, the other one does in tiles."""
    added = layer_from_equation(
        "O[b][k]+=W[b][k]*I[b][k]",
        {"B": 16, "K": 8},
        name="added",
        precision={"O": 8, "W": 8, "I": 8},
        partial_precision=8,
        sources={"I": "a", "W": "b"},
    )
    workload = Workload.of(
        dense("a", (4, 8)), dense("b", (4, 8)), added, dense("c", (8, 2), "added")
    )
    found = plan(workload, machine(memory("sram", size, ACTIVATIONS)))
    assert found["added"] == (output, "dram", "dram")
    assert found["c"][1] == output


def test_a_layer_with_two_inputs_that_are_no_weights_reads_them_from_the_top() -> None:
    product = layer_from_equation(
        "O[m][n]+=I[m][c]*W[c][n]",
        {"M": 4, "N": 4, "C": 4},
        name="product",
        precision={"O": 8, "W": 8, "I": 8},
        partial_precision=8,
        sources={"I": "a", "W": "a"},
    )
    workload = Workload.of(dense("a", (4, 4)), product, dense("b", (4, 4), "product"))
    found = plan(workload, machine(memory("sram", 10**6, EVERYTHING)))
    assert found["a"] == ("dram", "dram", "sram")
    assert found["product"] == ("sram", "dram", "dram")
    assert found["b"] == ("sram", "sram", "sram")


def test_data_of_the_network_may_have_to_travel_through_the_top() -> None:
    roomy = machine(memory("sram", 10**6, EVERYTHING))
    stage = SearchUnusedMemoryStage(workload_data_always_from_top_mem=True)
    assert plan(CHAIN, roomy, stage) == {
        "a": ("sram", "dram", "sram"),
        "b": ("sram", "sram", "sram"),
        "c": ("dram", "sram", "sram"),
    }


def test_layers_without_weights_are_planned_too() -> None:
    ordinary, pooling = (
        CHAIN.layers[0],
        layer_from_equation(
            "O[b][k]+=I[b][k][c]",
            {"B": 16, "K": 8, "C": 1},
            name="pool",
            precision={"O": 8, "I": 8},
            partial_precision=8,
            sources={"I": "a"},
        ),
    )
    found = plan(Workload.of(ordinary, pooling), machine(memory("sram", 10**6, EVERYTHING)))
    assert found == {"a": ("sram", "sram", "sram"), "pool": ("sram", "sram")}


def test_an_empty_workload_has_an_empty_plan() -> None:
    assert keep_on_chip(Workload(name="empty", nodes=()), (), data_from_top=False) == ()


def test_the_stages_have_the_names_of_later_versions() -> None:
    assert SearchInterLayerDataLocalityStage is SearchUnusedMemoryStage
    assert ExploitInterLayerDataLocalityStage is RemoveUnusedMemoryStage


def test_removing_takes_operands_and_their_ports_from_higher_levels() -> None:
    whole = machine(memory("sram", 1024, ACTIVATIONS))
    tops = (TopLevel(operand="I1", memory="sram"), TopLevel(operand=OUTPUT, memory="sram"))
    reduced = without_unused_levels(whole, tops)
    assert reduced.name == whole.name
    assert reduced.memories[:-1] == whole.memories[:-1]
    assert reduced.memories[-1].operands == ("I2",)
    assert [port.allocation for port in reduced.memories[-1].instance.ports] == [
        (PortUse(operand="I2", movement=Movement.RD_TO_LOW),),
        (PortUse(operand="I2", movement=Movement.WR_BY_HIGH),),
    ]


def test_a_memory_that_holds_nothing_any_more_is_gone() -> None:
    whole = machine(memory("sram", 1024, EVERYTHING))
    tops = tuple(TopLevel(operand=x, memory="sram") for x in EVERYTHING)
    reduced = without_unused_levels(whole, tops)
    assert [level.name for level in reduced.memories] == ["register", "sram"]
    assert without_unused_levels(reduced, tops) == reduced


def test_nothing_is_removed_without_top_levels() -> None:
    whole = machine()
    assert without_unused_levels(whole, ()) == whole


@pytest.mark.parametrize(("operand", "name"), [("I1", "register"), (OUTPUT, "l7"), ("I9", "dram")])
def test_a_top_level_that_does_not_hold_the_operand_is_an_error(operand: str, name: str) -> None:
    with pytest.raises(InputError, match=f"top level of {operand}: found {name}; expected one of"):
        without_unused_levels(machine(), (TopLevel(operand=operand, memory=name),))


@st.composite
def networks(draw: st.DrawFn) -> NetworkProblem:
    """Random layers in a random graph, on a random machine."""
    nodes: list[LayerNode | NoCostNode] = []
    for number in range(draw(st.integers(1, 6))):
        name, names = f"n{number}", [node.name for node in nodes]
        if names and draw(st.integers(0, 3)) == 0:
            sources = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
            nodes.append(NoCostNode(name=name, operator="Add", sources=tuple(sources)))
            continue
        layer = draw(layers())
        inputs = tuple(draw(connected(operand, names)) for operand in layer.inputs)
        nodes.append(LayerNode(layer=copy_with(layer, {"name": name, "inputs": inputs})))
    return NetworkProblem(
        workload=Workload(name="random", nodes=tuple(nodes)), accelerator=draw(accelerators())
    )


@st.composite
def connected(draw: st.DrawFn, operand: InputOperand, names: list[str]) -> InputOperand:
    """The input as weights, from outside, or mostly from the last nodes."""
    if operand.name == "W" and draw(st.integers(0, 4)) > 0:
        return copy_with(operand, {"constant": True})
    return copy_with(operand, {"source": draw(st.sampled_from((*names, *names[-1:] * 4, None)))})


@given(networks(), st.booleans())
def test_plans_are_valid(network: NetworkProblem, from_top: bool) -> None:
    stage = SearchUnusedMemoryStage(workload_data_always_from_top_mem=from_top)
    planned = stage(network)
    tops: dict[str, dict[str, str]] = {}
    for problem in WorkloadStage()(planned):
        reduced = RemoveUnusedMemoryStage()(problem)
        names = dict(zip(_operands(problem), (x.memory for x in problem.top_levels), strict=True))
        tops[problem.layer.name] = names
        for operand, top in zip(_operands(problem), problem.top_levels, strict=True):
            before = problem.levels(operand)
            kept = before[: before.index(_named(before, top)) + 1]
            assert [x.name for x in reduced.levels(operand)] == [x.name for x in kept]
        assert _fits(problem, names)
    for writer, readers in network.workload.readers.items():
        for reader in readers:
            _check_handover(network, tops, writer, reader)
    assert stage(planned) == planned


def _named(levels: tuple[MemoryLevel, ...], top: TopLevel) -> MemoryLevel:
    return next(level for level in levels if level.name == top.memory)


def _operands(problem: MappingProblem) -> list[str]:
    return [operand.name for operand in problem.layer.operands]


def _fits(problem: MappingProblem, tops: dict[str, str]) -> bool:
    """Whether what the layer keeps on chip finds room."""
    for level in problem.accelerator.memories:
        kept = 0
        for operand in problem.layer.operands:
            chosen = tops[operand.name] == level.name
            if chosen and problem.levels(operand.name)[-1] != level:
                kept += problem.layer.elements(operand.name) * operand.precision
        if kept > level.instance.size:
            return False
    return True


def _check_handover(
    network: NetworkProblem, tops: dict[str, dict[str, str]], writer: str, reader: str
) -> None:
    """What is written below the top is read from there; branches are written to the top."""
    problems = {x.layer.name: x for x in WorkloadStage()(network)}
    readers, output = network.workload.readers, problems[writer].layer.output.name
    written, top = tops[writer][output], problems[writer].levels(output)[-1].name
    if readers[writer] != (reader,) or sum(reader in names for names in readers.values()) > 1:
        assert written == top
    elif written != top:
        assert written in [
            tops[reader][x.name] for x in problems[reader].layer.inputs if not x.constant
        ]


@st.composite
def kept_and_whole(draw: st.DrawFn) -> tuple[SpatialProblem, SpatialProblem, TemporalMapping]:
    """A problem with less memory levels, the one it comes from, and a mapping of the former."""
    whole = draw(spatial_problems())
    tops = tuple(
        TopLevel(operand=m, memory=draw(st.sampled_from(whole.accelerator.levels_of(m))).name)
        for m in (whole.problem.links[x] for x in _operands(whole.problem))
    )
    problem = copy_with(whole.problem, {"top_levels": tops})
    kept = SpatialProblem(
        problem=RemoveUnusedMemoryStage()(problem), spatial_mapping=whole.spatial_mapping
    )
    return kept, whole, draw(temporal_mappings(kept))


@given(kept_and_whole())
def test_keeping_data_on_chip_never_increases_traffic_above(
    case: tuple[SpatialProblem, SpatialProblem, TemporalMapping],
) -> None:
    kept, whole, temporal = case
    cuts = tuple(
        Cuts(operand=x.operand, positions=x.positions + (len(temporal.order),) * more)
        for x in temporal.cuts
        if (more := len(whole.problem.levels(x.operand)) - len(x.positions)) >= 0
    )
    ours = evaluate(kept, temporal)
    theirs = evaluate(whole, TemporalMapping(order=temporal.order, cuts=cuts))
    for operand in whole.layer.operands:
        levels = len(kept.problem.levels(operand.name))
        for level in range(levels):
            mine, other = ours.level(operand.name, level), theirs.level(operand.name, level)
            pairs = list(zip(mine.costs.accesses, other.costs.accesses, strict=True))
            assert all(a <= b for a, b in pairs)
            assert level == levels - 1 or all(a == b for a, b in pairs)
    assert ours.energy <= theirs.energy * (1 + 1e-12)
    for level_above in whole.accelerator.memories:
        assert _traffic(ours, level_above.name) <= _traffic(theirs, level_above.name)


def _traffic(cme: CostModelEvaluation, memory_name: str) -> int:
    return sum(sum(x.costs.accesses) for x in cme.levels if x.memory == memory_name)
