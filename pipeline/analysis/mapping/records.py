"""The cost model's records of one mapping: totals, port traffic, the loop nest."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from nestmap.costmodel.busy_ports import busy_cycles, stall_of
from nestmap.costmodel.evaluate import factor_table, port_names
from nestmap.costmodel.evaluate_rows import evaluate_row, latencies, load_row
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Totals, Work
from nestmap.costmodel.transfers import link_of
from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    LevelEvaluation,
    MappingBatch,
    Movement,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.pipeline.analysis.mapping.explanation import (
    LoopNest,
    ParallelLoops,
    PortName,
    PortTraffic,
    PortTransfer,
    Tile,
)

# --- reads port traffic and tile reuse from the cost model's records ---


def stays(records: Evaluated, operand: int, level: int) -> int:
    """The innermost loops that keep an operand's tile in place at a level (both by position)."""
    return int(records.work.stationary_cut[operand, level + 1])


def port_traffic(spatial: SpatialProblem, records: Evaluated) -> tuple[PortTraffic, ...]:
    """Every port of the accelerator with its transfers, in the order of the memories."""
    first = records.problem.first_transfer
    names = port_names(spatial.accelerator)
    ports = [port for level in spatial.accelerator.memories for port in level.instance.ports]
    return tuple(
        PortTraffic(
            name=PortName(memory=memory, port=name),
            kind=port.kind,
            width_min=port.width_min,
            width_max=port.width_max,
            stall=records.stall_of(p),
            busy=int(busy_cycles(records.problem, records.work, p)),
            transfers=tuple(
                _transfer(spatial, records, t)
                for t in range(int(first[p]), int(first[p + 1]))
                if records.work.times[records.problem.views - 1, t] > 0
            ),
        )
        for p, ((memory, name), port) in enumerate(zip(names, ports, strict=True))
    )


def _transfer(spatial: SpatialProblem, records: Evaluated, t: int) -> PortTransfer:
    problem, work = records.problem, records.work
    view, x, link = problem.views - 1, int(problem.transfer_operand[t]), int(link_of(problem, t))
    operand, movement = spatial.layer.operands[x].name, MOVEMENTS[int(problem.transfer_movement[t])]
    names = (None, *(level.name for level in spatial.problem.levels(operand)))
    upwards = movement in (Movement.WR_BY_LOW, Movement.RD_TO_HIGH)
    return PortTransfer(
        operand=operand,
        movement=movement,
        source=names[link if upwards else link + 1],
        target=names[link + 1 if upwards else link],
        ahead=bool(work.doubled[x, link]),
        bits=int(work.bits[view, t]),
        times=int(work.times[view, t]),
        needed=int(work.needed[t]),
        allowed=int(work.allowed[t]),
        loading=float(work.loading[t]) if _loads(problem, t) else 0.0,
    )


def _loads(problem: FlatProblem, t: int) -> bool:
    """Whether the path of the first inputs or last outputs starts or ends with the transfer."""
    x = int(problem.transfer_operand[t])
    links = problem.link_ends[x, 1 : int(problem.levels[x])]
    return bool((links == t).any())


class Evaluated(NamedTuple):
    """The records of a mapping: what is evaluated, all intermediate quantities, the totals."""

    problem: FlatProblem
    work: Work
    totals: Totals

    @property
    def latency(self) -> float:
        """The total latency, in cycles."""
        return float(latencies(self.problem, self.totals)[-1])

    @property
    def dynamic_energy(self) -> float:
        """Energy of computation and memories, in pJ."""
        return float(self.totals.mac_energy + self.totals.memory_energy)

    @property
    def static_energy(self) -> float:
        """Leakage energy while the layer runs, in pJ."""
        return float(self.problem.leakage * self.latency)

    @property
    def stall(self) -> int:
        """Cycles in which the array waits for a port."""
        return int(self.totals.stall)

    def stall_of(self, port: int) -> int:
        """The stall of a port (by position), or its slack where negative, in cycles."""
        return int(stall_of(self.problem, self.work, port))


def evaluated(
    spatial: SpatialProblem, temporal: TemporalMapping, problem: FlatProblem | None = None
) -> Evaluated:
    """The records that the cost model's kernels compute for the mapping.

    ``problem`` is another record than that of ``spatial``, with the same layer and memory levels.
    """
    problem = flatten(spatial) if problem is None else problem
    batch, work = MappingBatch.of(spatial, temporal), new_record(Work)
    load_row(work, factor_table(spatial, batch.factors), batch.orders[0], batch.cuts[0])
    return Evaluated(problem, work, evaluate_row(problem, work))


# --- builds the loop nest of a mapping: unrolled loops, temporal loops, tiles in memories ---


def loop_nest(spatial: SpatialProblem, cme: CostModelEvaluation, records: Evaluated) -> LoopNest:
    """The loop nest; tiles are sorted by operand (output first), then innermost level first."""
    rows = {operand.name: x for x, operand in enumerate(spatial.layer.operands)}
    tiles = tuple(
        _tile(spatial, cme, entry, stays(records, rows[entry.operand], entry.level))
        for entry in cme.levels
    )
    return LoopNest(
        statement=spatial.layer.equation,
        order=cme.temporal_mapping.order,
        parallel=_parallel(spatial),
        tiles=tiles,
        dataflows=cme.dataflows,
    )


def _parallel(spatial: SpatialProblem) -> tuple[ParallelLoops, ...]:
    return tuple(
        ParallelLoops(
            array_dimension=side.name, units=side.size, loops=spatial.spatial_mapping.on(side.name)
        )
        for side in spatial.accelerator.array.sides
    )


def _tile(
    spatial: SpatialProblem, cme: CostModelEvaluation, entry: LevelEvaluation, stays_for: int
) -> Tile:
    memory, mapping = spatial.problem.levels(entry.operand)[entry.level], cme.temporal_mapping
    return Tile(
        operand=entry.operand,
        memory=entry.memory,
        level=entry.level,
        cut=mapping.cuts_of(entry.operand)[entry.level],
        stays=stays_for,
        fills=prod(loop.size for loop in mapping.order[stays_for:]),
        elements=entry.elements,
        bits=entry.bits,
        capacity=memory.instance.size,
        share=entry.utilization,
        instances=spatial.accelerator.instances_of(memory),
        double_buffered=entry.double_buffered,
    )
