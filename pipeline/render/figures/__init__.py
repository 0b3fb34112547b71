"""Matplotlib figures for papers and screens.

Needs ``pip install nestmap[plot]``. Each ``..._figure`` returns a ``matplotlib.figure.Figure``
without using pyplot and its global state; ``save`` writes one as PNG, SVG or PDF.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestmap.pipeline.render.figures.accelerator import accelerator_figure as accelerator_figure
    from nestmap.pipeline.render.figures.comparison import comparison_figure as comparison_figure
    from nestmap.pipeline.render.figures.image_files import save as save
    from nestmap.pipeline.render.figures.layers import layers_figure as layers_figure
    from nestmap.pipeline.render.figures.layers import utilization_figure as utilization_figure
    from nestmap.pipeline.render.figures.loops import loops_figure as loops_figure
    from nestmap.pipeline.render.figures.memory_energy import memories_figure as memories_figure
    from nestmap.pipeline.render.figures.roofline import roofline_figure as roofline_figure
    from nestmap.pipeline.render.figures.scatter import scatter_figure as scatter_figure
    from nestmap.pipeline.render.figures.schedule.comparison import NamedSchedule as NamedSchedule
    from nestmap.pipeline.render.figures.schedule.comparison import (
        schedules_figure as schedules_figure,
    )
    from nestmap.pipeline.render.figures.schedule.data_sent import (
        data_sent_figure as data_sent_figure,
    )
    from nestmap.pipeline.render.figures.schedule.energy_split import (
        schedule_energy_figure as schedule_energy_figure,
    )
    from nestmap.pipeline.render.figures.schedule.gantt import schedule_figure as schedule_figure
    from nestmap.pipeline.render.figures.schedule.generations import front_figure as front_figure
    from nestmap.pipeline.render.figures.schedule.link_use import link_use_figure as link_use_figure
    from nestmap.pipeline.render.figures.schedule.memory_usage import (
        memory_use_figure as memory_use_figure,
    )

_HOMES = {
    "accelerator_figure": "accelerator",
    "comparison_figure": "comparison",
    "data_sent_figure": "schedule.data_sent",
    "front_figure": "schedule.generations",
    "layers_figure": "layers",
    "link_use_figure": "schedule.link_use",
    "loops_figure": "loops",
    "memories_figure": "memory_energy",
    "memory_use_figure": "schedule.memory_usage",
    "NamedSchedule": "schedule.comparison",
    "roofline_figure": "roofline",
    "save": "image_files",
    "scatter_figure": "scatter",
    "schedule_energy_figure": "schedule.energy_split",
    "schedule_figure": "schedule.gantt",
    "schedules_figure": "schedule.comparison",
    "utilization_figure": "layers",
}

__all__ = [
    "NamedSchedule",
    "accelerator_figure",
    "comparison_figure",
    "data_sent_figure",
    "front_figure",
    "layers_figure",
    "link_use_figure",
    "loops_figure",
    "memories_figure",
    "memory_use_figure",
    "roofline_figure",
    "save",
    "scatter_figure",
    "schedule_energy_figure",
    "schedule_figure",
    "schedules_figure",
    "utilization_figure",
]


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        """The functions, imported on first use: matplotlib takes long to import."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from nestmap.pipeline.render.figures.preconditions import check_matplotlib  # noqa: PLC0415

        check_matplotlib()
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
