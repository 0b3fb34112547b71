"""Charts of schedules show the numbers of their views, few enough of them, under every name."""

import json
import re
from collections import Counter
from functools import cache

import altair as alt
import numpy as np
import pytest

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.schedule.energy import energy_bars
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.analysis.schedule.names import allocation_text
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads
from nestmap.pipeline.analysis.schedule.search_progress import front_view
from nestmap.pipeline.analysis.schedule.traffic import wire_traffic
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import bits_unit
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.render.charts import Chart
from nestmap.pipeline.render.charts.bars import Drawing, Exact, stacked_chart
from nestmap.pipeline.render.charts.schedule.front import MOST_POINTS, front_chart
from nestmap.pipeline.render.charts.schedule.gantt import (
    MOST_BARS,
    MOST_KEPT,
    gantt_chart,
    gantt_charts,
    levels,
)
from nestmap.pipeline.render.charts.schedule.totals import (
    energies_chart,
    layers_chart,
    loads_chart,
    sent_charts,
    times_chart,
)
from nestmap.pipeline.render.charts.schedule.utilization import (
    memory_chart,
    overview_chart,
    wire_chart,
)
from tests.pipeline.pages.report.multicore.streams import NAMES, generations, hostile, large
from tests.pipeline.render.charts.read import bars_of, constants, expressions, rows_of, spec_of
from tests.pipeline.render.schedules import pipelined, streamed


@cache
def charts() -> tuple[Chart, ...]:
    """All charts of a schedule under names that are hard to show, and of two schedules."""
    schedule = hostile()
    pair = [(NAMES[0], schedule), (NAMES[1], pipelined(5, 1, 3))]
    found = (memory_chart(schedule), wire_chart(schedule))
    return (
        overview_chart(schedule),
        gantt_chart(schedule),
        *(chart for chart in found if chart is not None),
        energies_chart([NAMES[0]], [schedule.energy]),
        layers_chart(schedule),
        loads_chart(schedule),
        *sent_charts(schedule),
        front_chart(front_view(generations(schedule)), schedule.problem.space, schedule.allocation),
        *gantt_charts(pair),
        times_chart(pair),
    )


def test_every_specification_is_vega_lite_and_asks_for_nothing() -> None:
    for chart in charts():
        spec = spec_of(chart)
        assert "$schema" not in spec
        assert not re.search(r"https?:|\"url\"", chart.spec)
        kind = alt.LayerChart if "layer" in spec else alt.Chart
        kind.from_json(chart.spec)  # validates
        assert spec["description"] == chart.summary


def test_no_name_is_in_an_expression() -> None:
    for chart in charts():
        found = list(expressions(spec_of(chart)))
        assert found
        assert not any(name in text for name in NAMES for text in found)


def test_the_same_schedule_gives_the_same_charts() -> None:
    assert gantt_chart(hostile()) == gantt_chart(hostile())


@pytest.mark.parametrize("schedule", [streamed(), hostile()], ids=["streams", "hostile"])
def test_the_bars_are_those_of_the_view(schedule: Schedule) -> None:
    chart, found = gantt_chart(schedule), gantt(schedule)
    columns = (found.bars.row, found.bars.start, found.bars.end, found.bars.layer)
    expected = Counter(zip(*(column.tolist() for column in columns), strict=True))
    rows = rows_of(chart, "bars")
    assert Counter((x["row"], x["start"], x["end"], x["layer"]) for x in rows) == expected
    assert constants(chart)["layers"][-1] == schedule.problem.nodes.layers[-1].nest.name
    idle = sum(row["end"] - row["start"] for row in rows_of(chart, "stalls"))
    cores = len(schedule.problem.accelerator.compute_cores)
    busy = int((schedule.end - schedule.start).sum())
    assert busy + idle == cores * schedule.latency


def test_nodes_tell_their_number_and_the_bits_of_their_output() -> None:
    schedule = streamed()
    rows = [row for row in rows_of(gantt_chart(schedule), "bars") if row["kind"] == 0]
    assert sorted((row["layer"], row["node"]) for row in rows) == [
        (layer, node) for layer in range(2) for node in range(3)
    ]
    assert {row["bits"] for row in rows} == {16}
    streams = [row for row in rows_of(gantt_chart(schedule), "bars") if "count" in row]
    assert [(row["from"], row["to"], row["count"]) for row in streams] == [(9, 0, 2)]


def test_the_critical_path_is_on_its_rows() -> None:
    schedule = pipelined(2, 3, 2)
    rows = rows_of(gantt_chart(schedule), "critical")
    path = gantt(schedule).critical
    assert sum(row["end"] - row["start"] for row in rows) == int((path.end - path.start).sum())


def test_of_many_bars_few_are_drawn_and_not_all_are_kept() -> None:
    bars = gantt(large()).bars
    few, all_of_them = (levels(x, large().latency) for x in (bars, gantt(streamed()).bars))
    assert few.fine is not None
    assert len(few.coarse) <= MOST_BARS < len(few.fine) <= MOST_KEPT
    assert few.coarse.count.sum() == few.fine.count.sum() == bars.count.sum()
    assert few.fine_below < large().latency
    assert all_of_them.fine is None
    assert all_of_them.coarse.count.tolist() == gantt(streamed()).bars.count.tolist()


def test_compared_schedules_have_one_axis_and_the_same_colours() -> None:
    one, other = pipelined(3, 2, 2), pipelined(5, 4, 2)
    first, second = gantt_charts([("one", one), ("other", other)])
    assert constants(first)["layers"] == constants(second)["layers"] == [f"n{i}" for i in range(5)]
    longest = max(one.latency, other.latency)
    assert all(f'"time":{longest}' in chart.spec for chart in (first, second))


def test_memories_are_as_full_as_the_view_says() -> None:
    schedule = hostile()
    chart = memory_chart(schedule)
    assert chart is not None
    uses = [use for use in memory_uses(schedule) if not use.offchip]
    for row, use in enumerate(uses):
        cells = [x for x in rows_of(chart, "cells") if x["row"] == row]
        assert max(x["value"] for x in cells) == use.peak
        held = sum(x["value"] * (x["end"] - x["start"]) for x in cells)
        until = np.append(use.times[1:], schedule.latency)
        assert held == int((use.bits * (until - use.times)).sum())
    tops = [row["top"] for row in rows_of(chart, "cells")]
    assert all(0 <= top <= len(uses) for top in tops)


def test_the_overview_has_all_busy_cycles() -> None:
    schedule = pipelined(5, 4, 3)
    cells = rows_of(overview_chart(schedule), "cells")
    busy = sum(x["value"] * (x["end"] - x["start"]) for x in cells)
    assert busy == pytest.approx(int((schedule.end - schedule.start).sum()), rel=1e-3)


def test_wires_are_taken_as_long_as_transfers_are() -> None:
    schedule = pipelined(5, 4, 3)
    chart = wire_chart(schedule)
    assert chart is not None
    cells = rows_of(chart, "cells")
    taken = sum(x["value"] * (x["end"] - x["start"]) for x in cells)
    lengths = schedule.transfers.end - schedule.transfers.start
    assert taken == pytest.approx(int(lengths.sum()), rel=1e-3)


def test_sums_are_those_of_the_views() -> None:
    schedule = hostile()
    spent = bars_of(energies_chart(["all"], [schedule.energy]))
    parts = energy_bars(["all"], [schedule.energy]).parts
    assert spent == {("all", part.label): part.values[0] for part in parts}
    assert sum(bars_of(layers_chart(schedule)).values()) == pytest.approx(schedule.energy.total)
    times = bars_of(loads_chart(schedule))
    loads = core_loads(schedule)
    assert [times[f"core {x.core.id}: {x.core.name}", "busy"] for x in loads] == [
        x.busy for x in loads
    ]
    assert sum(times.values()) == len(loads) * schedule.latency
    wires = bars_of(sent_charts(schedule)[0])
    assert sum(wires.values()) == sum(x.total for x in wire_traffic(schedule))


@pytest.mark.parametrize("largest", [8.0, 3e4, 5.5e6, 8.0 * 2**20, 1.7e8, 3e12])
def test_axes_of_bits_have_round_numbers_of_their_unit(largest: float) -> None:
    bars = Bars(("core",), (Part("sent", Look("#777777"), (largest,)),))
    unit = bits_unit(largest)
    chart = stacked_chart(Drawing("sent", "Sent", "", "core", "Data", unit, Exact.BITS, bars))
    (ticks,) = re.findall(r'"values": ?(\[[0-9., e+]*\])', chart.spec)
    whole = [x / unit.divisor for x in json.loads(ticks)]
    assert 3 <= len(whole) <= 7
    assert re.fullmatch(r"[125]e.*", f"{whole[1]:.0e}")
    assert whole == pytest.approx([n * whole[1] for n in range(len(whole))])
    assert largest / unit.divisor - whole[-1] < whole[1]


def test_nothing_is_drawn_of_what_is_not_there() -> None:
    schedule = pipelined(2, 1, 1)
    assert memory_chart(schedule) is not None
    view = front_view(())
    with pytest.raises(ValueError, match="no allocation"):
        front_chart(view, schedule.problem.space)


def test_the_front_is_drawn_and_the_reported_one_is_marked() -> None:
    schedule = hostile()
    found = generations(schedule)
    view, space = front_view(found), schedule.problem.space
    chart = front_chart(view, space, schedule.allocation)
    rows = rows_of(chart, "points")
    assert len(rows) == len(view.allocations) <= MOST_POINTS
    (own,) = (row for row in rows if str(row["kind"]) == "reported schedule")
    assert (own["x"], own["y"]) == (schedule.latency, schedule.energy.total)
    assert str(own["allocation"]) == allocation_text(schedule.allocation, space)
    fronts = rows_of(chart, "fronts")
    assert {row["generation"] for row in fronts} == {x.number for x in found}


def test_an_allocation_in_words() -> None:
    schedule = pipelined(2, 3, 2)
    assert allocation_text((0, 1), schedule.problem.space) == "0: core 0; 1: core 1"
    alone = pipelined(2, 3, 1)
    assert allocation_text((0, 0), alone.problem.space) == "no layer has a choice"
