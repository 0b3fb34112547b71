"""What pictures of schedules show, whatever is scheduled: nothing overlaps, nothing is lost."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.energy import layer_energy_bars
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, idle_cycles, wire_loads
from nestmap.pipeline.analysis.schedule.tables import (
    NONE,
    BarKind,
    Cause,
    Gantt,
    GanttBars,
    RowKind,
    Stalls,
)
from nestmap.pipeline.analysis.schedule.traffic import core_traffic, streamed_bits, wire_traffic
from nestmap.pipeline.analysis.schedule.utilization import memory_uses, wire_uses
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.search.multicore.schedule.problems import Case, cases
from tests.sweeps import some_of


def scheduled(case: Case) -> Schedule:
    return schedule(case.problem, case.allocation)


schedules = cases().map(scheduled)


def are_apart(found: GanttBars | Stalls) -> bool:
    """Whether all take time, row by row, none before the one before it has ended."""
    starts, ends = found.start.tolist(), found.end.tolist()
    rows = found.row.tolist()
    together = pairwise(zip(rows, starts, ends, strict=True))
    return all(start < end for start, end in zip(starts, ends, strict=True)) and all(
        a[0] < b[0] or (a[0] == b[0] and a[2] <= b[1]) for a, b in together
    )


@settings(max_examples=some_of(20))
@given(schedules)
def test_bars_do_not_overlap(made: Schedule) -> None:
    bars = gantt(made).bars
    assert are_apart(bars)
    assert np.count_nonzero(bars.kind == BarKind.NODE) == len(made.problem.nodes)
    assert int(bars.end.max(initial=0)) <= made.latency


@settings(max_examples=some_of(20))
@given(schedules, st.integers(1, 20))
def test_fewer_bars_are_as_many_events(made: Schedule, cells: int) -> None:
    whole, fewer = gantt(made).bars, gantt(made, cells).bars
    assert are_apart(fewer)
    assert int(fewer.count.sum()) == int(whole.count.sum())
    for row in set(whole.row.tolist()):
        here, there = whole.row == row, fewer.row == row
        assert whole.start[here].min() == fewer.start[there].min()
        assert whole.end[here].max() == fewer.end[there].max()
        firsts = fewer.start[there] * cells // made.latency
        assert max(np.unique(firsts, return_counts=True)[1]) <= 3


@settings(max_examples=some_of(20))
@given(schedules)
def test_cores_are_busy_or_idle(made: Schedule) -> None:
    chart = gantt(made)
    assert are_apart(chart.stalls)
    idle = idle_cycles(made).sum(axis=1).tolist()
    for load, rest in zip(core_loads(made), idle, strict=True):
        assert load.busy + rest == made.latency
    assert sum(load.nodes for load in core_loads(made)) == len(made.problem.nodes)


def is_chain(chart: Gantt) -> bool:
    """Whether the critical path leads from a start to the last end, step by step."""
    path = chart.critical
    return (
        int(path.end[-1]) == chart.latency
        and path.cause.tolist().count(Cause.START) == 1
        and int(path.cause[0]) == Cause.START
        and bool(np.all(path.start[1:] >= path.end[:-1]))
        and bool(np.all((path.start[1:] == path.end[:-1]) | (path.cause[1:] == Cause.MEMORY)))
    )


@settings(max_examples=some_of(20))
@given(schedules)
def test_the_critical_path_has_no_gap_but_for_room(made: Schedule) -> None:
    chart = gantt(made)
    assert is_chain(chart)
    kinds: list[int] = chart.critical.kind.tolist()
    rows: list[int] = chart.path_rows.tolist()
    for kind, row in zip(kinds, rows, strict=True):
        is_core = row != NONE and chart.rows[row].kind is RowKind.CORE
        assert is_core is (kind == BarKind.NODE)


@settings(max_examples=some_of(20))
@given(schedules)
def test_memories_are_never_fuller_than_they_are_large(made: Schedule) -> None:
    uses = memory_uses(made)
    assert [use.peak for use in uses][: len(made.peaks)] == list(made.peaks)
    for use in uses:
        assert 0 <= use.bits.min(initial=0) <= use.bits.max(initial=0) == use.peak <= use.capacity
        assert np.all(np.diff(use.times) > 0)


@settings(max_examples=some_of(20))
@given(schedules, st.integers(1, 30))
def test_bins_are_all_the_time_that_wires_are_taken(made: Schedule, bins: int) -> None:
    bars = gantt(made)
    for use in wire_uses(made, bins):
        assert (use.edges[0], use.edges[-1]) == (0, made.latency)
        assert use.shares.min() >= -1e-9
        assert use.shares.sum(axis=0).max() <= 1 + 1e-9
        row = bars.rows.index(use.row)
        here = bars.bars.row == row
        assert use.busy == int((bars.bars.end - bars.bars.start)[here].sum())
        sent = here & (bars.bars.kind != BarKind.STREAM)
        taken = float((bars.bars.end - bars.bars.start)[sent].sum())
        streamed = float(use.cycles[BarKind.STREAM].sum())
        assert float(use.cycles.sum()) - streamed == pytest.approx(taken)


@settings(max_examples=some_of(20))
@given(schedules)
def test_tables_and_pictures_agree_on_wires(made: Schedule) -> None:
    loads = {load.wire.name: load for load in wire_loads(made)}
    limited = {name: load.busy for name, load in loads.items() if load.wire.bandwidth is not None}
    assert {name: busy for name, busy in limited.items() if busy} == {
        use.row.name: use.busy for use in wire_uses(made, 5)
    }
    sent = {x.name: x.total for x in wire_traffic(made)}
    assert {name: load.bits for name, load in loads.items() if load.bits} == sent


@settings(max_examples=some_of(20))
@given(schedules)
def test_bits_arrive_where_they_are_sent(made: Schedule) -> None:
    pairs = core_traffic(made)
    bits = int(made.tensors.bits[made.transfers.tensor].sum())
    assert sum(x.total for x in pairs) == bits + int(streamed_bits(made).sum())
    names = {row.name for row in gantt(made).rows if row.kind is not RowKind.CORE}
    assert names <= {x.name for x in wire_traffic(made)}


@settings(max_examples=some_of(20))
@given(schedules)
def test_energies_of_layers_are_all_energy(made: Schedule) -> None:
    bars = layer_energy_bars(made)
    assert sum(bars.totals) == pytest.approx(made.energy.total, rel=1e-9)
    for part in bars.parts:
        assert all(value >= 0 for value in part.values)
