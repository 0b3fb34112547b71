"""Charts of the parameters of a sweep: the objectives over each, and what each is worth."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    check_not_empty,
    dominated_shown,
    labelled,
    objective_title,
)
from nestmap.pipeline.analysis.sweep.importance import Importance, importances
from nestmap.pipeline.analysis.sweep.parallel_axes import shown_ticks
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import PERCENT, count
from nestmap.pipeline.format.palette import run_look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.bars import Drawing, Exact, grouped_chart
from nestmap.pipeline.render.charts.chart import WIDTH, Chart
from nestmap.pipeline.render.charts.sweep import DOMINATED, FRONT, LOOKS

MOST_POINTS: Final = 500
"""The largest number of dominated designs in a panel."""

_IN_A_ROW: Final = 4
_HEIGHT: Final = 130
_LETTERS: Final = 88
"""How many letters the values at the axes of a row of panels have room for."""


def importance_chart(view: DesignsView) -> Chart:
    """How much each parameter decides whether a design is among the best by each objective.

    Parameters are in the order of their largest importance. See
    :func:`~nestmap.pipeline.analysis.sweep.importance.importances`.

    Raises:
        InputError: if Optuna is not installed, there are too few designs, or no parameter differs.
        InfeasibleError: if no design is feasible.
    """
    found = [x for x in importances(view) if x.shares is not None]
    if not found:
        where = f"importances of the parameters of {view.name}"
        raise InputError(where, "objectives that are the same for all designs", "one that differs")
    order = sorted(range(len(view.parameters)), key=lambda n: -max(_shares(x)[n] for x in found))
    parts = (
        Part(objective_title(x.objective), run_look(i), tuple(_shares(x)[n] for n in order))
        for i, x in enumerate(found)
    )
    bars = Bars(tuple(view.parameters[n].name for n in order), tuple(parts))
    best = f"the best {count(ceil(found[0].best * view.designs))} of {count(view.designs)} designs"
    return grouped_chart(
        Drawing(
            name="importance",
            title=f"Importance of parameters for {best}",
            summary=f"Most important: {vega.plain(bars.names[0])}.",
            of="parameter",
            quantity="Importance",
            unit=PERCENT,
            exact=Exact.SHARE,
            bars=bars,
        )
    )


def _shares(found: Importance) -> tuple[float, ...]:
    return found.shares or ()


def parameters_chart(view: DesignsView) -> Chart:
    """Each objective over each parameter: a panel for each pair, with a line of the lowest values.

    Values of a parameter stand at equal distances in their order.

    Raises:
        InfeasibleError: if no design is feasible.
        InputError: if no parameter differs between the designs.
    """
    check_not_empty(view)
    if not view.parameters:
        found = "no parameter that differs between the designs"
        raise InputError(f"parameters of {view.name}", found, "one or more")
    data: dict[str, list[vega.Row]] = {}
    rows: list[vega.Spec] = []
    for n, objective in enumerate(view.objectives):
        panels: list[vega.Spec] = []
        for place, column in enumerate(view.parameters):
            name = f"panel-{n}-{place}"
            data[name] = list(_points(view, column, objective))
            data[f"{name}-lowest"] = list(_lowest(column, objective))
            panels.append(_panel(name, view, column, objective))
        rows.append({"concat": panels, "columns": _IN_A_ROW})
    names = ", ".join(vega.plain(x.name) for x in view.parameters)
    summary = f"{count(view.designs)} designs by their objectives, over {names}."
    chart: vega.Spec = {
        "vconcat": rows,
        "params": [vega.parameter(vega.DARK, value=False)],
        "description": summary,
    }
    text = vega.spec_text(chart, data, vega.letters((FRONT, DOMINATED)))
    return Chart(name="parameters", title="Objectives by parameter", summary=summary, spec=text)


def _points(
    view: DesignsView, column: ParameterColumn, objective: ObjectiveColumn
) -> Iterator[vega.Row]:
    """The designs of a panel, the front last: above the others."""
    dominated: list[int] = dominated_shown(view, MOST_POINTS).places.tolist()
    front: list[int] = view.front_places.tolist()
    for n in (*dominated, *front):
        kind = FRONT if view.on_front[n] else DOMINATED
        yield {"x": int(column.places[n]), "y": float(objective.values[n]), "kind": kind}


def _lowest(column: ParameterColumn, objective: ObjectiveColumn) -> Iterator[vega.Row]:
    for x in range(len(column.values)):
        yield {"x": x, "y": float(objective.values[column.places == x].min())}


def _panel(
    name: str, view: DesignsView, column: ParameterColumn, objective: ObjectiveColumn
) -> vega.Spec:
    across = min(_IN_A_ROW, len(view.parameters))
    label, unit = labelled(objective)
    # of one panel among several no expression knows the height, from which ticks are counted
    axis: vega.Spec = {
        **vega.cost_axis(objective.values)(label, unit, "left"),
        "title": label,
        "tickCount": 4,
    }
    place: vega.Spec = {
        "x": _values(column, across),
        "y": vega.quantitative("y", {"scale": vega.cost_scale(objective.values), "axis": axis}),
    }
    colors = vega.scale_of((DOMINATED, FRONT), LOOKS)
    looks: vega.Spec = {
        "color": vega.nominal("kind", {"scale": colors, "legend": vega.legend()}),
        "size": vega.either(f"datum.kind === '{FRONT}'", 45, 15),
    }
    points = vega.unit_view(name, {"type": "point", "filled": True}, {**place, **looks})
    line = vega.unit_view(
        f"{name}-lowest", {"type": "line", "style": vega.INK, "strokeWidth": 1}, place
    )
    return {"layer": [points, line], "width": WIDTH // across - 60, "height": _HEIGHT}


def _values(column: ParameterColumn, across: int) -> vega.Spec:
    """The axis of a parameter: as many of its values as there is room for."""
    ticks = shown_ticks(column, _LETTERS // across)
    longest = max(4, _LETTERS // across // len(ticks))
    texts = [shortened(vega.plain(column.labels[x]), longest) for x in ticks]
    labels: list[str] = [""] * len(column.values)
    for x, text in zip(ticks, texts, strict=True):
        labels[x] = text
    written: vega.Spec = {
        "title": shortened(vega.plain(column.name), 20),
        "values": ticks,
        "labelExpr": f"{labels!r}[datum.value]",
        "labelOverlap": False,
        "labelAngle": 0,
        "grid": False,
    }
    scale: vega.Spec = {"domain": [-0.5, len(column.values) - 0.5], "nice": False}
    return vega.quantitative("x", {"scale": scale, "axis": written})
