"""What the colours of a Gantt chart mean: kinds above it, layers below, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nestmap.pipeline.analysis.schedule.tables import BarKind, Gantt, StallReason
from nestmap.pipeline.format.palette import INK, Look
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.schedule.colors import (
    KIND_LABELS,
    KIND_LOOKS,
    STALL_LABELS,
    STALL_LOOKS,
    layer_colors,
)
from nestmap.pipeline.render.figures.text_metrics import short_name

_LINE: Final = 0.155
"""The height of a line of a legend (inches)."""

_LETTERS: Final = 155
"""The letters of a line, with those whose room a coloured field and the gaps take."""

_FIELD: Final = 6
_LONGEST: Final = 30
_MOST_LAYERS: Final = 120


Field = tuple[str, Look]
"""What a look means, and the look."""


def kinds_height(charts: Sequence[Gantt]) -> float:
    """Inches that the legend of kinds takes."""
    return _height(_kinds(charts))


def draw_kinds(axes: Plot, charts: Sequence[Gantt]) -> None:
    """What is sent, why cores are idle, and the critical path: what there is of them."""
    handles = _kinds(charts)
    _put(axes, handles, _flowing(handles))


def fields_height(fields: Sequence[Field]) -> float:
    """Inches that a legend of fields takes."""
    return _height([_field(*field) for field in fields])


def draw_fields(axes: Plot, fields: Sequence[Field]) -> None:
    """What colours mean, in a line or two."""
    handles = [_field(*field) for field in fields]
    _put(axes, handles, _flowing(handles))


def _height(handles: Sequence[Artist]) -> float:
    return -(-len(handles) // _flowing(handles)) * _LINE + 0.02


def _flowing(handles: Sequence[Artist]) -> int:
    """Columns: all beside each other if there is room, else in two lines."""
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
    """Inches that the legend of layers takes."""
    shown = min(len(layers), _MOST_LAYERS)
    return -(-shown // _columns(layers)) * _LINE + 0.15


def draw_layers(axes: Plot, layers: Sequence[str]) -> None:
    """The number, the name and the colour of each layer; of very many the first ones."""
    handles = [
        _field(label, Look(color))
        for label, color in zip(
            _labels(layers), layer_colors(len(layers))[:_MOST_LAYERS], strict=True
        )
    ]
    if len(layers) > _MOST_LAYERS:
        handles[-1] = _field(f"and {len(layers) - _MOST_LAYERS + 1} more", Look("#ffffff"))
    _put(axes, handles, _columns(layers))


def _put(axes: Plot, handles: Sequence[Artist], columns: int) -> None:
    """A legend alone on its axes."""
    axes.set_axis_off()
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(0, 1), handles=handles, ncols=columns, borderpad=0.1
    )
    legend.set_in_layout(False)  # there is room, if not quite as much as the layout asks for


def _labels(layers: Sequence[str]) -> list[str]:
    return [f"{i} {short_name(name, _LONGEST)}" for i, name in enumerate(layers[:_MOST_LAYERS])]


def _columns(layers: Sequence[str]) -> int:
    """As many columns as the longest name lets stand side by side."""
    longest = max(map(len, _labels(layers)), default=1)
    return max(1, min(len(layers), _LETTERS // (longest + _FIELD)))


def _field(label: str, look: Look) -> Patch:
    edge = "#555555" if look.hatch else "white"
    return Patch(facecolor=look.color, hatch=look.hatch, edgecolor=edge, linewidth=0.3, label=label)
