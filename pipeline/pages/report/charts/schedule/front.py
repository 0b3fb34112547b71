"""Charts the search for allocations: all found, and the Pareto front by generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import altair as alt
import numpy as np

from nestmap.model.multicore.allocation import Allocation, AllocationSpace
from nestmap.pipeline.analysis.schedule.tables import FrontView
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import count, cycles, energy_text
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.charts.mappings import STAR, energy_axis, latency_axis
from nestmap.pipeline.pages.report.charts.vega_spec import (
    DARK,
    INK,
    OUTLINED,
    Row,
    described,
    exact,
    letters,
    parameter,
    shown,
    spec_text,
    unvalidated,
    zoom,
)

MOST_POINTS: Final = 1500
"""The maximum number of allocations drawn: all on a front, and some of the others."""

MOST_FRONTS: Final = 6
"""The number of generations whose fronts are drawn as lines."""

OTHER: Final = "allocation"
FRONT: Final = "on the last front"
REPORTED: Final = "reported schedule"

_LETTERS: Final = 240
"""The maximum number of letters of an allocation in a tooltip."""

_HEIGHT: Final = 380
_POINTS: Final = "points"
_FRONTS: Final = "fronts"
_SELECTED: Final = "selected"
_ALLOCATION: Final = "allocation"


@unvalidated
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
    data = {
        _POINTS: [*_points(view, space, chosen, reported)],
        _FRONTS: [*_fronts(view)],
    }
    summary = _summary(view, len(chosen))
    chart = _chart(view).properties(description=summary)
    text = spec_text(chart, data, letters((FRONT, REPORTED)))
    title = "Allocations: energy and latency"
    return Chart(name="allocations", title=title, summary=summary, spec=text)


def allocation_text(allocation: Allocation, space: AllocationSpace) -> str:
    """The cores of each layer with a choice, by its number: ``0: core 1; 4: cores 2 0 2``."""
    pairs = zip(space.groups, allocation, strict=True)
    some = ((gene.layer, core) for gene, core in pairs if len(gene.cores) > 1)
    texts: list[str] = []
    for layer, group in groupby(some, key=lambda pair: pair[0]):
        cores = [core for _, core in group]
        texts.append(f"{layer}: {_cores_text(cores)}")
    return "; ".join(texts) or "no layer has a choice"


def _cores_text(cores: Sequence[int]) -> str:
    if len(set(cores)) == 1:
        return f"core {cores[0]}"
    return f"cores {' '.join(map(str, cores))}"


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
) -> Iterator[Row]:
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


def _fronts(view: FrontView) -> Iterator[Row]:
    """The fronts of some generations: the first, the last and some between them."""
    last = len(view.fronts) - 1
    for place in sorted({round(float(x)) for x in np.linspace(0, last, MOST_FRONTS)}):
        for point in map(int, view.fronts[place]):
            yield {
                "x": int(view.latency[point]),
                "y": float(view.energy[point]),
                "generation": view.numbers[place],
            }


def _chart(view: FrontView) -> alt.LayerChart:
    across, up = latency_axis(view.latency.astype(np.float64)), energy_axis(view.energy)
    layers = (_lines(view), _allocations(view), _marked())
    placed = [layer.encode(x=across, y=up) for layer in layers]
    return (
        alt.LayerChart(layer=[*placed, _written()])
        .add_params(parameter(DARK, value=False))
        .properties(width="container", height=_HEIGHT)
    )


def _generation(view: FrontView) -> alt.Color:
    last = max(*view.numbers, *view.generation.tolist(), 1)
    return alt.Color(
        field="generation",
        type="quantitative",
        scale=alt.Scale(domain=[0, last], range=[_old(), _new()], interpolate="hcl"),
        legend=alt.Legend(title="Generation", orient="top", direction="horizontal", tickCount=3),
    )


def _old() -> alt.ExprRef:
    """The colour of the first generation."""
    return alt.ExprRef(f"{DARK} ? '#59636e' : '#bccad8'")


def _new() -> alt.ExprRef:
    """The colour of the last one."""
    return alt.ExprRef(f"{DARK} ? '#b5defa' : '#00466f'")


def _lines(view: FrontView) -> alt.Chart:
    """The fronts of some generations."""
    mark = alt.MarkDef(
        type="line", interpolate="step-after", clip=True, strokeWidth=1.4, opacity=0.8, aria=False
    )
    return alt.Chart(alt.NamedData(_FRONTS), mark=mark).encode(
        color=_generation(view), detail=alt.Detail(field="generation", type="nominal")
    )


def _allocations(view: FrontView) -> alt.Chart:
    selected = alt.selection_point(
        name=_SELECTED, fields=["x", "y", _ALLOCATION], on="click", empty=False
    )
    return (
        _plot(alt.MarkDef(type="point", filled=True, clip=True, opacity=0.75))
        .transform_filter(f"datum.kind === '{OTHER}'")
        .encode(color=_generation(view), size=_size(36))
        .add_params(selected, zoom())
    )


def _marked() -> alt.Chart:
    """Those on the last front, and the reported one as a star."""
    mark = alt.MarkDef(type="point", filled=True, clip=True, style=OUTLINED, opacity=1)
    scale = alt.Scale(domain=[FRONT, REPORTED], range=["circle", STAR])
    below = alt.Legend(title=None, orient="bottom", direction="horizontal")
    return (
        _plot(mark)
        .transform_filter(f"datum.kind !== '{OTHER}'")
        .encode(
            shape=alt.Shape(field="kind", type="nominal", scale=scale, legend=below),
            size=_size(alt.expr(f"datum.kind === '{REPORTED}' ? 320 : 60")),
            color=alt.value("#ffffff"),
        )
    )


def _size(usual: float | alt.ExprRef) -> alt.SizeValue:
    """The selected point is larger."""
    return alt.SizeValue(usual, condition={"param": _SELECTED, "empty": False, "value": 220})


def _plot(mark: alt.MarkDef) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(_POINTS), mark=mark)
        .transform_calculate(energy=exact("y", "pJ"), latency=exact("x", "cycles"))
        .transform_calculate(
            aria="datum.kind + ', generation ' + datum.generation + ': ' + datum.energy + ', ' + "
            "datum.latency",
            peaks=exact("memory", "bit"),
        )
        .encode(
            description=described(),
            tooltip=[
                shown("latency"),
                shown("energy"),
                shown("peaks", "peaks of memories on the chip"),
                shown("generation"),
                shown(_ALLOCATION, "layers and their cores"),
            ],
        )
    )


def _written() -> alt.Chart:
    """The selected allocation as text above the points."""
    mark = alt.MarkDef(
        type="text",
        align="left",
        baseline="top",
        x=4,
        y=2,
        style=INK,
        strokeWidth=0,
        limit=alt.ExprRef("width - 8"),
    )
    text = "datum.latency + ', ' + datum.energy + '. ' + datum.allocation"
    return (
        alt.Chart(alt.NamedData(_POINTS), mark=mark)
        .transform_filter({"param": _SELECTED, "empty": False})
        .transform_calculate(energy=exact("y", "pJ"), latency=exact("x", "cycles"))
        .transform_calculate(text=text)
        .encode(text=alt.Text(field="text", type="nominal"))
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
