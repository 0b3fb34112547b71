"""Draws the figures of a sweep into a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from nestmap.model import InputError
from nestmap.pipeline.analysis.sweep.designs_view import DesignsView
from nestmap.pipeline.analysis.sweep.importance import check_importances
from nestmap.pipeline.cli.plot_request import save_figure
from nestmap.pipeline.cli.printing import print_note
from nestmap.pipeline.render import figures
from nestmap.pipeline.render.figures.preconditions import ENDINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_sweep(view: DesignsView, folder: Path) -> None:
    """Draws the figures for which there are designs enough; notes tell of the others.

    Raises:
        InfeasibleError: where no design is feasible.
        InputError: where a file cannot be written.
    """
    for name, draw in DRAWINGS.items():
        missing = _missing(name, view)
        if missing is None:
            save_figure(draw(view), folder / f"{name}{ENDINGS[0]}")
        else:
            print_note(f"No figure of {name}: {missing}.")


def _missing(name: str, view: DesignsView) -> str | None:
    """Why a figure cannot be drawn."""
    if name == "parameters" and not view.parameters:
        return "no parameter differs between the designs"
    if name == "importance":
        try:
            check_importances(view)
        except InputError as error:
            return str(error)
    return None


DRAWINGS: Final[Mapping[str, Callable[[DesignsView], Figure]]] = MappingProxyType(
    {
        "front": figures.sweep_front_figure,
        "parameters": figures.sweep_parameters_figure,
        "parallel": figures.sweep_parallel_figure,
        "importance": figures.sweep_importance_figure,
    }
)
"""The figures of a sweep by name."""
