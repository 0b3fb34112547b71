"""Charts the recorded mappings of a layer: energy over latency, Pareto front, chosen mapping."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from nestmap.model import CostModelEvaluation, front_rows
from nestmap.pipeline.analysis.network.scatter import Cloud, Floats, equal_costs, is_wide
from nestmap.pipeline.format.numbers import cycles_unit, energy_unit
from nestmap.pipeline.format.palette import CANDIDATES, Look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.alt_text import mappings_text
from nestmap.pipeline.render.charts.chart import Chart

MOST_POINTS: Final = 2000
"""The maximum number of points drawn; of more points, one in each cell of a grid."""

FRONT: Final = "Pareto front"
CHOSEN: Final = "chosen mapping"

_CELLS: Final = 45
_MOST_COLORS: Final = 5
_OTHERS: Final = Look("#8f8f8f")
_HEIGHT: Final = 400
_STAR: Final = (
    "M0,-1L0.235,-0.324L0.951,-0.309L0.38,0.124L0.588,0.809L0,0.4L-0.588,0.809L-0.38,0.124"
    "L-0.951,-0.309L-0.235,-0.324Z"
)
_MAPPINGS: Final = "mappings"
_FRONT: Final = "front"
_LABELS: Final = "labels"
_TOLD: Final = (vega.shown("energy"), vega.shown("latency"))

Rows = npt.NDArray[np.intp]


class _Costs(NamedTuple):
    """All mappings: energies (pJ), latencies (cycles), and the cloud of each."""

    energy: Floats
    latency: Floats
    cloud: Rows


class _Shown(NamedTuple):
    """The mappings that are drawn, and the number that each represents."""

    rows: Rows
    counts: Rows


def mappings_chart(
    name: str, found: Sequence[Cloud], title: str, chosen: CostModelEvaluation | None = None
) -> Chart:
    """Energy and latency of all mappings, coloured by spatial mapping, with their Pareto front.

    A point represents all mappings of the same cost; above :data:`MOST_POINTS` mappings, also those
    of similar cost. The front is always complete.
    ``name`` and ``title`` are those of the chart; ``chosen`` is marked with a star.

    Raises:
        ValueError: if there are none.
    """
    if not found:
        raise ValueError("no mapping was evaluated; expected at least one")
    costs = _costs(found)
    front = front_rows(costs.energy, costs.latency)
    drawn = _sampled(costs)
    summary = mappings_text(found, len(front), len(drawn.rows))
    data = {
        _MAPPINGS: list(_points(costs, drawn)),
        _FRONT: [*({**_place(costs, row), "kind": FRONT} for row in front), *_star(chosen)],
    }
    labels = _labels(found)
    chart = _chart(costs, labels, starred=chosen is not None)
    text = vega.spec_text({**chart, "description": summary}, data, vega.letters(labels))
    return Chart(name=name, title=title, summary=summary, spec=text)


def _costs(found: Sequence[Cloud]) -> _Costs:
    return _Costs(
        energy=np.concatenate([cloud.energy for cloud in found]),
        latency=np.concatenate([cloud.latency for cloud in found]),
        cloud=np.repeat(np.arange(len(found)), [len(cloud.energy) for cloud in found]),
    )


def _sampled(costs: _Costs) -> _Shown:
    """A mapping of each cost, or the one with the least energy in each cell of a grid."""
    if len(costs.energy) <= MOST_POINTS:
        return _Shown(*equal_costs(costs.cloud, costs.latency, costs.energy))
    cells = _cells(costs.latency) * _CELLS + _cells(costs.energy)
    order = np.lexsort((costs.latency, costs.energy, cells))
    _, first, counts = np.unique(cells[order], return_index=True, return_counts=True)
    return _Shown(order[first], counts)


def _cells(values: Floats) -> Rows:
    """The cell of each value along an axis."""
    scaled = np.log(values) if is_wide(values) else values
    low, high = scaled.min(), scaled.max()
    places: Floats = (scaled - low) / ((high - low) or 1.0) * _CELLS
    return np.minimum(places, _CELLS - 1).astype(np.intp)


def _points(costs: _Costs, drawn: _Shown) -> Iterator[vega.Row]:
    for row, count in zip(drawn.rows, drawn.counts, strict=True):
        cloud = min(int(costs.cloud[row]), _MOST_COLORS)
        yield {**_place(costs, row), "cloud": cloud, "count": int(count)}


def _place(costs: _Costs, row: np.intp) -> vega.Row:
    return {"x": float(costs.latency[row]), "y": float(costs.energy[row])}


def _star(chosen: CostModelEvaluation | None) -> Iterator[vega.Row]:
    if chosen is not None:
        yield {"x": float(chosen.latency), "y": chosen.energy, "kind": CHOSEN}


def _labels(found: Sequence[Cloud]) -> list[str]:
    """The spatial mappings with a colour of their own, and the number of others."""
    labels = [vega.plain(cloud.name) or "none" for cloud in found[:_MOST_COLORS]]
    more = len(found) - _MOST_COLORS
    return [*labels, f"{more} more spatial mappings"] if more > 0 else labels


def _chart(costs: _Costs, labels: Sequence[str], *, starred: bool) -> vega.Spec:
    """Mappings, the front above them, and the chosen one on it."""
    place = cost_axes(costs.latency, costs.energy)
    line: vega.Spec = {
        "interpolate": "step-after",
        "clip": True,
        "style": vega.INK,
        "strokeWidth": 1.2,
    }
    only: vega.Spec = {"filter": f"datum.kind === '{FRONT}'"}
    front = vega.unit_view(_FRONT, {"type": "line", **line, "aria": False}, place, [only])
    constants = (vega.parameter(vega.DARK, value=False), vega.parameter(_LABELS, labels))
    return {
        "layer": [vega.main_view(_cloud(labels, place)), front, _front(place, starred=starred)],
        "params": [*vega.in_main_view(vega.picked("label"), vega.zoom()), *constants],
        "height": _HEIGHT,
    }


def _cloud(labels: Sequence[str], place: vega.Spec) -> vega.Spec:
    looks = [Look(CANDIDATES[i]) if i < _MOST_COLORS else _OTHERS for i in range(len(labels))]
    return vega.unit_view(
        _MAPPINGS,
        {"type": "point", "filled": True, "clip": True, "size": 22},
        {
            **place,
            "color": vega.nominal(
                "label", {"scale": vega.scale_of(labels, looks), "legend": vega.legend()}
            ),
            "opacity": vega.faded(0.6),
            "description": vega.described(),
            "tooltip": [
                vega.shown("label", "spatial mapping"),
                *_TOLD,
                vega.shown("count", "mappings it stands for"),
            ],
        },
        _calculated({"label": f"{_LABELS}[datum.cloud]", "kind": "'mapping'"}),
    )


def _front(place: vega.Spec, *, starred: bool) -> vega.Spec:
    """The front, and the chosen mapping as a star."""
    kinds = [FRONT, CHOSEN] if starred else [FRONT]
    return vega.unit_view(
        _FRONT,
        {"type": "point", "filled": True, "clip": True, "style": vega.OUTLINED, "opacity": 1},
        {
            **place,
            "shape": starred_shape(kinds),
            "size": vega.either(f"datum.kind === '{CHOSEN}'", 320, 50),
            "color": {"value": "#ffffff"},
            "description": vega.described(),
            "tooltip": [vega.shown("kind", "mapping"), *_TOLD],
        },
        _calculated({}),
    )


def _calculated(more: Mapping[str, str]) -> list[vega.Spec]:
    """The texts of the costs, which tooltips and screen readers tell."""
    costs = vega.calculated(
        {"energy": vega.exact("y", "pJ"), "latency": vega.exact("x", "cycles"), **more}
    )
    return [
        *costs,
        *vega.calculated({"aria": "datum.kind + ': ' + datum.energy + ', ' + datum.latency"}),
    ]


def starred_shape(kinds: Sequence[str]) -> vega.Spec:
    """Circles for the first kind of marks, a star for the second one, if any."""
    scale: vega.Spec = {"domain": kinds, "range": ["circle", _STAR][: len(kinds)]}
    below: vega.Spec = {"title": None, "orient": "bottom", "direction": "horizontal"}
    return vega.nominal("kind", {"scale": scale, "legend": below})


def cost_axes(latency: Floats, energy: Floats) -> vega.Spec:
    """The channels of marks at their energy (pJ) over their latency (cycles)."""
    across, up = cycles_unit(float(latency.max())), energy_unit(float(energy.max()))
    x, y = (
        vega.cost_axis(latency)("Latency", across, "bottom"),
        vega.cost_axis(energy)("Energy", up, "left"),
    )
    return {
        "x": vega.quantitative("x", {"scale": vega.cost_scale(latency), "axis": x}),
        "y": vega.quantitative("y", {"scale": vega.cost_scale(energy), "axis": y}),
    }
