"""Places labels at points, as many as fit without overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from nestmap.pipeline.format.palette import MUTED
from nestmap.pipeline.render.figures.matplotlib_types import Place, Plot
from nestmap.pipeline.render.figures.style import SMALL, lay_out

Floats = npt.NDArray[np.float64]

_DIRECTIONS: Final = (
    (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1),
)  # fmt: skip
_DISTANCES: Final = (5.0, 10.0, 16.0, 24.0)
_POINT: Final = 2.5
_APART: Final = 1.2
_STEPS: Final = 12


class Label(NamedTuple):
    """A text and the point that it labels, in data coordinates."""

    x: float
    y: float
    text: str


@final
class _Taken:
    """The occupied areas, in pixels: boxes, and lines from labels to their points."""

    def __init__(self, points: Floats, half: float) -> None:
        self._boxes: Floats = np.hstack([points - half, points + half])
        self._lines: Floats = np.empty((0, 2))

    def has_room(self, box: Bbox, point: Place) -> bool:
        """Whether a label in that box, with its line to the point, overlaps nothing."""
        left, low, right, high = self._boxes.T
        if np.any((left < box.x1) & (right > box.x0) & (low < box.y1) & (high > box.y0)):
            return False
        x, y = point
        others = self._boxes[(left > x) | (right < x) | (low > y) | (high < y)]
        line = _line(box, point)
        return not (_any_inside(line, others) or _any_inside(self._lines, np.array([box.extents])))

    def take(self, box: Bbox, point: Place) -> None:
        """Marks the box as occupied by a label."""
        self._boxes = np.vstack([self._boxes, box.extents])
        self._lines = np.vstack([self._lines, _line(box, point)])


def place_labels(
    figure: Figure, axes: Plot, labels: Sequence[Label], points: Sequence[Place]
) -> int:
    """Draws labels in order of priority if they fit; returns the number drawn.

    Labels do not cover ``points``. This lays the figure out: nothing that moves the axes may be
    added afterwards.
    """
    lay_out(figure)
    scale = figure.dpi / 72
    pixels = axes.transData.transform(np.array(points, np.float64).reshape(-1, 2))
    taken = _Taken(pixels, _POINT * scale)
    return sum(_is_placed(axes, label, taken, scale) for label in labels)


def _is_placed(axes: Plot, label: Label, taken: _Taken, scale: float) -> bool:
    """Puts a label at the first free position, if any."""
    pixel_x, pixel_y = axes.transData.transform((label.x, label.y))
    point = (float(pixel_x), float(pixel_y))
    text = _annotation(axes, label)
    size = text.get_window_extent()
    for box in _boxes(point, size, scale):
        if _is_inside(box, axes.bbox) and taken.has_room(box, point):
            text.set_position(
                ((box.x0 + _APART * scale - point[0]) / scale,
                 (box.y0 + _APART * scale - point[1]) / scale)
            )  # fmt: skip
            taken.take(box, point)
            return True
    text.remove()
    return False


def _annotation(axes: Plot, label: Label) -> Annotation:
    text = axes.annotate(
        label.text,
        (label.x, label.y),
        xytext=(0, 0),
        textcoords="offset points",
        va="bottom",
        fontsize=SMALL - 0.5,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-", "color": MUTED, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2,
        },
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.3},
        zorder=5,
    )  # fmt: skip
    text.set_in_layout(False)
    return text


def _boxes(point: Place, size: Bbox, scale: float) -> Iterator[Bbox]:
    """Boxes for a text of that size around a point, near ones first."""
    x, y = point
    for distance in _DISTANCES:
        for right, up in _DIRECTIONS:
            left = x + right * distance * scale - (1 - right) * size.width / 2
            bottom = y + up * distance * scale - (1 - up) * size.height / 2
            box = Bbox.from_bounds(left, bottom, size.width, size.height)
            yield box.padded(_APART * scale)


def _line(box: Bbox, point: Place) -> Floats:
    """Points along the line from the middle of a label to its point."""
    middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    shares = np.linspace(0, 1, _STEPS + 2)[1:-1, None]
    line: Floats = middle + shares * (np.array(point) - middle)
    return line


def _any_inside(points: Floats, boxes: Floats) -> bool:
    """Whether any of the points is in any of the boxes."""
    x, y = points[:, 0, None], points[:, 1, None]
    left, low, right, high = boxes.T
    return bool(np.any((left < x) & (x < right) & (low < y) & (y < high)))


def _is_inside(box: Bbox, frame: Bbox) -> bool:
    return bool(
        frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    )
