"""Which of many dominated rows of a sweep are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nestmap.pipeline.analysis.sweep.designs_view import DesignsView, Places
from nestmap.pipeline.format.numbers import count


class Dominated(NamedTuple):
    """The dominated designs that are drawn, and what the legend says of them."""

    places: Places
    label: str


def dominated_shown(view: DesignsView, most: int) -> Dominated:
    """The dominated designs, or of more than ``most`` some at equal distances."""
    places = np.flatnonzero(~view.on_front)
    if len(places) <= most:
        return Dominated(places, f"dominated ({count(len(places))})")
    some = places[np.linspace(0, len(places) - 1, most).astype(np.intp)]
    return Dominated(some, f"dominated ({count(len(some))} of {count(len(places))})")
