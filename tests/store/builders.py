"""Small networks, batches and results to keep in a store."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nestmap.model import (
    Accelerator,
    ArraySide,
    CostBounds,
    CostModelEvaluation,
    Cuts,
    EvaluationBatch,
    Infeasibility,
    Layer,
    LayerConstraints,
    LayerResult,
    LevelEvaluation,
    Loop,
    MappingBatch,
    MappingConstraints,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    MovementCosts,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    ObjectiveBound,
    OperationalArray,
    PortKind,
    PortStall,
    PortUse,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    VectorEvaluation,
    Workload,
    layer_from_equation,
    needed_movements,
)
from nestmap.model.base import copy_with
from nestmap.store import Run, RunInfo, SearchInfo

NASTY = '\'; DROP TABLE runs; -- "ü" 🙂 \\ % $1 ?'
"""A name that breaks SQL wherever it is pasted into it."""


def layer(name: str = "fc", size: int = 12) -> Layer:
    sizes = {"B": size, "K": 8, "C": 6}
    made = layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", sizes, name=name)
    return copy_with(made, {"operator": "Gemm"})


def memory(name: str, operands: Sequence[str], top: bool) -> MemoryLevel:
    uses = [
        PortUse(operand=operand, movement=movement)
        for operand in operands
        for movement in needed_movements(operand, is_top=top)
    ]
    port = MemoryPort(
        name="rw_port_1",
        kind=PortKind.READ_WRITE,
        width_min=8,
        width_max=64,
        allocation=tuple(uses),
    )
    instance = MemoryInstance(
        name=name, size=2**20, read_energy=1.5, write_energy=2.0, area=0.5, ports=(port,)
    )
    return MemoryLevel(instance=instance, operands=tuple(operands), served_dimensions=("D1",))


def accelerator(name: str = "machine") -> Accelerator:
    """Weights have three levels, outputs two, inputs one: batches need padding."""
    return Accelerator(
        name=name,
        array=OperationalArray(sides=(ArraySide(name="D1", size=4),), unit_energy=0.1),
        memories=(
            memory("reg", ["I2"], top=False),
            memory("buffer", ["I2", "O"], top=False),
            memory("dram", ["I1", "I2", "O"], top=True),
        ),
    )


def spatial_problem(of: Layer, machine: Accelerator, unrolled: int = 2) -> SpatialProblem:
    unrolling = Unrolling(array_dimension="D1", loops=(Loop(dimension="K", size=unrolled),))
    return SpatialProblem(
        problem=MappingProblem(
            layer=of, accelerator=machine, constraints=LayerConstraints(target=of.name)
        ),
        spatial_mapping=SpatialMapping(unrollings=(unrolling,)),
    )


OBJECTIVE = Objective.ENERGY
"""The objective of the runs that :func:`info` describes."""

FACTORS = (
    Loop(dimension="B", size=2),
    Loop(dimension="C", size=3),
    Loop(dimension="B", size=3),
    Loop(dimension="K", size=4),
)


def batch(
    problem: SpatialProblem,
    rows: int,
    factors: tuple[Loop, ...] = FACTORS,
    statistics: SearchStatistics | None = None,
    seed: int = 0,
) -> EvaluationBatch:
    """Random rows: any permutations, any ascending cuts, any costs."""
    random = np.random.default_rng(seed)
    loops = len(factors)
    orders = random.permuted(np.tile(np.arange(loops, dtype=np.uint8), (rows, 1)), axis=1)
    levels = [len(problem.problem.levels(x.name)) for x in problem.layer.operands]
    cuts = np.full((rows, len(levels), max(levels)), loops, np.uint8)
    for x, count in enumerate(levels):
        below = random.integers(0, loops + 1, (rows, count - 1))
        cuts[:, x, : count - 1] = np.sort(below, axis=1)
    return EvaluationBatch(
        mappings=MappingBatch(problem=problem, factors=factors, orders=orders, cuts=cuts),
        energy=random.random(rows) * 1e9,
        latency0=random.integers(1, 10**6, rows).astype(np.float64),
        latency1=random.random(rows) * 1e6,
        latency2=random.random(rows) * 1e6,
        ideal_cycles=288,
        statistics=statistics or SearchStatistics(evaluations=rows),
    )


def finite(most: float = 1e18) -> st.SearchStrategy[float]:
    return st.floats(0, most, allow_nan=False)


def cost_bounds(most: float = 1e18) -> st.SearchStrategy[CostBounds]:
    return st.builds(CostBounds, energy=finite(most), latency=finite(most), edp=finite(most))


@st.composite
def batches(draw: st.DrawFn) -> EvaluationBatch:
    """A batch of the layer ``fc`` with any costs that a float holds, and some failures."""
    problem = spatial_problem(layer(), accelerator(), unrolled=draw(st.sampled_from([1, 2, 4])))
    factors = tuple(draw(st.lists(st.sampled_from(FACTORS), min_size=1, unique=True)))
    rows = draw(st.integers(0, 6))
    reasons = draw(st.dictionaries(st.text(), st.integers(1, 10**12), max_size=3))
    failed = tuple(Infeasibility(reason=reason, count=n) for reason, n in reasons.items())
    statistics = SearchStatistics(
        evaluations=rows,
        infeasible=failed,
        bounds=draw(st.none() | cost_bounds()),
        unproven=draw(st.integers(0, 1)),
    )
    base = batch(problem, rows, factors, statistics, seed=draw(st.integers(0, 2**32)))
    costs = [draw(arrays(np.float64, rows, elements=finite())) for _ in range(4)]
    return EvaluationBatch(
        mappings=base.mappings,
        energy=costs[0],
        latency0=costs[1],
        latency1=costs[2],
        latency2=costs[3],
        ideal_cycles=draw(st.integers(1, 2**62)),
        statistics=statistics,
    )


@dataclass(frozen=True)
class Rows:
    """What a batch holds, comparable."""

    problem: SpatialProblem
    mappings: tuple[TemporalMapping, ...]
    costs: tuple[tuple[float, ...], ...]
    ideal_cycles: int
    infeasible: dict[str, int]
    bounds: CostBounds | None
    unproven: int


def rows_of(given: EvaluationBatch) -> Rows:
    costs = (given.energy, given.latency0, given.latency1, given.latency2)
    return Rows(
        problem=given.mappings.problem,
        mappings=tuple(given.mappings.row(i) for i in range(len(given))),
        costs=tuple(tuple(float(x) for x in column) for column in costs),
        ideal_cycles=given.ideal_cycles,
        infeasible={x.reason: x.count for x in given.statistics.infeasible},
        bounds=given.statistics.bounds,
        unproven=given.statistics.unproven,
    )


def cme(
    of: Layer, machine: Accelerator, energy: float = 10.0, stall: int = 5
) -> CostModelEvaluation:
    order = (Loop(dimension="B", size=12), Loop(dimension="C", size=6))
    level = LevelEvaluation(
        operand="W",
        memory="dram",
        level=0,
        costs=MovementCosts(accesses=(1, 2, 0, 2**62), energies=(1.0, 0.1, 0.0, 1 / 3)),
        elements=7,
        bits=56,
        utilization=0.1,
        shared_utilization=0.2,
        effective_utilization=0.3,
        effective_shared_utilization=1 / 7,
        double_buffered=True,
    )
    return CostModelEvaluation(
        layer=of.name,
        operator=of.operator,
        accelerator=machine.name,
        macs=of.macs,
        spatial_mapping=spatial_problem(of, machine).spatial_mapping,
        temporal_mapping=TemporalMapping(
            order=order, cuts=(Cuts(operand="W", positions=(0, 1, 2)),)
        ),
        mac_energy=energy,
        memory_energy=1 / 3,
        levels=(level,),
        port_stalls=(PortStall(memory="dram", port="rw_port_1", stall=-4),),
        ideal_cycles=72,
        ideal_temporal_cycles=72,
        stall=stall,
        onloading=1.25,
        offloading=0.5,
        drain=1,
        area=0.1,
    )


@st.composite
def results(draw: st.DrawFn, network: NetworkProblem) -> NetworkEvaluation:
    """Results of the layers of a network with any energies and statistics."""
    layers: list[LayerResult] = []
    for of in network.workload.layers:
        repeated = draw(st.sampled_from([None, *(x for x in layers if x.repeats is None)]))
        if repeated is None:
            made = cme(of, network.accelerator, draw(finite()), draw(st.integers(0, 2**40)))
        else:
            made = copy_with(repeated.cme, {"layer": of.name})
        failed = draw(st.lists(st.tuples(st.text(), st.integers(0, 2**40)), max_size=3))
        statistics = SearchStatistics(
            evaluations=draw(st.integers(0, 2**40)),
            infeasible=tuple(Infeasibility(reason=r, count=n) for r, n in failed),
            pruned=draw(st.integers(0, 2**40)),
            bounds=draw(st.none() | cost_bounds()),
            unproven=draw(st.integers(0, 2**40)),
        )
        repeats = None if repeated is None else repeated.cme.layer
        value = st.builds(ObjectiveBound, objective=st.just(OBJECTIVE), value=finite())
        bound = draw(st.none() | value)
        layers.append(LayerResult(cme=made, statistics=statistics, repeats=repeats, bound=bound))
    entries = st.builds(vector_entry, st.text(min_size=1), st.integers(0, 2**53), finite())
    return NetworkEvaluation(
        layers=tuple(layers),
        vector=tuple(draw(st.lists(entries, max_size=3))),
        vector_counted=draw(st.booleans()),
    )


def result(network: NetworkProblem) -> NetworkEvaluation:
    """Results of the layers of a network, each with another energy: 10, 20, ... pJ and 1/3."""
    made = (
        cme(of, network.accelerator, 10.0 * (i + 1)) for i, of in enumerate(network.workload.layers)
    )
    statistics = SearchStatistics(evaluations=100)
    return NetworkEvaluation(layers=tuple(LayerResult(cme=x, statistics=statistics) for x in made))


def vector_entry(node: str, operations: int = 12, energy: float = 1 / 7) -> VectorEvaluation:
    """What a vector operator costs, every figure another one."""
    return VectorEvaluation(
        node=node,
        operator="Relu",
        memory="dram",
        operations=operations,
        bits_read=80,
        bits_written=96,
        words_read=2,
        words_written=3,
        operation_energy=energy,
        memory_energy=0.1,
        compute_cycles=6,
        traffic_cycles=5,
    )


def with_vector(given: NetworkEvaluation, *entries: VectorEvaluation) -> NetworkEvaluation:
    """Results with these vector operators beside them, or with two."""
    chosen = entries or (vector_entry("a"), vector_entry("b", energy=0.7))
    return copy_with(given, {"vector": chosen})


def network(
    *layers: Layer, name: str = "net", machine: Accelerator | None = None
) -> NetworkProblem:
    return NetworkProblem(
        workload=Workload.of(*(layers or (layer(),)), name=name),
        accelerator=machine or accelerator(),
        constraints=MappingConstraints(entries=(LayerConstraints(target="Gemm"),)),
    )


def info(of: NetworkProblem | None = None, command: str = "test") -> RunInfo:
    return RunInfo(
        command=command,
        version="0.1.0",
        objective=OBJECTIVE,
        network=of or network(),
        pipeline='{"stages": []}',
        options='{"lpf_limit": 6}',
    )


def search_info(problem: SpatialProblem, key: str = "") -> SearchInfo:
    """A search of that problem, done in one way: the problem is its key unless another is given."""
    return SearchInfo(key=key or problem.content_hash, spatial=problem, options='{"lpf_limit": 6}')


def record(run: Run, *recorded: EvaluationBatch, key: str = "") -> None:
    """Records batches, those of one problem in one search, complete at the end."""
    problems = {batch.mappings.problem: None for batch in recorded}
    for problem in problems:
        with run.record_search(search_info(problem, key)) as search:
            for one in recorded:
                if one.mappings.problem == problem:
                    search.record(one)
