"""Types for the parts of matplotlib in use, whose keyword arguments have no types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Bbox, Transform
from numpy.typing import NDArray

Place = tuple[float, float]


class Drawn(Protocol):
    """An artist on a plot."""

    def set_rasterized(self, rasterized: bool) -> None:
        """Whether it is rasterized in vector files."""


class Spine(Protocol):
    """An edge of a plot."""

    def set_visible(self, b: bool) -> None:
        """Whether it is drawn."""


class Plot(Protocol):
    """A ``matplotlib.axes.Axes``; see matplotlib's documentation for details."""

    xaxis: Axis
    yaxis: Axis
    transData: Transform  # noqa: N815 (matplotlib's name)

    @property
    def bbox(self) -> Bbox: ...
    @property
    def spines(self) -> Mapping[str, Spine]: ...
    def get_xlim(self) -> Place: ...
    def get_xscale(self) -> str: ...
    def get_yscale(self) -> str: ...
    def set_axis_off(self) -> None: ...
    def set_xscale(self, value: str) -> object: ...
    def set_yscale(self, value: str) -> object: ...
    def set_xlim(self, left: float, right: float) -> object: ...
    def set_ylim(self, bottom: float, top: float) -> object: ...
    def set_xlabel(self, xlabel: str) -> object: ...
    def set_ylabel(self, ylabel: str) -> object: ...
    def set_xticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def set_yticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def grid(self, *, visible: bool, axis: str = ...) -> object: ...
    def tick_params(
        self, axis: str, *, length: float, labelleft: bool = ..., labelbottom: bool = ...
    ) -> object: ...
    def add_patch(self, p: Patch) -> object: ...
    def add_collection(self, collection: Collection, *, autolim: bool = ...) -> object: ...
    def get_legend_handles_labels(self) -> tuple[list[Artist], list[str]]: ...
    def legend(
        self,
        *,
        loc: str,
        bbox_to_anchor: Place,
        handles: Sequence[Artist] = ...,
        ncols: int = ...,
        borderpad: float = ...,
    ) -> Artist: ...
    def fill_between(  # noqa: PLR0913
        self,
        x: object,
        y1: object,
        y2: object = ...,
        *,
        step: str,
        facecolor: str,
        hatch: str = ...,
        label: str = ...,
        edgecolor: str = ...,
        linewidth: float,
    ) -> Drawn: ...
    def set_title(self, label: str, *, loc: str, fontsize: float, pad: float = ...) -> object: ...
    def barh(  # noqa: PLR0913 (matplotlib's arguments)
        self,
        y: Sequence[float],
        width: Sequence[float],
        *,
        height: float,
        left: Sequence[float] = ...,
        color: str,
        hatch: str,
        label: str,
        edgecolor: str,
        linewidth: Sequence[float],
    ) -> object: ...
    def plot(  # noqa: PLR0913
        self,
        x: object,
        y: object,
        /,
        *,
        color: str,
        linewidth: float,
        linestyle: str = ...,
        drawstyle: str = ...,
        marker: str = ...,
        markersize: float = ...,
        markerfacecolor: str = ...,
        markeredgecolor: str = ...,
        markeredgewidth: float = ...,
        label: str | None = ...,
        zorder: float = ...,
    ) -> object: ...
    def scatter(  # noqa: PLR0913
        self,
        x: object,
        y: object,
        *,
        s: float | NDArray[np.float64],
        facecolors: str,
        edgecolors: str,
        linewidths: float,
        alpha: float,
        label: str | None = ...,
        zorder: float = ...,
    ) -> Drawn: ...
    def text(  # noqa: PLR0913
        self,
        x: float,
        y: float,
        s: str,
        *,
        ha: str = ...,
        va: str = ...,
        fontsize: float = ...,
        fontweight: str = ...,
        color: str = ...,
        linespacing: float = ...,
        zorder: float = ...,
    ) -> Text: ...
    def annotate(  # noqa: PLR0913
        self,
        text: str,
        xy: Place,
        xytext: Place,
        *,
        textcoords: str = ...,
        va: str = ...,
        fontsize: float = ...,
        fontweight: str = ...,
        ha: str = ...,
        color: str = ...,
        annotation_clip: bool = ...,
        arrowprops: Mapping[str, str | float] = ...,
        bbox: Mapping[str, str | float] = ...,
        zorder: float = ...,
    ) -> Annotation: ...
    def pcolormesh(self, *args: object, cmap: str, norm: object) -> Drawn: ...


class ColorBar(Protocol):
    """A ``matplotlib.colorbar.Colorbar``."""

    @property
    def ax(self) -> Plot: ...
    def set_label(self, label: str) -> None: ...


class Page(Protocol):
    """A ``matplotlib.figure.Figure``."""

    dpi: float

    def add_subplot(self, *args: int | SubplotSpec) -> Plot: ...
    def add_gridspec(
        self, nrows: int, ncols: int, *, height_ratios: Sequence[float]
    ) -> Sequence[SubplotSpec]: ...
    def subfigures(
        self, nrows: int, ncols: int, *, height_ratios: Sequence[float]
    ) -> Sequence[Page]: ...
    def suptitle(self, t: str, *, x: float, ha: str, fontweight: str) -> object: ...
    def supxlabel(self, t: str, *, x: float, ha: str, fontsize: float) -> object: ...
    def colorbar(self, mappable: Drawn, *, ax: Plot, pad: float, aspect: float) -> ColorBar: ...
    def draw_without_rendering(self) -> None: ...
    def savefig(
        self, fname: Path, *, format: str, metadata: Mapping[str, str | None], dpi: float = ...
    ) -> None: ...


class Format(Protocol):
    """Formats a number of an axis."""

    def __call__(self, value: float, position: int | None, /) -> str: ...


def formatter(write: Format) -> FuncFormatter:
    """Formats the numbers of an axis with a function."""
    return FuncFormatter(write)


def page_of(figure: Figure) -> Page:
    """A figure to draw on; matplotlib's own types are too weak to check for one."""
    return cast(Page, figure)
