"""Charts the search for allocations: all found, and the Pareto front by generation."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from nestmap.model.multicore.allocation import Allocation, AllocationSpace
from nestmap.pipeline.analysis.schedule.names import allocation_text
from nestmap.pipeline.analysis.schedule.tables import FrontView
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import count, cycles, energy_text
from nestmap.pipeline.format.palette import Tone
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.mappings import cost_axes, starred_shape

MOST_POINTS: Final = 1500
"""The maximum number of allocations drawn: all on a front, and some of the others."""

MOST_FRONTS: Final = 6
"""The number of generations whose fronts are drawn as lines."""

OTHER: Final = "allocation"
FRONT: Final = "on the last front"
REPORTED: Final = "reported schedule"

_LETTERS: Final = 240
"""The maximum number of letters of an allocation in a tooltip."""

_OLD: Final = vega.color_of(Tone("#bccad8", "#59636e"))
_NEW: Final = vega.color_of(Tone("#00466f", "#b5defa"))
"""The colours of the first generation and of the last one."""

_HEIGHT: Final = 380
_POINTS: Final = "points"
_FRONTS: Final = "fronts"
_SELECTED: Final = "selected"
_ALLOCATION: Final = "allocation"


def front_chart(
    view: FrontView, space: AllocationSpace, reported: Allocation | None = None
) -> Chart:
    """Energy over latency of the allocations, coloured by generation, with fronts as lines.

    A click selects an allocation and shows its text. ``reported`` is marked with a star.

    Raises:
        ValueError: if no allocation is feasible.
    """
    if not view.allocations:
        raise ValueError("no allocation can be scheduled; expected at least one")
    chosen = _chosen(view)
    data = {_POINTS: [*_points(view, space, chosen, reported)], _FRONTS: [*_fronts(view)]}
    summary = _summary(view, len(chosen))
    chart: vega.Spec = {**_chart(view), "description": summary}
    text = vega.spec_text(chart, data, vega.letters((FRONT, REPORTED)))
    title = "Allocations: energy and latency"
    return Chart(name="allocations", title=title, summary=summary, spec=text)


def _chosen(view: FrontView) -> list[int]:
    """The individuals that are drawn: all that were on a front, and some others."""
    best = {int(place) for front in view.fronts for place in front}
    others = [place for place in range(len(view.allocations)) if place not in best]
    room = max(MOST_POINTS - len(best), 0)
    if len(others) > room:
        others = [others[int(i)] for i in np.linspace(0, len(others) - 1, room)]
    return sorted(best | set(others))


def _points(
    view: FrontView, space: AllocationSpace, chosen: Sequence[int], reported: Allocation | None
) -> Iterator[vega.Row]:
    last = set(_last(view))
    for place in chosen:
        allocation = view.allocations[place]
        row: dict[str, str | int | float] = {
            "x": int(view.latency[place]),
            "y": float(view.energy[place]),
            "memory": int(view.memory[place]),
            "generation": int(view.generation[place]),
            "kind": FRONT if place in last else OTHER,
            _ALLOCATION: shortened(allocation_text(allocation, space), _LETTERS),
        }
        yield row | ({"kind": REPORTED} if allocation == reported else {})


def _last(view: FrontView) -> list[int]:
    """The individuals on the last front."""
    return [int(place) for place in view.fronts[-1]] if view.fronts else []


def _fronts(view: FrontView) -> Iterator[vega.Row]:
    """The fronts of some generations: the first, the last and some between them."""
    last = len(view.fronts) - 1
    for place in sorted({round(float(x)) for x in np.linspace(0, last, MOST_FRONTS)}):
        for point in map(int, view.fronts[place]):
            yield {
                "x": int(view.latency[point]),
                "y": float(view.energy[point]),
                "generation": view.numbers[place],
            }


def _chart(view: FrontView) -> vega.Spec:
    place = cost_axes(view.latency.astype(np.float64), view.energy)
    allocations = vega.main_view(_allocations(view, place))
    fields = ["x", "y", _ALLOCATION]
    clicked: vega.Spec = {
        "name": _SELECTED,
        "select": {"type": "point", "fields": fields, "on": "click"},
    }
    return {
        "layer": [_lines(view, place), allocations, _marked(place), _written()],
        "params": [
            *vega.in_main_view(clicked, vega.zoom()),
            vega.parameter(vega.DARK, value=False),
        ],
        "height": _HEIGHT,
    }


def _generation(view: FrontView) -> vega.Spec:
    last = max(*view.numbers, *view.generation.tolist(), 1)
    return vega.quantitative(
        "generation",
        {
            "scale": {"domain": [0, last], "range": [_OLD, _NEW], "interpolate": "hcl"},
            "legend": {
                "title": "Generation",
                "orient": "top",
                "direction": "horizontal",
                "tickCount": 3,
            },
        },
    )


def _lines(view: FrontView, place: vega.Spec) -> vega.Spec:
    """The fronts of some generations."""
    line: vega.Spec = {
        "interpolate": "step-after",
        "clip": True,
        "strokeWidth": 1.4,
        "opacity": 0.8,
    }
    color: vega.Spec = {"color": _generation(view), "detail": vega.nominal("generation")}
    return vega.unit_view(_FRONTS, {"type": "line", **line, "aria": False}, {**place, **color})


def _allocations(view: FrontView, place: vega.Spec) -> vega.Spec:
    return vega.unit_view(
        _POINTS,
        {"type": "point", "filled": True, "clip": True, "opacity": 0.75},
        {**place, **_told(), "color": _generation(view), "size": _size(36)},
        [*_calculated(), {"filter": f"datum.kind === '{OTHER}'"}],
    )


def _marked(place: vega.Spec) -> vega.Spec:
    """Those on the last front, and the reported one as a star."""
    size = _size({"expr": f"datum.kind === '{REPORTED}' ? 320 : 60"})
    shape = starred_shape([FRONT, REPORTED])
    return vega.unit_view(
        _POINTS,
        {"type": "point", "filled": True, "clip": True, "style": vega.OUTLINED, "opacity": 1},
        {**place, **_told(), "shape": shape, "size": size, "color": {"value": "#ffffff"}},
        [*_calculated(), {"filter": f"datum.kind !== '{OTHER}'"}],
    )


def _size(usual: float | vega.Spec) -> vega.Spec:
    """The selected point is larger."""
    selected: vega.Spec = {"param": _SELECTED, "empty": False, "value": 220}
    return {"condition": selected, "value": usual}


def _costs() -> list[vega.Spec]:
    """The texts of the costs."""
    return vega.calculated({"energy": vega.exact("y", "pJ"), "latency": vega.exact("x", "cycles")})


def _calculated() -> list[vega.Spec]:
    """The texts that tooltips and screen readers tell."""
    aria = "datum.kind + ', generation ' + datum.generation + ': ' + datum.energy + ', ' + "
    return [
        *_costs(),
        *vega.calculated({"aria": f"{aria}datum.latency", "peaks": vega.exact("memory", "bit")}),
    ]


def _told() -> vega.Spec:
    tooltip = [
        vega.shown("latency"),
        vega.shown("energy"),
        vega.shown("peaks", "peaks of memories on the chip"),
        vega.shown("generation"),
        vega.shown(_ALLOCATION, "layers and their cores"),
    ]
    return {"description": vega.described(), "tooltip": tooltip}


def _written() -> vega.Spec:
    """The selected allocation as text above the points."""
    corner: vega.Spec = {"align": "left", "baseline": "top", "x": 4, "y": 2}
    width: vega.Spec = {"limit": {"expr": "width - 8"}}
    return vega.unit_view(
        _POINTS,
        {"type": "text", **corner, **width, "style": vega.INK, "strokeWidth": 0},
        {"text": vega.nominal("text")},
        [
            {"filter": {"param": _SELECTED, "empty": False}},
            *_costs(),
            *vega.calculated(
                {"text": "datum.latency + ', ' + datum.energy + '. ' + datum.allocation"}
            ),
        ],
    )


def _summary(view: FrontView, drawn: int) -> str:
    """The number of allocations, and the ends of the last front."""
    total, generations = len(view.allocations), len(view.numbers)
    front = _last(view)
    text = (
        f"{count(total)} different allocations in {count(generations)} "
        f"{'generation' if generations == 1 else 'generations'}, {count(len(front))} of them on "
        "the last front"
    )
    if front:
        fast = min(front, key=lambda place: view.latency[place])
        lean = min(front, key=lambda place: view.energy[place])
        text += ": " + " to ".join(
            f"{cycles(int(view.latency[x]))} cycles with {energy_text(float(view.energy[x]))}"
            for x in dict.fromkeys((fast, lean))
        )
    return f"{text}." + (f" {count(drawn)} are drawn." if drawn < total else "")
