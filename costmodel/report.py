"""Evaluations as models: whole batches as columns, one mapping with its full breakdown."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.evaluate import Columns, evaluate_row, evaluate_rows, load_row
from nestmap.costmodel.problem import FlatProblem, flatten
from nestmap.costmodel.record import I64, check_loops, new_record
from nestmap.costmodel.work import Totals, Work
from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    EvaluationBatch,
    LevelEvaluation,
    Loop,
    MappingBatch,
    MovementCosts,
    PortStall,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)


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
    """The cost of one mapping with its whole breakdown: a batch of one, read out in full.

    Whether the data fits the memories is not asked here (see :mod:`nestmap.search`).

    Raises:
        InputError: where the temporal mapping is not one of this problem.
    """
    spatial.check(temporal)
    check_loops(len(temporal.order))
    problem, batch = flatten(spatial), MappingBatch.of(spatial, temporal)
    work = new_record(Work)
    load_row(work, factor_table(spatial, batch.factors), batch.orders[0], batch.cuts[0])
    totals = evaluate_row(problem, work)
    return _evaluation(spatial, temporal, problem, work, totals)


def factor_table(spatial: SpatialProblem, factors: tuple[Loop, ...]) -> I64:
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
    return CostModelEvaluation(
        layer=spatial.layer.name,
        operator=spatial.layer.operator,
        accelerator=spatial.accelerator.name,
        macs=spatial.layer.macs,
        spatial_mapping=spatial.spatial_mapping,
        temporal_mapping=temporal,
        mac_energy=totals.mac_energy,
        memory_energy=totals.memory_energy,
        levels=_levels(spatial, problem, work),
        port_stalls=_port_stalls(spatial, work),
        ideal_cycles=int(problem.ideal_cycles),
        ideal_temporal_cycles=int(totals.ideal_temporal),
        stall=int(totals.stall),
        onloading=float(totals.onloading),
        offloading=float(totals.offloading),
        drain=int(problem.drain),
        area=spatial.accelerator.area,
    )


def _levels(
    spatial: SpatialProblem, problem: FlatProblem, work: Work
) -> tuple[LevelEvaluation, ...]:
    return tuple(
        _level(problem, work, x, operand.name, level, memory.name)
        for x, operand in enumerate(spatial.layer.operands)
        for level, memory in enumerate(spatial.problem.levels(operand.name), start=1)
    )


def _level(
    problem: FlatProblem, work: Work, x: int, operand: str, level: int, name: str
) -> LevelEvaluation:
    memory = problem.memory[x, level]
    return LevelEvaluation(
        operand=operand,
        memory=name,
        level=level - 1,
        costs=_movement_costs(problem, work, x, level),
        elements=int(work.elements[0, x, level]),
        bits=int(work.held[0, x, level]),
        utilization=float(work.utilization[x, level]),
        shared_utilization=float(work.shared[memory]),
        effective_utilization=float(work.effective[x, level]),
        effective_shared_utilization=float(work.promised[memory]),
        double_buffered=bool(work.doubled[x, level]),
    )


def _movement_costs(problem: FlatProblem, work: Work, x: int, level: int) -> MovementCosts:
    accesses, energies = [0] * len(MOVEMENTS), [0.0] * len(MOVEMENTS)
    for t in range(problem.transfers):
        if (problem.transfer_operand[t], problem.transfer_level[t]) != (x, level):
            continue
        movement = problem.transfer_movement[t]
        accesses[movement] = int(work.accesses[t])
        energies[movement] = float(work.energy[t])
    return MovementCosts(
        accesses=(accesses[0], accesses[1], accesses[2], accesses[3]),
        energies=(energies[0], energies[1], energies[2], energies[3]),
    )


def _port_stalls(spatial: SpatialProblem, work: Work) -> tuple[PortStall, ...]:
    names = [
        (level.name, port.name)
        for level in spatial.accelerator.memories
        for port in level.instance.ports
    ]
    stalls = work.port_stall[: len(names)].tolist()
    return tuple(
        PortStall(memory=memory, port=port, stall=int(stall))
        for (memory, port), stall in zip(names, stalls, strict=True)
    )
