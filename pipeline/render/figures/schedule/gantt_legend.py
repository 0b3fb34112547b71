"""Draws the legends of a Gantt chart: kinds above it, layers below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nestmap.pipeline.analysis.schedule.looks import KIND_LOOKS, STALL_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, Gantt, StallReason
from nestmap.pipeline.format.palette import INK, Look
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.schedule.colors import (
    KIND_LABELS,
    STALL_LABELS,
    layer_colors,
)
from nestmap.pipeline.render.figures.text_metrics import short_name

_LINE: Final = 0.155
"""The height of a line of a legend (inches)."""

_LETTERS: Final = 155
"""The letters that fit a line, including the width of coloured fields and gaps in letters."""

_FIELD: Final = 6
_LONGEST: Final = 30
_MOST_LINES: Final = 6
"""The maximum number of lines of the legend of layers."""


Field = tuple[str, Look]
"""A label and its look."""


def kinds_height(charts: Sequence[Gantt]) -> float:
    """The height (inches) of the legend of kinds."""
    return _height(_kinds(charts))


def draw_kinds(axes: Plot, charts: Sequence[Gantt]) -> None:
    """The kinds of transfers, stall reasons and critical path that occur in the charts."""
    handles = _kinds(charts)
    _put(axes, handles, _flowing(handles))


def fields_height(fields: Sequence[Field]) -> float:
    """The height (inches) of a legend of fields."""
    return _height([_field(*field) for field in fields])


def draw_fields(axes: Plot, fields: Sequence[Field]) -> None:
    """The meaning of colours, in one or two lines."""
    handles = [_field(*field) for field in fields]
    _put(axes, handles, _flowing(handles))


def _height(handles: Sequence[Artist]) -> float:
    return -(-len(handles) // _flowing(handles)) * _LINE + 0.02


def _flowing(handles: Sequence[Artist]) -> int:
    """The number of columns: all in one line if they fit, else in two."""
    letters = sum(len(str(handle.get_label())) + _FIELD for handle in handles)
    return max(1, len(handles) if letters <= _LETTERS else -(-len(handles) // 2))


def _kinds(charts: Sequence[Gantt]) -> list[Artist]:
    kinds = {kind for chart in charts for kind in chart.bars.kind.tolist()} - {BarKind.NODE}
    reasons = {reason for chart in charts for reason in chart.stalls.reason.tolist()}
    reasons -= {StallReason.NOTHING}
    sent = (BarKind(kind) for kind in sorted(kinds))
    idle = (StallReason(reason) for reason in sorted(reasons))
    return [
        *(_field(KIND_LABELS[kind], KIND_LOOKS[kind]) for kind in sent),
        *(_field(STALL_LABELS[reason], STALL_LOOKS[reason]) for reason in idle),
        Line2D([], [], color=INK, linewidth=1.6, label="critical path"),
    ]


def layers_height(layers: Sequence[str]) -> float:
    """The height (inches) of the legend of layers."""
    return min(-(-len(layers) // _columns(layers)), _MOST_LINES) * _LINE + 0.15


def draw_layers(axes: Plot, charts: Sequence[Gantt]) -> None:
    """The number, name and colour of each layer; of very many, those that take most time."""
    layers = charts[0].layers
    labels, colors = _labels(layers), layer_colors(len(layers))
    shown = _shown_layers(charts)
    handles = [_field(labels[i], Look(colors[i])) for i in shown]
    if len(shown) < len(layers):
        handles.append(_field(f"and {len(layers) - len(shown)} shorter", Look("#ffffff")))
    _put(axes, handles, _columns(layers))


def _shown_layers(charts: Sequence[Gantt]) -> list[int]:
    """The layers in the legend: all, or as many of those with the longest bars as fit."""
    layers = charts[0].layers
    most = _MOST_LINES * _columns(layers)
    if len(layers) <= most:
        return list(range(len(layers)))
    taken = np.zeros(len(layers))
    for chart in charts:
        bars = chart.bars
        runs = bars.kind == BarKind.NODE
        times = (bars.end - bars.start)[runs]
        taken += np.bincount(bars.layer[runs], weights=times, minlength=len(layers))
    longest = np.argsort(-taken, kind="stable")[: most - 1]
    return sorted(longest.tolist())


def _put(axes: Plot, handles: Sequence[Artist], columns: int) -> None:
    """A legend alone on its axes."""
    axes.set_axis_off()
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(0, 1), handles=handles, ncols=columns, borderpad=0.1
    )
    legend.set_in_layout(False)  # it fits, though with less space than the layout asks for


def _labels(layers: Sequence[str]) -> list[str]:
    return [f"{i} {short_name(name, _LONGEST)}" for i, name in enumerate(layers)]


def _columns(layers: Sequence[str]) -> int:
    """As many columns as the longest name allows."""
    longest = max(map(len, _labels(layers)), default=1)
    return max(1, min(len(layers), _LETTERS // (longest + _FIELD)))


def _field(label: str, look: Look) -> Patch:
    edge = "#555555" if look.hatch else "white"
    return Patch(facecolor=look.color, hatch=look.hatch, edgecolor=edge, linewidth=0.3, label=label)
