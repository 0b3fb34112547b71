"""Charts a schedule: a row for each core and channel over time, with zoom."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.comparison import align_layers, without_wires
from nestmap.pipeline.analysis.schedule.downsample import downsample_bars
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.analysis.schedule.tables import NONE, BarKind, Gantt, GanttBars, Ints, RowKind
from nestmap.pipeline.analysis.schedule.traffic import streamed_bits
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import count, cycles
from nestmap.pipeline.format.palette import Look, tone
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.labels import STALL_LABELS, layer_colors, row_name
from nestmap.pipeline.render.charts.schedule.time_axis import (
    is_narrow,
    shown_length,
    time_axis,
    window,
    within,
)
from nestmap.pipeline.render.charts.vega_spec import Row

# --- the bars of the Gantt chart as tables: few for the whole time, more for zooming in ---

MOST_BARS: Final = 4000
"""The approximate number of bars drawn at the same time."""

MOST_KEPT: Final = 14000
"""The maximum number of bars in a page; beyond it, the narrowest are merged."""


class Levels(NamedTuple):
    """The bars for the whole time, and those for zooming in; ``None``: the same ones.

    The finer ones are drawn if less than ``fine_below`` cycles are shown.
    """

    coarse: GanttBars
    fine: GanttBars | None = None
    fine_below: float = 0.0


def levels(bars: GanttBars, latency: int) -> Levels:
    """Bars at two levels of detail, few enough to draw and to store in the page."""
    if len(bars) <= MOST_BARS:
        return Levels(bars)
    fine = _fewer(bars, latency, MOST_KEPT)
    return Levels(_fewer(bars, latency, MOST_BARS), fine, latency * MOST_BARS / len(fine))


def _fewer(bars: GanttBars, latency: int, most: int) -> GanttBars:
    """At most ``most`` bars, or the fewest that a single cell allows."""
    found, cells = bars, most
    while len(found) > most and cells:
        found, cells = downsample_bars(bars, max(latency, 1), cells), cells * 2 // 3
    return found


def bar_rows(schedule: Schedule, bars: GanttBars, *, fine: bool) -> Iterator[Row]:
    """The bars as a table; ``fine`` marks those for zooming in."""
    bits, node, ends = _details(schedule, bars)
    columns = (bars.row, bars.start, bars.end, bars.kind, bars.layer, bars.count, node, bits)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    for each, (sending, receiving) in zip(numbers, ends.tolist(), strict=True):
        row, start, end, kind, layer, count, number, size = each
        datum: dict[str, int] = {"row": row, "start": start, "end": end, "layer": layer}
        datum |= {"node": number, "kind": kind, "bits": size}
        if count > 1:
            datum["count"] = count
        if kind != BarKind.NODE:
            datum |= {"from": sending, "to": receiving}
        if fine:
            datum["fine"] = 1
        yield datum


def _details(schedule: Schedule, bars: GanttBars) -> tuple[Ints, Ints, Ints]:
    """Bits (of a node: its output), number of the node in its layer, source and target core."""
    sent, streams, tensors = schedule.transfers, schedule.streams, schedule.tensors
    bits, node = np.zeros(len(bars), dtype=np.int64), bars.event.copy()
    ends = np.zeros((len(bars), 2), dtype=np.int64)
    runs, flows = bars.kind == BarKind.NODE, bars.kind == BarKind.STREAM
    moves = ~runs & ~flows
    of = sent.tensor[bars.event[moves]]
    bits[runs], bits[moves] = tensors.bits[bars.event[runs]], tensors.bits[of]
    bits[flows] = streamed_bits(schedule)[bars.event[flows]]
    node[moves], node[flows] = tensors.node[of], streams.node[bars.event[flows]]
    for some, which in ((sent, moves), (streams, flows)):
        chosen = bars.event[which]
        ends[which] = np.stack((some.sending[chosen], some.receiving[chosen]), axis=1)
    first = schedule.problem.nodes.first_nodes
    return bits, node - first[np.searchsorted(first, node, side="right") - 1], ends


# --- idle times and the critical path for the Gantt chart ---

MOST_STALLS: Final = 1000
"""The maximum number of idle times shown, the longest ones."""

_CELLS: Final = 1500
"""Steps of the critical path on a row are merged if closer than one part in this number."""


def stall_rows(schedule: Schedule, found: Gantt) -> Iterator[Row]:
    """The longest idle times: core, duration, reason, and the waiting layer and node."""
    stalls, nodes = found.stalls, schedule.problem.nodes
    layers = {name: place for place, name in enumerate(found.layers)}
    lengths = stalls.end - stalls.start
    for place in sorted(np.argsort(-lengths, kind="stable")[:MOST_STALLS].tolist()):
        node = int(stalls.node[place])
        datum: dict[str, int] = {
            "row": int(stalls.row[place]),
            "start": int(stalls.start[place]),
            "end": int(stalls.end[place]),
            "reason": int(stalls.reason[place]),
        }
        if node != NONE:
            layer, number = nodes.layer_of(node)
            datum |= {"layer": layers[layer.nest.name], "node": number}
        yield datum


def critical_rows(found: Gantt) -> Iterator[Row]:
    """The rows and times of the steps of the critical path, with close ones merged."""
    path, spans = found.critical, dict[int, list[tuple[int, int]]]()
    columns = (found.path_rows.tolist(), path.start.tolist(), path.end.tolist())
    for row, start, end in zip(*columns, strict=True):
        if row != NONE:
            spans.setdefault(row, []).append((start, end))
    for row, some in spans.items():
        for start, end in _joined(some, found.latency / _CELLS):
            yield {"row": row, "start": start, "end": end}


def _joined(spans: Sequence[tuple[int, int]], gap: float) -> Iterator[tuple[int, int]]:
    """Spans by time, with those merged that have only a small gap between them."""
    ordered = sorted(spans)
    start, end = ordered[0]
    for first, last in ordered[1:]:
        if first - end > gap:
            yield start, end
            start, end = first, last
        end = max(end, last)
    yield start, end


# --- charts a schedule: a row for each core and channel over time, with zoom ---

MOST_NAMED: Final = 8
"""The maximum number of layers in the legend: those with the most busy cycles."""

_STEPS: Final = ((8, 30.0), (20, 22.0), (40, 18.0))
_SMALLEST: Final = 14.0
_BARS: Final = "bars"
_STALLS: Final = "stalls"
_CRITICAL: Final = "critical"
_ROWS: Final = "rows"
_SHORT: Final = "short"
_LAYERS: Final = "layers"
_KINDS: Final = "kinds"
_REASONS: Final = "reasons"

_WORDS: Final = {
    BarKind.NODE: "runs",
    BarKind.CONSTANT: "constants sent",
    BarKind.ACTIVATION: "output sent",
    BarKind.EVICTION: "evicted",
    BarKind.RESULT: "result sent",
    BarKind.STREAM: "streamed",
}


def gantt_chart(schedule: Schedule) -> Chart:
    """A row for each core and each channel in use; bars have the colours of layers.

    The narrowest of many bars are merged until the user zooms in. A line below bars is the critical
    path.
    """
    found = gantt(schedule)
    return _drawn("schedule", "Schedule", schedule, found, _named_layers([found]))


def gantt_charts(named: Sequence[tuple[str, Schedule]]) -> tuple[Chart, ...]:
    """Named schedules on the same time axis, with equal layer colours.

    Channels between cores are left out.
    """
    found = align_layers([without_wires(gantt(schedule)) for _, schedule in named])
    longest, legend = max(chart.latency for chart in found), _named_layers(found)
    shown = [replace(chart, latency=longest) for chart in found]
    return tuple(
        _drawn(f"schedule-{place}", vega.plain(name), schedule, chart, legend)
        for place, ((name, schedule), chart) in enumerate(zip(named, shown, strict=True), start=1)
    )


def _drawn(name: str, title: str, schedule: Schedule, found: Gantt, named: Sequence[int]) -> Chart:
    drawn = levels(found.bars, schedule.latency)
    fine = () if drawn.fine is None else bar_rows(schedule, drawn.fine, fine=True)
    data = {
        _BARS: [*bar_rows(schedule, drawn.coarse, fine=False), *fine],
        _STALLS: [*stall_rows(schedule, found)],
        _CRITICAL: [*critical_rows(found)],
    }
    rows = [shortened(vega.plain(row_name(row))) for row in found.rows]
    summary = _summary(schedule, found, drawn)
    chart: vega.Spec = {**_chart(found, drawn, named), "description": summary}
    longest = vega.letters((shortened(vega.plain(found.layers[i])) for i in named), rows)
    text = vega.spec_text(chart, data, longest, time=found.latency)
    return Chart(name=name, title=title, summary=summary, spec=text)


def _named_layers(charts: Sequence[Gantt]) -> list[int]:
    """The layers in the legend of charts with the same layers, in their order."""
    busy = np.zeros(len(charts[0].layers))
    for bars in (chart.bars for chart in charts):
        runs = bars.kind == BarKind.NODE
        spans = (bars.end - bars.start)[runs]
        busy += np.bincount(bars.layer[runs], weights=spans, minlength=len(busy))
    return sorted(np.argsort(-busy, kind="stable")[:MOST_NAMED].tolist())


def _chart(found: Gantt, drawn: Levels, named: Sequence[int]) -> vega.Spec:
    rows = len(found.rows)
    step = next((step for most, step in _STEPS if rows <= most), _SMALLEST)
    names = [vega.plain(row_name(row)) for row in found.rows]
    place = {**time_axis(found.latency, "top" if rows > 15 else "bottom"), "y": _rows(rows)}
    bars = vega.main_view(_bars(found, drawn, named, place))
    return {
        "layer": [_stalls(found, place), bars, _critical(found, step, place)],
        "params": [
            *vega.in_main_view(vega.picked("layer"), window()),
            vega.parameter(vega.DARK, value=False),
            vega.parameter(_ROWS, names),
            vega.parameter(_SHORT, [shortened(name) for name in names]),
            vega.parameter(_LAYERS, [vega.plain(name) for name in found.layers]),
            vega.parameter(_KINDS, list(_WORDS.values())),
            vega.parameter(_REASONS, list(STALL_LABELS.values())),
        ],
        "height": step * rows,
    }


def _rows(count_: int) -> vega.Spec:
    names: vega.Spec = {
        "title": None,
        "labelExpr": f"{_SHORT}[datum.value]",
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
        "grid": True,
    }
    scale: vega.Spec = {"domain": list(range(count_)), "paddingInner": 0.2, "paddingOuter": 0.1}
    return vega.ordinal("row", {"axis": names, "scale": scale})


def _bars(found: Gantt, drawn: Levels, named: Sequence[int], place: vega.Spec) -> vega.Spec:
    fine = is_narrow(found.latency, drawn.fine_below)
    return vega.unit_view(
        _BARS,
        {"type": "bar", "clip": True},
        {
            **place,
            "color": _colors(found, named),
            "opacity": vega.faded(),
            "strokeWidth": vega.either(_thin(found), 0, 0.5),
            "description": vega.described(),
            "tooltip": [
                vega.shown("place", "on"),
                vega.shown("of", "layer and node"),
                vega.shown("what"),
                vega.shown("begin", "start"),
                vega.shown("finish", "end"),
                vega.shown("runtime"),
                vega.shown("size", "output or sent"),
            ],
        },
        [
            {"filter": within(found.latency)},
            {"filter": f"datum.fine ? {fine} : {_coarse(drawn, fine)}"},
            *vega.calculated(
                {
                    "place": f"{_ROWS}[datum.row]",
                    "what": f"{_KINDS}[datum.kind] + (isValid(datum.from) ? "
                    "' from core ' + datum.from + ' to ' + datum.to : '')",
                    "of": f"{_LAYERS}[datum.layer] + ' ' + datum.node"
                    " + (datum.count > 1 ? ' and ' + (datum.count - 1) + ' more' : '')",
                    "begin": vega.exact("start", "cycles"),
                    "finish": vega.exact("end", "cycles"),
                    "runtime": "format(datum.end - datum.start, ',') + ' cycles'",
                    "size": "datum.count > 1 ? '' : format(datum.bits, ',') + ' bit'",
                    "aria": "datum.place + ': ' + datum.of + ' ' + datum.what + ', '"
                    " + datum.begin + ' to ' + datum.finish",
                }
            ),
        ],
    )


def _thin(found: Gantt) -> str:
    """An expression: whether a bar is too narrow to show more than its outline."""
    return f"(datum.end - datum.start) * width < 4 * ({shown_length(found.latency)})"


def _coarse(drawn: Levels, fine: str) -> str:
    """An expression: whether the bars for the whole time are drawn."""
    return "true" if drawn.fine is None else f"!({fine})"


def _colors(found: Gantt, named: Sequence[int]) -> vega.Spec:
    tones = [tone(Look(color)) for color in layer_colors(len(found.layers), named)]
    scale: vega.Spec = {
        "domain": list(range(len(tones))),
        "range": [vega.color_of(x) for x in tones],
    }
    names: vega.Spec = {**vega.legend(), "labelExpr": f"{_LAYERS}[datum.value]", "values": named}
    return vega.nominal("layer", {"scale": scale, "legend": names})


def _stalls(found: Gantt, place: vega.Spec) -> vega.Spec:
    """Idle times of cores, in a faint text colour."""
    faint: vega.Spec = {"style": vega.INK, "aria": False, "strokeOpacity": 0, "opacity": 0.07}
    told = [
        vega.shown("place", "idle"),
        vega.shown("why"),
        vega.shown("of", "next node"),
        vega.shown("length", "idle for"),
    ]
    return vega.unit_view(
        _STALLS,
        {"type": "rect", "clip": True, **faint},
        {**place, "tooltip": told},
        [
            {"filter": within(found.latency)},
            *vega.calculated(
                {
                    "place": f"{_ROWS}[datum.row]",
                    "why": f"{_REASONS}[datum.reason]",
                    "of": f"isValid(datum.layer) ? {_LAYERS}[datum.layer] + ' ' + datum.node : ''",
                    "length": "format(datum.end - datum.start, ',') + ' cycles'",
                }
            ),
        ],
    )


def _critical(found: Gantt, step: float, place: vega.Spec) -> vega.Spec:
    """A line below the steps of the critical path."""
    line: vega.Spec = {"style": vega.INK, "aria": False, "height": 2.5, "yOffset": 0.45 * step}
    mark: vega.Spec = {"type": "rect", "clip": True, **line, "tooltip": None}
    return vega.unit_view(_CRITICAL, mark, place, [{"filter": within(found.latency)}])


def _summary(schedule: Schedule, found: Gantt, drawn: Levels) -> str:
    """The contents of the chart, the utilization of the cores, and the legend."""
    kinds = Counter(row.kind for row in found.rows)
    spans = schedule.end - schedule.start
    latency = max(schedule.latency, 1)
    shares = {
        row.number: int(spans[schedule.core == row.number].sum()) / latency
        for row in found.rows
        if row.kind is RowKind.CORE
    }
    busiest = max(shares, key=lambda core: shares[core])
    layers = len(schedule.problem.nodes.layers)
    text = (
        f"{count(len(schedule.core))} nodes of {count(layers)} layers on "
        f"{kinds[RowKind.CORE]} cores in {cycles(schedule.latency)} cycles; core {busiest} is "
        f"busy for {shares[busiest]:.1%} of them, the cores together for "
        f"{sum(shares.values()) / len(shares):.1%}. Grey: a core is idle. A line below bars: the "
        "critical path."
    )
    if drawn.fine is not None:
        text += " Bars too narrow to be seen are drawn together until you zoom in."
    return text
