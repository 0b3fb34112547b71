"""Reads port traffic and tile reuse from the cost model's records."""

from __future__ import annotations

from nestmap.costmodel.busy_ports import busy_cycles
from nestmap.costmodel.evaluate import port_names
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.transfers import link_of
from nestmap.model import MOVEMENTS, Movement, SpatialProblem
from nestmap.pipeline.analysis.mapping.explanation import PortName, PortTraffic, PortTransfer
from nestmap.pipeline.analysis.mapping.records import Evaluated


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
