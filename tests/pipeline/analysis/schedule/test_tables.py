"""What pictures of schedules show, against numbers reckoned by hand."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from nestmap.model.multicore.schedule import Schedule, TransferKind, Transfers
from nestmap.pipeline.analysis.schedule.comparison import align_layers, without_wires
from nestmap.pipeline.analysis.schedule.downsample import downsample_steps
from nestmap.pipeline.analysis.schedule.energy import layer_energy_bars
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, idle_cycles, wire_loads
from nestmap.pipeline.analysis.schedule.search_progress import front_view
from nestmap.pipeline.analysis.schedule.stalls import stalls
from nestmap.pipeline.analysis.schedule.tables import (
    BarKind,
    Cause,
    GanttBars,
    RowKind,
    StallReason,
)
from nestmap.pipeline.analysis.schedule.traffic import core_traffic, wire_traffic
from nestmap.pipeline.analysis.schedule.utilization import memory_uses, wire_uses
from nestmap.pipeline.format.mappings import core_ranges
from nestmap.pipeline.format.palette import brightness
from nestmap.pipeline.render.charts.schedule.labels import layer_colors, row_label
from tests.pipeline.render.schedules import ints, pipelined, search, streamed, two_rows

P, T, M, N = StallReason


def rows_of(*columns: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Columns as rows."""
    return list(zip(*(column.tolist() for column in columns), strict=True))


def spans(bars: GanttBars, row: int) -> list[tuple[int, ...]]:
    """When the bars of a row begin and end."""
    here = bars.row == row
    return rows_of(bars.start[here], bars.end[here])


def chosen(sent: Transfers, rows: NDArray[np.int64]) -> Transfers:
    """Some transfers, maybe several times."""
    return Transfers(
        sent.tensor[rows], sent.sender[rows], sent.receiver[rows], sent.sending[rows],
        sent.receiving[rows], sent.start[rows], sent.end[rows], sent.kind[rows], sent.node[rows],
        sent.link_energy[rows], sent.memory_energy[rows],
    )  # fmt: skip


def test_rows_are_cores_then_wires_then_those_off_the_chip() -> None:
    chart = gantt(two_rows())
    assert [(row.kind, row_label(row)) for row in chart.rows] == [
        (RowKind.CORE, "0: core0"),
        (RowKind.CORE, "1: core1"),
        (RowKind.WIRE, "0 → 1"),
        (RowKind.OFFCHIP, "9 → 0"),
        (RowKind.OFFCHIP, "9 → 1"),
        (RowKind.OFFCHIP, "1 → 9"),
    ]
    assert chart.layers == ("n0", "n1")


def test_bars_are_nodes_and_transfers() -> None:
    bars = gantt(two_rows()).bars
    assert [spans(bars, row) for row in range(6)] == [
        [(2, 12), (14, 24), (26, 36)],
        [(14, 24), (26, 36), (38, 48)],
        [(12, 14), (24, 26), (36, 38)],
        [(0, 2), (12, 14), (24, 26)],
        [(12, 14)],
        [(24, 26), (36, 38), (48, 50)],
    ]
    kinds = [set(bars.kind[bars.row == row].tolist()) for row in range(6)]
    assert kinds == [
        {BarKind.NODE}, {BarKind.NODE}, {BarKind.ACTIVATION},
        {BarKind.CONSTANT}, {BarKind.CONSTANT}, {BarKind.RESULT},
    ]  # fmt: skip
    assert bars.layer.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert set(bars.count.tolist()) == {1}


def test_streams_that_share_a_wire_are_one_bar() -> None:
    bars = gantt(streamed()).bars
    here = np.flatnonzero(bars.kind == BarKind.STREAM)
    assert rows_of(bars.start[here], bars.end[here], bars.count[here]) == [(2, 12, 2)]


def test_a_tensor_for_several_cores_takes_a_wire_once() -> None:
    schedule = two_rows()
    rows = np.append(np.arange(len(schedule.transfers)), len(schedule.transfers) - 1)
    broadcast = replace(schedule, transfers=chosen(schedule.transfers, rows))
    bars = gantt(broadcast).bars
    assert rows_of(bars.start[-1:], bars.end[-1:], bars.count[-1:]) == [(48, 50, 2)]
    wires = {x.name: x.total for x in wire_traffic(broadcast)}
    loads = {x.wire.name: x for x in wire_loads(broadcast)}
    assert wires["1 -> 9"] == loads["1 -> 9"].bits == 48
    assert (loads["1 -> 9"].transfers, loads["1 -> 9"].busy) == (4, 6)
    assert {x.name: x.total for x in core_traffic(broadcast)}["1 -> 9"] == 64


def test_idle_times_have_reasons() -> None:
    found = stalls(two_rows())
    assert rows_of(found.row, found.start, found.end, found.reason, found.node) == [
        (0, 0, 2, T, 0), (0, 12, 14, T, 1), (0, 24, 26, T, 2), (0, 36, 50, N, -1),
        (1, 0, 12, P, 3), (1, 12, 14, T, 3), (1, 24, 26, T, 4), (1, 36, 38, T, 5),
        (1, 48, 50, N, -1),
    ]  # fmt: skip
    assert [(x.core.id, x.nodes, x.busy) for x in core_loads(two_rows())] == [
        (0, 3, 30),
        (1, 3, 30),
    ]
    assert idle_cycles(two_rows()).tolist() == [[0, 6, 0, 14], [12, 6, 0, 2]]


def waits(schedule: Schedule) -> list[tuple[int, ...]]:
    """When and why core 0 waits for its second node."""
    found = stalls(schedule)
    here = (found.row == 0) & (found.node == 1)
    return rows_of(found.start[here], found.end[here], found.reason[here])


def test_waiting_for_room() -> None:
    schedule = two_rows()
    start, begin = schedule.start.copy(), schedule.transfers.start.copy()
    start[1] += 6
    begin[2] += 4  # its image is sent from 16 to 18
    sent = replace(schedule.transfers, start=begin, end=begin + 2)
    later = replace(schedule, start=start, end=start + 10, transfers=sent)
    assert waits(later) == [(12, 16, M), (16, 18, T), (18, 20, M)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(TransferKind.RESULT, [(12, 17, T)]), (TransferKind.EVICTION, [(12, 15, M), (15, 17, T)])],
)
def test_waiting_for_wires(kind: TransferKind, expected: list[tuple[int, int, int]]) -> None:
    """The first image keeps the wire of the second one; what is evicted meanwhile makes room."""
    schedule = two_rows()
    sent = schedule.transfers
    start, begin, ends = schedule.start.copy(), sent.start.copy(), sent.end.copy()
    kinds, node = sent.kind.copy(), sent.node.copy()
    begin[2], ends[2], start[1], ends[0] = 15, 17, 17, 15
    kinds[-1], node[-1] = kind, 1
    sent = replace(sent, start=begin, end=ends, kind=kinds, node=node)
    assert waits(replace(schedule, start=start, transfers=sent)) == expected


def test_the_critical_path_goes_back_from_the_last_end() -> None:
    chart = gantt(two_rows())
    path = chart.critical
    c, a, r, n = BarKind.CONSTANT, BarKind.ACTIVATION, BarKind.RESULT, BarKind.NODE
    assert rows_of(path.kind, path.start, path.end, path.cause) == [
        (c, 0, 2, Cause.START), (n, 2, 12, Cause.DATA), (c, 12, 14, Cause.MEMORY),
        (n, 14, 24, Cause.DATA), (c, 24, 26, Cause.MEMORY), (n, 26, 36, Cause.DATA),
        (a, 36, 38, Cause.DATA), (n, 38, 48, Cause.DATA), (r, 48, 50, Cause.DATA),
    ]  # fmt: skip
    assert chart.path_rows.tolist() == [3, 0, 3, 0, 3, 0, 2, 1, 5]


def test_nodes_that_follow_each_other_are_critical_for_their_core() -> None:
    schedule = two_rows()
    start = ints([2, 12, 22, 14, 26, 38])
    path = gantt(replace(schedule, start=start, end=ints([12, 22, 36, 24, 36, 48]))).critical
    nodes = path.kind == BarKind.NODE
    causes = rows_of(path.event[nodes], path.cause[nodes])
    assert causes == [(0, Cause.DATA), (1, Cause.CORE), (2, Cause.CORE), (5, Cause.DATA)]


def test_memories_over_time() -> None:
    first, second, off = memory_uses(two_rows())
    assert (first.home.name, first.home.cores, first.capacity, first.offchip) == (
        "buffer",
        (0,),
        400,
        False,
    )
    assert off.offchip
    assert (first.peak, second.peak) == (32, 48)
    assert rows_of(first.times, first.bits)[:5] == [(0, 16), (2, 32), (12, 32), (14, 32), (24, 32)]
    assert first.bits[-1] == second.bits[-1] == 0
    assert off.bits[-1] == (3 + 1 + 3) * 16  # images, weights, results


def test_wires_over_time() -> None:
    uses = {use.row.name: use for use in wire_uses(streamed(), bins=5)}
    assert {name: use.busy for name, use in uses.items()} == {
        "9 -> 0": 16, "9 -> 1": 2, "1 -> 9": 6, "0 -> 1": 6,
    }  # fmt: skip
    use = uses["9 -> 0"]
    assert use.edges.tolist() == [0, 10, 20, 30, 40, 50]
    assert use.cycles[BarKind.CONSTANT].tolist() == [2, 2, 2, 0, 0]
    assert use.cycles[BarKind.STREAM].tolist() == [5, 2, 0, 0, 0]  # half the width, twice
    assert use.shares[BarKind.STREAM].tolist() == [0.5, 0.2, 0, 0, 0]


def test_bits_that_are_sent() -> None:
    wires = {x.name: x.bits for x in wire_traffic(streamed())}
    assert wires == {
        "9 -> 0": (0, 48, 0, 0, 0, 56),
        "9 -> 1": (0, 16, 0, 0, 0, 0),
        "0 -> 1": (0, 0, 48, 0, 0, 0),
        "1 -> 9": (0, 0, 0, 0, 48, 0),
    }
    assert {x.name: x.bits for x in core_traffic(streamed())} == wires


def test_energy_of_layers() -> None:
    schedule = two_rows()
    bars = layer_energy_bars(schedule)
    parts = {part.label: part.values for part in bars.parts}
    assert parts["computation"] == (15.0, 15.0)
    assert parts["constants: memories"] == (9.0, 3.0)
    assert parts["activations: channels"] == (1.5, 0.0)
    assert parts["results: memories"] == (0.0, 9.0)
    assert "evictions: channels" not in parts
    assert sum(bars.totals) == schedule.energy.total == 65.0
    assert sum(schedule.energy.parts.values()) == 65.0


def test_narrow_bars_are_drawn_together() -> None:
    chart = gantt(two_rows(), cells=2)  # a cell has 25 cycles, all bars are narrower
    assert [spans(chart.bars, row) for row in range(6)] == [
        [(2, 24), (26, 36)], [(14, 24), (26, 48)], [(12, 26), (36, 38)],
        [(0, 26)], [(12, 14)], [(24, 26), (36, 50)],
    ]  # fmt: skip
    assert chart.bars.count.tolist() == [2, 1, 1, 2, 2, 1, 3, 1, 1, 2]
    assert spans(gantt(two_rows(), cells=50).bars, 0) == [(2, 12), (14, 24), (26, 36)]


def test_what_takes_most_of_a_bar_gives_it_its_look() -> None:
    chart = gantt(pipelined(6, 2, 2), cells=1)
    here = chart.bars.row == 0
    assert rows_of(chart.bars.kind[here], chart.bars.layer[here], chart.bars.count[here]) == [
        (BarKind.NODE, 0, 6)
    ]


def test_steps_keep_their_extremes() -> None:
    times = np.arange(1000, dtype=np.int64)
    bits = (times * 37) % 101
    kept_times, kept = downsample_steps(times, bits, 1000, 10)
    assert len(kept_times) <= 44
    assert (kept.max(), kept.min(), kept_times[-1]) == (100, 0, 999)
    assert len(downsample_steps(times[:40], bits[:40], 1000, 10)[0]) == 40


def test_layers_of_several_charts_are_numbered_together() -> None:
    first, second = align_layers([gantt(two_rows()), gantt(pipelined(3, 2, 2))])
    assert first.layers == second.layers == ("n0", "n1", "n2")
    small = without_wires(second)
    assert [row.kind for row in small.rows].count(RowKind.WIRE) == 0
    assert set(small.bars.kind.tolist()) == {BarKind.NODE, BarKind.CONSTANT, BarKind.RESULT}
    assert small.path_rows.max() < len(small.rows)


@pytest.mark.parametrize("layers", [1, 6, 7, 12, 13, 60, 100])
def test_layers_have_different_colours(layers: int) -> None:
    colors = layer_colors(layers, range(layers))
    assert len(set(colors)) == len(colors) == layers
    assert all(len(color) == 7 for color in colors)


def test_layers_in_a_legend_have_distinguishable_shades() -> None:
    """However close they are to each other among all layers."""
    named = [3, 4, 5, 9, 10, 11, 12, 57]
    colors = layer_colors(60, named)
    tones = [brightness(colors[layer]) for layer in named]
    assert all(one - other > 0.04 for one, other in pairwise(tones))
    assert not {colors[layer] for layer in named} & {
        color for layer, color in enumerate(colors) if layer not in named
    }


def test_neighbours_among_very_many_layers_have_different_colours() -> None:
    colors = layer_colors(1000, range(0, 1000, 125))
    assert all(one != other for one, other in pairwise(colors))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bus 0, 1, 2, 3 -> 5", "bus 0\u20133 \u2192 5"),
        ("bus 0, 1, 4, 6, 7, 8", "bus 0, 1, 4, 6\u20138"),
        ("12 -> 3", "12 → 3"),
    ],
)
def test_cores_in_a_row_are_a_range(name: str, expected: str) -> None:
    assert core_ranges(name) == expected


def test_a_search_as_points() -> None:
    view = front_view(search())
    assert view.numbers == (0, 1, 2, 3, 4)
    assert len(view.allocations) == 15  # the last of each generation cannot be scheduled
    assert view.generation.tolist() == [i // 3 for i in range(15)]
