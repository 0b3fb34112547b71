"""The style of all matplotlib figures: fonts, lines, sizes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from threading import RLock
from typing import Final, Protocol

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nestmap.pipeline.format.palette import GRID, INK, MUTED
from nestmap.pipeline.render.figures.matplotlib_types import page_of

WIDTH: Final = 7.2
"""The width of a figure (inches): two columns of a paper."""

SMALL: Final = 6.5
NORMAL: Final = 8.0
"""Font sizes (points)."""

_STYLE: Final[dict[str, object]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so it is the same everywhere
    "font.size": NORMAL,
    "text.parse_math": False,  # $ and _ in names are literal
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": NORMAL,
    "axes.titlesize": NORMAL,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.2,
    "legend.handleheight": 0.9,
    "legend.columnspacing": 1.0,
    "legend.borderaxespad": 0.2,
    "hatch.linewidth": 0.5,
    "figure.titlesize": NORMAL + 1,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "savefig.dpi": 200.0,
    "svg.hashsalt": "nestmap",  # the same figure gives the same file
    "pdf.fonttype": 42,  # keeps text as text
}

_ONE_AT_A_TIME: Final = RLock()
_meanwhile: _Settings = import_module("matplotlib").rc_context
_DEFAULTS: Final[dict[str, object]] = {
    name: value
    for name, value in import_module("matplotlib").rcParamsDefault.items()
    if name != "backend"  # does not affect figures on a screen
}


class _Settings(Protocol):
    """The part of ``matplotlib.rc_context`` in use."""

    def __call__(self, rc: Mapping[str, object]) -> AbstractContextManager[None]: ...


@contextmanager
def styled() -> Generator[None]:
    """Applies nestmap's figure style, regardless of the user's matplotlibrc.

    Matplotlib's settings belong to the whole process, so one figure is drawn at a time.
    """
    with _ONE_AT_A_TIME, _meanwhile(_DEFAULTS | _STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size (inches) with automatic layout.

    Its canvas keeps a renderer: matplotlib otherwise makes one for each text that is measured, and
    measures the same text again with it.
    """
    return FigureCanvasAgg(Figure(figsize=(width, height), layout="constrained")).figure


def lay_out(figure: Figure) -> None:
    """Moves the parts of a figure to where they will be drawn."""
    engine = figure.get_layout_engine()
    assert engine is not None, "new_figure gives it one"
    engine.execute(figure)


def set_title(figure: Figure, title: str) -> None:
    """Puts a title at the top left of a figure."""
    page_of(figure).suptitle(title, x=0.01, ha="left", fontweight="bold")
