"""Every model survives the way through JSON unchanged, and so does its content hash."""

import inspect
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Final, cast

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from nestmap import model
from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.imc.array import peak_performance
from nestmap.costmodel.memory_cost.sram import fitted_cost
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    OUTPUT,
    Bus,
    CnEdge,
    CnTensor,
    ComputationNode,
    ComputeCore,
    CoreAllocation,
    CoreMapping,
    CostLimit,
    CostModelEvaluation,
    Dataflow,
    Fitness,
    Frozen,
    FusedSegment,
    Generation,
    HintLoop,
    ImcSizes,
    Individual,
    Infeasibility,
    InfeasibleLayer,
    InMemoryCompute,
    KeptTensor,
    LayerConstraints,
    LayerFront,
    LayerNode,
    LayerResult,
    LayerTopLevels,
    LimitedCost,
    Link,
    Loop,
    MappingConstraints,
    MemoryCost,
    MemoryMacro,
    MemoryRoom,
    MultiCoreAccelerator,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    NoCostNode,
    Objective,
    ObjectiveBound,
    OnChip,
    OperandLink,
    OrderedLoop,
    OutsideCosts,
    PaddedLoop,
    PartEnergy,
    PeakPerformance,
    PinnedLevels,
    PinnedMemory,
    Reserved,
    SearchStatistics,
    SegmentEnd,
    SegmentInputs,
    SegmentPin,
    SpatialMapping,
    SpatialProblem,
    SplitOptions,
    StaticEnergy,
    StorageCore,
    StreamProblem,
    TileAxis,
    TileSize,
    TopLevel,
    UnrollingHint,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.search.multicore.split.split_workload import split_workload
from tests.costmodel.test_hops import limited
from tests.in_memory import imc_cases
from tests.properties.variants import examples, few_examples, with_accelerator
from tests.search.multicore.split.networks import networks
from tests.store.builders import cost_bounds
from tests.strategies import Case, evaluated_cases, subsets
from tests.vectors import vector_nodes, vector_units
from tests.zeros import bitmask, run_length, with_zeros


@st.composite
def constraints(draw: st.DrawFn, case: Case) -> MappingConstraints:
    """Constraints of every kind for the case's layer."""
    sizes = case.spatial.layer.sizes
    dimensions = st.sampled_from(list(sizes))
    sides = list(case.spatial.accelerator.array.sizes)
    ordered = st.builds(OrderedLoop, dimension=dimensions, size=st.none() | st.integers(1, 9))
    orders = st.lists(ordered, max_size=3).map(tuple)
    inner, outer = draw(orders), draw(orders)
    held = st.builds(
        PinnedMemory, memory=st.text(min_size=1), loops=st.integers(0, len(inner) + len(outer))
    )
    entry = LayerConstraints(
        target=draw(st.text(max_size=5)),
        spatial_mapping=draw(st.none() | st.just(case.spatial.spatial_mapping)),
        spatial_hints=(UnrollingHint(array_dimension=sides[0], dimensions=tuple(sizes)),),
        links=tuple(
            OperandLink(operand=x, memory_operand=m) for x, m in case.spatial.problem.links.items()
        ),
        temporal_ordering=inner,
        outer_ordering=outer,
        memory_levels=(PinnedLevels(operand="W", memories=(draw(held),)),),
        dataflow=draw(st.none() | st.sampled_from(Dataflow)),
    )
    segment = SegmentPin(
        last=entry.target,
        first=draw(st.none() | st.text(max_size=5)),
        tiles=(TileSize(dimension="OX", size=draw(st.integers(1, 9))),),
        recomputed=draw(st.none() | st.just(("OX",))),
        home=draw(st.none() | st.text(max_size=5)),
        weights=draw(st.none() | st.text(max_size=5)),
        inputs=draw(st.none() | st.sampled_from(SegmentInputs)),
    )
    return MappingConstraints(entries=(entry,), segments=(segment,))


@st.composite
def top_levels(draw: st.DrawFn, case: Case) -> tuple[TopLevel, ...]:
    problem = case.spatial.problem
    operand, carried = draw(st.sampled_from(list(problem.links.items())))
    names = [level.name for level in problem.levels(operand)]
    return (TopLevel(operand=carried, memory=draw(st.sampled_from(names))),)


def on_chip() -> st.SearchStrategy[OnChip]:
    tensors = st.builds(
        KeptTensor,
        node=st.text(),
        operand=st.just("O"),
        memory=st.text(),
        bits=st.integers(0, 2**50),
        reason=st.none() | st.text(),
    )
    bounds = st.builds(
        ObjectiveBound, objective=st.sampled_from(Objective), value=st.floats(0, 1e18)
    )
    outside = st.builds(OutsideCosts, energy=st.floats(0, 1e18), latency=st.floats(0, 1e18))
    return st.builds(
        OnChip,
        tensors=st.tuples(tensors),
        ends=st.tuples(st.builds(SegmentEnd, last=st.text(), next=st.text(), reason=st.text())),
        outside=st.none() | outside,
        bound=st.none() | bounds,
        segments=st.none() | st.tuples(segments()),
    )


def segments() -> st.SearchStrategy[FusedSegment]:
    axes = st.builds(
        TileAxis,
        dimension=st.just("OY"),
        size=st.integers(1, 2**20),
        tiles=st.integers(1, 2**20),
        retained=st.booleans(),
    )
    room = st.builds(MemoryRoom, memory=st.text(), bits=st.integers(0, 2**50))
    return st.builds(
        FusedSegment,
        nodes=st.tuples(st.text(), st.text()),
        axes=st.tuples(axes),
        home=st.text(),
        residence=st.none() | st.text(),
        staged=st.tuples(st.text()),
        taken=st.tuples(room),
        energy=st.floats(0, 1e18),
        latency=st.floats(0, 1e18),
    )


@st.composite
def leaking_imc_cases(draw: st.DrawFn) -> Case:
    """A mapping on a machine that computes in memory, and leaks."""
    case = draw(imc_cases(2**8))
    machine = copy_with(case.spatial.accelerator, {"counts_leakage": True})
    return Case(with_accelerator(case.spatial, machine), case.temporal)


def macros() -> st.SearchStrategy[MemoryMacro]:
    ports = st.integers(1, 3)
    return st.builds(
        MemoryMacro,
        size=st.integers(2**10, 2**30),
        width=st.integers(1, 2**10),
        read_ports=ports,
        write_ports=ports,
        read_write_ports=ports,
        technology=st.floats(7, 180),
    )


Machinery = tuple[
    SpatialProblem, CostModelEvaluation, MemoryMacro, MemoryCost, PeakPerformance, ImcSizes
]
"""What has to do with arrays that compute in memory, leakage, and the costs of memories."""


@st.composite
def machinery(draw: st.DrawFn) -> Machinery:
    """A mapping on such a machine, and a memory."""
    case, macro = draw(leaking_imc_cases()), draw(macros())
    machine = case.spatial.accelerator
    return (
        case.spatial,
        evaluate(case.spatial, case.temporal),
        macro,
        fitted_cost(macro),
        peak_performance(machine),
        machine.array.imc_sizes,
    )


@st.composite
def sparse_cases(draw: st.DrawFn) -> Case:
    """A mapping of a layer with zeros, on a machine that compresses and gates, with slow hops."""
    case = draw(evaluated_cases())
    spatial, machine = case.spatial, case.spatial.accelerator
    shares = {x.name: draw(st.floats(0.01, 1)) for x in spatial.layer.operands}
    formats = {
        level.name: tuple(draw(st.sampled_from((bitmask(x), run_length(x, 5)))) for x in held)
        for level in machine.memories
        for held in [draw(subsets(level.operands))]
    }
    gating = draw(subsets([x for x in machine.operands if x != OUTPUT]))
    sparse = with_zeros(spatial, shares, gating=gating, formats=formats)
    return limited(Case(sparse, case.temporal), draw(st.integers(1, 64)))


limits: Final = st.builds(
    LimitedCost,
    limit=st.builds(CostLimit, quantity=st.just(Objective.LATENCY), amount=st.floats(1, 9)),
    value=st.floats(1, 1e18),
    least=st.floats(1, 1e18),
)

Everything = tuple[SpatialProblem, NetworkProblem, NetworkEvaluation, NetworkFront]


@st.composite
def everything(draw: st.DrawFn) -> Everything:
    """Two questions and two answers that together can hold an instance of every other model."""
    case = draw(sparse_cases())
    layer = case.spatial.layer
    source = NoCostNode(name=draw(st.text(min_size=1, max_size=9)), operator="Relu")
    first = copy_with(layer.inputs[0], {"source": source.name, "constant": True})
    reader = copy_with(
        layer, {"name": f"after {source.name}", "inputs": (first, *layer.inputs[1:])}
    )
    vector = copy_with(draw(vector_nodes()), {"name": f"vector {source.name}"})
    plain = case.spatial.accelerator
    accelerator = copy_with(plain, {"vector_unit": draw(vector_units(plain))})
    network = NetworkProblem(
        workload=Workload(name="net", nodes=(source, LayerNode(layer=reader), vector)),
        accelerator=accelerator,
        constraints=draw(constraints(case)),
        top_levels=(LayerTopLevels(layer=reader.name, top_levels=draw(top_levels(case))),),
    )
    reason = Infeasibility(reason=draw(st.text()), count=draw(st.integers(0, 2**40)))
    padding = (PaddedLoop(dimension="C", size=197, padded=200),)
    result = LayerResult(
        cme=copy_with(evaluate(case.spatial, case.temporal), {"padding": padding}),
        statistics=SearchStatistics(
            evaluations=draw(st.integers(0, 2**60)),
            infeasible=(reason,),
            pruned=draw(st.integers(0, 2**40)),
            bounds=draw(st.none() | cost_bounds()),
            unproven=draw(st.integers(0, 2**40)),
        ),
        bound=draw(
            st.none()
            | st.builds(
                ObjectiveBound, objective=st.sampled_from(Objective), value=st.floats(0, 1e18)
            )
        ),
    )
    front = LayerFront(cmes=(result.cme,), statistics=result.statistics)
    failed = InfeasibleLayer(
        layer=draw(st.text()),
        operator="Conv",
        accelerator=accelerator.name,
        causes=(reason,),
        greedy=draw(st.booleans()),
        repeats=draw(st.none() | st.text()),
    )
    vectors = (evaluate_vector(vector, accelerator),)
    reserved = Reserved(memory=draw(st.text()), bits=draw(st.integers(0, 2**40)))
    crowded = copy_with(case.spatial.problem, {"reserved": (reserved,)})
    return (
        copy_with(case.spatial, {"problem": crowded}),
        network,
        NetworkEvaluation(
            layers=(result,),
            vector=vectors,
            infeasible=(failed,),
            limited=draw(limits),
            on_chip=draw(st.none() | on_chip()),
        ),
        NetworkFront(layers=(front,), on_chip=draw(st.none() | on_chip())),
    )


Cores = tuple[
    StreamProblem,
    SplitOptions,
    tuple[CnLayer, ...],
    tuple[ComputationNode | CnEdge, ...],
    Generation,
]
"""What has to do with several cores."""


@cache
def bundled(name: str) -> MultiCoreAccelerator:
    """A bundled machine of several cores."""
    return read_multicore(name)


@st.composite
def several_cores(draw: st.DrawFn) -> Cores:
    """A network on a bundled machine, what it is split into, and allocations of it."""
    workload = draw(networks())
    hints = draw(st.lists(st.builds(HintLoop, dimension=st.sampled_from(["K", "OY", "D0"]))))
    allocation = CoreAllocation(
        target=draw(st.text(min_size=1)),
        cores=(1, 0),
        intra=tuple(hints),
        fixed=draw(st.booleans()),
        dataflow=draw(st.none() | st.sampled_from(Dataflow)),
    )
    options = SplitOptions(hints=(tuple(hints),))
    split = split_workload(workload, options, lambda node: True, lambda nest: None)
    machine = bundled(draw(st.sampled_from(["quad_hetero", "dual_shared"])))
    problem = StreamProblem(
        workload=workload, accelerator=machine, mapping=CoreMapping(entries=(allocation,))
    )
    edges = (split.edge(0),) if len(split.edges) else ()
    fitness = Fitness(latency=draw(st.integers(1, 2**40)), energy=0.5, memory=8)
    individual = Individual(allocation=(0, 1), fitness=draw(st.none() | st.just(fitness)))
    found = Generation(number=1, population=(individual,), front=(), evaluations=2)
    return problem, options, split.layers, (split.node(0), *edges), found


def parts(value: object) -> Iterator[Frozen]:
    """A model and all models inside it."""
    if isinstance(value, Frozen):
        yield value
        for name in type(value).model_fields:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple):
        for item in cast(tuple[object, ...], value):
            yield from parts(item)


unshrunk = settings(phases=[Phase.generate], max_examples=5000, database=None, deadline=None)


def all_parts(models: Everything | Machinery | Cores) -> list[Frozen]:
    return list(parts(models))


def through_json(value: Frozen) -> Frozen:
    return type(value).model_validate_json(value.model_dump_json())


@few_examples
@given(everything() | machinery() | several_cores())
def test_every_model_comes_back_from_json(models: Everything | Machinery | Cores) -> None:
    for part in set(all_parts(models)):
        back = through_json(part)
        assert back == part
        assert hash(back) == hash(part)
        assert back.content_hash == part.content_hash


OF_MACHINES: Final[set[type[Frozen]]] = {
    ImcSizes,
    InMemoryCompute,
    MemoryCost,
    MemoryMacro,
    PartEnergy,
    PeakPerformance,
    StaticEnergy,
}
"""Models that only :func:`machinery` has."""

OF_CORES: Final[set[type[Frozen]]] = {
    Bus,
    CnEdge,
    CnTensor,
    ComputationNode,
    ComputeCore,
    CoreAllocation,
    CoreMapping,
    Fitness,
    Generation,
    HintLoop,
    Individual,
    Link,
    MultiCoreAccelerator,
    SplitOptions,
    StorageCore,
    StreamProblem,
}
"""Models that only :func:`several_cores` has."""


OF_RUNS: Final[set[type[Frozen]]] = {Frozen, model.Recording, model.RunLabel}
"""How runs are recorded: no part of a problem (``tests/store`` reads them back)."""


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of a whole problem
def test_the_examples_hold_every_model() -> None:
    exported = {
        member
        for _, member in inspect.getmembers(model, inspect.isclass)
        if issubclass(member, Frozen) and member not in OF_RUNS
    }
    assert len(exported) > 30

    def held(models: Everything | Machinery | Cores) -> set[type[Frozen]]:
        return {type(part) for part in all_parts(models)}

    def complete(models: Machinery) -> bool:
        return held(models) >= OF_MACHINES

    def has_all_cores(models: Cores) -> bool:
        return held(models) >= OF_CORES

    def has_the_others(models: Everything) -> bool:
        return exported - OF_MACHINES - OF_CORES <= held(models)

    assert complete(find(machinery(), complete, settings=unshrunk))
    assert has_all_cores(find(several_cores(), has_all_cores, settings=unshrunk))
    assert has_the_others(find(everything(), has_the_others, settings=unshrunk))


@examples
@given(evaluated_cases(), evaluated_cases())
def test_content_hashes_differ_where_models_do(one: Case, other: Case) -> None:
    for a, b in ((one.spatial, other.spatial), (one.temporal, other.temporal)):
        assert (a.content_hash == b.content_hash) is (a == b)


def test_content_hashes_stay_the_same_for_ever() -> None:
    # stores key on them: a change makes every earlier result unknown
    text = b'{"type":"Loop","value":{"dimension":"K","size":8}}'
    assert Loop(dimension="K", size=8).content_hash == sha256(text).hexdigest()[:32]


def test_the_class_is_part_of_the_content() -> None:
    assert SpatialMapping().content_hash != LayerConstraints().content_hash
    assert MappingConstraints().content_hash != Workload(name="a", nodes=()).content_hash
