"""Evaluations as models: batches as columns, single mappings with a full breakdown."""

from collections.abc import Sequence
from math import ceil, inf
from typing import TypeVar

import numpy as np

from nestmap.costmodel.area_leakage import areas_of, clock_period_of, static_energies, sum_areas
from nestmap.costmodel.busy_ports import busy_cycles, stall_of
from nestmap.costmodel.evaluate_rows import (
    Columns,
    evaluate_row,
    evaluate_rows,
    latencies,
    load_row,
)
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.hops import hop_cycles, hop_energy, hop_stall, shared_below
from nestmap.costmodel.kernel.record import check_loops, new_record
from nestmap.costmodel.kernel.work import Totals, Work
from nestmap.costmodel.mac_energy import computation_energies
from nestmap.costmodel.zeros import gated_macs
from nestmap.model import (
    MOVEMENTS,
    Accelerator,
    CostModelEvaluation,
    Dataflow,
    EvaluationBatch,
    HopStall,
    LevelEvaluation,
    Loop,
    MappingBatch,
    MovementCosts,
    OperandLink,
    PortStall,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.arrays import Ints
from nestmap.model.mapping.dataflow import held_dimensions, least_unrollings

N = TypeVar("N")

Place = tuple[int, int]
"""An operand, and a level of its hierarchy from 1."""


def evaluate_batch(mappings: MappingBatch) -> EvaluationBatch:
    """The costs of every mapping in a batch."""
    check_loops(mappings.orders.shape[1])
    problem, rows = flatten(mappings.problem), len(mappings)
    columns = Columns(np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows))
    factors = factor_table(mappings.problem, mappings.factors)
    evaluate_rows(problem, factors, mappings.orders, mappings.cuts, columns)
    return EvaluationBatch(
        mappings=mappings,
        energy=columns.energy,
        latency0=columns.latency0,
        latency1=columns.latency1,
        latency2=columns.latency2,
        ideal_cycles=int(problem.ideal_cycles),
        statistics=mappings.statistics + SearchStatistics(evaluations=rows),
    )


def evaluate(spatial: SpatialProblem, temporal: TemporalMapping) -> CostModelEvaluation:
    """The cost of one mapping with its full breakdown.

    Does not check whether the data fits the memories (see :mod:`nestmap.search`).

    Raises:
        InputError: if the temporal mapping is not valid for this problem.
    """
    spatial.check(temporal)
    check_loops(len(temporal.order))
    problem, batch = flatten(spatial), MappingBatch.of(spatial, temporal)
    work = new_record(Work)
    load_row(work, factor_table(spatial, batch.factors), batch.orders[0], batch.cuts[0])
    totals = evaluate_row(problem, work)
    return _evaluation(spatial, temporal, problem, work, totals)


def factor_table(spatial: SpatialProblem, factors: tuple[Loop, ...]) -> Ints:
    """[f, 2] position of the dimension in the layer, and size, of each factor."""
    positions = {dimension: d for d, dimension in enumerate(spatial.layer.sizes)}
    rows = [(positions[loop.dimension], loop.size) for loop in factors]
    return np.array(rows, np.int64).reshape(-1, 2)


def _evaluation(
    spatial: SpatialProblem,
    temporal: TemporalMapping,
    problem: FlatProblem,
    work: Work,
    totals: Totals,
) -> CostModelEvaluation:
    accelerator = spatial.accelerator
    areas, (*_, cycles) = areas_of(accelerator), latencies(problem, totals)
    return CostModelEvaluation(
        layer=spatial.layer.name,
        operator=spatial.layer.operator,
        accelerator=accelerator.name,
        macs=spatial.layer.macs,
        spatial_mapping=spatial.spatial_mapping,
        temporal_mapping=temporal,
        mac_energy=totals.mac_energy,
        memory_energy=totals.memory_energy,
        levels=_levels(spatial, problem, work),
        port_stalls=_port_stalls(spatial, problem, work),
        ideal_cycles=int(problem.ideal_cycles),
        ideal_temporal_cycles=int(totals.ideal_temporal),
        stall=int(totals.stall),
        onloading=float(totals.onloading),
        offloading=float(totals.offloading),
        drain=int(problem.drain),
        area=sum_areas(areas),
        area_unit=accelerator.area_unit,
        areas=areas,
        array_energies=computation_energies(spatial),
        static_energies=static_energies(accelerator, cycles),
        clock_period=clock_period_of(accelerator),
        links=tuple(
            OperandLink(operand=operand, memory_operand=memory_operand)
            for operand, memory_operand in spatial.problem.links.items()
        ),
        gated_macs=gated_macs(spatial.problem),
        skipped_cycles=int(totals.skipped),
        hop_energy=float(hop_energy(problem, work)),
        hop_stalls=_hop_stalls(spatial, problem, work, totals),
        padding=spatial.layer.padding,
        dataflows=tuple(x for x in Dataflow if _has_dataflow(spatial, temporal, work, x)),
    )


def _has_dataflow(
    spatial: SpatialProblem, temporal: TemporalMapping, work: Work, dataflow: Dataflow
) -> bool:
    """Whether all loops stay that have to, and some in a memory of which the array has several."""
    layer, unrolled = spatial.layer, spatial.spatial_mapping
    held, is_chosen = held_dimensions(dataflow, layer, spatial.problem.links), False
    for x, operand in enumerate(layer.operands):
        dimensions = held.get(operand.name, ())
        places = [
            n
            for n, loop in enumerate(temporal.order)
            if loop.dimension in dimensions and loop.size > 1
        ]
        if places and places[-1] >= work.stationary_cut[x, 1]:
            return False
        innermost = spatial.problem.levels(operand.name)[0]
        is_chosen |= bool(places) and spatial.accelerator.instances_of(innermost) > 1
    least = least_unrollings(dataflow, layer)
    return is_chosen and all(unrolled.factor_of(d) >= n for d, n in least.items())


def _levels(
    spatial: SpatialProblem, problem: FlatProblem, work: Work
) -> tuple[LevelEvaluation, ...]:
    costs = movement_costs(problem, work)
    return tuple(
        _level(problem, work, (x, level), operand.name, memory.name, costs[x, level])
        for x, operand in enumerate(spatial.layer.operands)
        for level, memory in enumerate(spatial.problem.levels(operand.name), start=1)
    )


def _level(
    problem: FlatProblem, work: Work, place: Place, operand: str, memory: str, costs: MovementCosts
) -> LevelEvaluation:
    position = problem.memory[place]
    return LevelEvaluation(
        operand=operand,
        memory=memory,
        level=place[1] - 1,
        costs=costs,
        elements=int(work.elements[0][place]),
        bits=ceil(work.held[0][place]),
        utilization=float(work.utilization[place]),
        shared_utilization=float(work.shared[position]),
        effective_utilization=float(work.effective[place]),
        effective_shared_utilization=float(work.promised[position]),
        double_buffered=bool(work.doubled[place]),
    )


def movement_costs(problem: FlatProblem, work: Work) -> dict[Place, MovementCosts]:
    """Costs by operand and level; columns are read once, since reading a record is slow."""
    count = problem.transfers
    accesses: dict[Place, list[int]] = {}
    energies: dict[Place, list[float]] = {}
    for x, level, movement, words, energy in zip(
        problem.transfer_operand[:count].tolist(),
        problem.transfer_level[:count].tolist(),
        problem.transfer_movement[:count].tolist(),
        work.accesses[:count].tolist(),
        work.energy[:count].tolist(),
        strict=True,
    ):
        accesses.setdefault((x, level), [0] * len(MOVEMENTS))[movement] = int(words)
        energies.setdefault((x, level), [0.0] * len(MOVEMENTS))[movement] = energy
    return {
        place: MovementCosts(accesses=_four(counts), energies=_four(energies[place]))
        for place, counts in accesses.items()
    }


def _four(values: Sequence[N]) -> tuple[N, N, N, N]:
    """One value per movement."""
    return values[0], values[1], values[2], values[3]


def port_names(accelerator: Accelerator) -> list[tuple[str, str]]:
    """Memory and port of every port, in the order of the cost model."""
    return [
        (level.name, port.name) for level in accelerator.memories for port in level.instance.ports
    ]


def _port_stalls(
    spatial: SpatialProblem, problem: FlatProblem, work: Work
) -> tuple[PortStall, ...]:
    names = port_names(spatial.accelerator)
    return tuple(
        PortStall(
            memory=memory,
            port=port,
            stall=int(stall_of(problem, work, i)),
            busy=int(busy_cycles(problem, work, i)),
        )
        for i, (memory, port) in enumerate(names)
    )


def _hop_stalls(
    spatial: SpatialProblem, problem: FlatProblem, work: Work, totals: Totals
) -> tuple[HopStall, ...]:
    """Where units hand on words; empty if the array does not limit hops."""
    if problem.hop_bandwidth == inf:
        return ()
    computing = totals.ideal_temporal + totals.skipped
    others = computing + totals.onloading + totals.offloading + problem.drain
    found: list[HopStall] = []
    for x, operand in enumerate(spatial.layer.operands):
        for link in range(int(problem.levels[x])):
            if shared_below(problem, x, link) > 0:
                busy = int(hop_cycles(problem, work, x, link))
                stall = int(hop_stall(problem, work, x, link, others))
                found.append(HopStall(operand=operand.name, level=link, stall=stall, busy=busy))
    return tuple(found)
