"""What a figure shows once it is laid out: its texts, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from nestmap.pipeline.render.figures.matplotlib_types import page_of
from nestmap.pipeline.render.figures.style import styled

Shown = tuple[str, Bbox]

SLACK = 0.5
"""Pixels that boxes of letters may share: they are a little larger than what is seen."""


def texts(figure: Figure) -> list[Shown]:
    """All texts that are seen, with their boxes in pixels."""
    with styled():
        page_of(figure).draw_without_rendering()
    hidden = {id(text) for axes in figure.axes for text in _unseen(axes)}
    return [
        (text.get_text(), Text.get_window_extent(text))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]


def overlaps(found: Sequence[Shown]) -> list[tuple[str, str]]:
    """Texts that are on top of each other."""
    boxes = np.array([box.padded(-SLACK).extents for _, box in found])
    left, low, right, high = (boxes[:, i, None] for i in range(4))
    shared = (left < right.T) & (right > left.T) & (low < high.T) & (high > low.T)
    pairs = np.argwhere(np.triu(shared, 1))
    return [(found[int(a)][0], found[int(b)][0]) for a, b in pairs]


def cut_off(figure: Figure, found: Sequence[Shown]) -> list[str]:
    """Texts that are not all on the page."""
    page = figure.bbox.padded(SLACK)
    return [
        text
        for text, box in found
        if not (page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1))
    ]


def flaws(figure: Figure) -> list[str] | list[tuple[str, str]]:
    """Texts that cannot be read: on top of each other, or not on the page."""
    found = texts(figure)
    return overlaps(found) or cut_off(figure, found)


def _unseen(axes: Axes) -> Iterator[Text]:
    """The labels of ticks that are not drawn, because they lie outside of the axes."""
    for axis in (axes.xaxis, axes.yaxis):
        yield from _outside(axis, axes)


def _outside(axis: Axis, axes: Axes) -> Iterator[Text]:
    low, high = sorted(axis.get_view_interval())
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if not (axes.axison and low <= tick.get_loc() <= high):
            yield from (tick.label1, tick.label2)
