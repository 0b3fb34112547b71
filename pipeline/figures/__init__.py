"""Figures of results, for papers and screens: pure functions from models to matplotlib figures.

Needs ``pip install nestmap[plot]``. Each ``..._figure`` gives a ``matplotlib.figure.Figure``,
without pyplot and its state; ``save`` writes one as PNG, SVG or PDF.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestmap.pipeline.figures.comparison import comparison_figure as comparison_figure
    from nestmap.pipeline.figures.layers import layers_figure as layers_figure
    from nestmap.pipeline.figures.layers import utilization_figure as utilization_figure
    from nestmap.pipeline.figures.loops import loops_figure as loops_figure
    from nestmap.pipeline.figures.machine import accelerator_figure as accelerator_figure
    from nestmap.pipeline.figures.memories import memories_figure as memories_figure
    from nestmap.pipeline.figures.output import save as save
    from nestmap.pipeline.figures.roofline import roofline_figure as roofline_figure
    from nestmap.pipeline.figures.runs import NamedRun as NamedRun
    from nestmap.pipeline.figures.scatter import scatter_figure as scatter_figure

_HOMES = {
    "accelerator_figure": "machine",
    "comparison_figure": "comparison",
    "layers_figure": "layers",
    "loops_figure": "loops",
    "memories_figure": "memories",
    "NamedRun": "runs",
    "roofline_figure": "roofline",
    "save": "output",
    "scatter_figure": "scatter",
    "utilization_figure": "layers",
}

__all__ = [
    "NamedRun",
    "accelerator_figure",
    "comparison_figure",
    "layers_figure",
    "loops_figure",
    "memories_figure",
    "roofline_figure",
    "save",
    "scatter_figure",
    "utilization_figure",
]


if not TYPE_CHECKING:  # else any name would be right to type checkers

    def __getattr__(name: str) -> object:
        """The functions, imported when they are first used: matplotlib takes long to import."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from nestmap.pipeline.figures.needs import check_matplotlib  # noqa: PLC0415

        check_matplotlib()
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
