"""The figures that are compared with committed images; ``python -m`` this to draw these anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.scatter import Cloud
from nestmap.pipeline.render.figures import (
    NamedSchedule,
    accelerator_figure,
    comparison_figure,
    data_sent_figure,
    front_figure,
    layers_figure,
    link_use_figure,
    loops_figure,
    memories_figure,
    memory_use_figure,
    roofline_figure,
    schedule_energy_figure,
    schedule_figure,
    schedules_figure,
    sweep_front_figure,
    sweep_importance_figure,
    sweep_parallel_figure,
    sweep_parameters_figure,
    utilization_figure,
)
from nestmap.pipeline.render.figures.matplotlib_types import page_of
from nestmap.pipeline.render.figures.scatter import draw_scatter
from nestmap.pipeline.render.figures.style import styled
from tests.pipeline.render.figures.samples import evaluated, machine, network
from tests.pipeline.render.figures.schedules import pipelined, search, streamed, two_rows
from tests.pipeline.render.figures.sweeps import AREA, ENERGY, LATENCY, designs

FOLDER = Path(__file__).parent / "baselines"
DPI = 60

_FOUR = ("conv1", "$fc_1$", "a/long/name/of/a/layer/in/a/network", "head")


def clouds(rows: int) -> tuple[Cloud, Cloud]:
    """So many mappings of two spatial mappings each, always the same ones."""
    steps = np.arange(1, rows + 1, dtype=np.float64)
    latency = 1e5 * (1 + (steps * 0.754877666) % 1 * 6)
    energy = 1e7 * (1 + 3e5 / latency) * (1 + (steps * 0.569840291) % 1)
    return (
        Cloud("D1: K 32, D2: C 32", energy, latency),
        Cloud("D1: K 32, D2: OX 32", energy * 1.2, 0.9 * latency),
    )


def _compared() -> Figure:
    runs = [
        NamedRun("tpu_like", network(_FOUR, vector=True)),
        NamedRun("aimc", network(_FOUR[1:], "aimc")),
    ]
    return comparison_figure(runs)


def _schedules() -> Figure:
    return schedules_figure(
        [
            NamedSchedule("layer by layer", pipelined(4, 1, 4)),
            NamedSchedule("rows fused", pipelined(4, 3, 4)),
        ]
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "layers": lambda: layers_figure(network(_FOUR, "edge_22nm", vector=True)),
    "layers-aimc": lambda: layers_figure(network(_FOUR, "aimc")),
    "memories": lambda: memories_figure(network(_FOUR, "edge_22nm")),
    "utilization": lambda: utilization_figure(network(_FOUR)),
    "roofline": lambda: roofline_figure(network(_FOUR), machine("tpu_like")),
    "accelerator": lambda: accelerator_figure(machine("tpu_like")),
    "accelerator-ascend": lambda: accelerator_figure(machine("ascend_like")),
    "loops": lambda: loops_figure(evaluated("tpu_like", 8, 64, 128)),
    "comparison": _compared,
    "schedule": lambda: schedule_figure(streamed()),
    "schedule-many": lambda: schedule_figure(pipelined(40, 6, 8)),
    "memory-use": lambda: memory_use_figure(two_rows()),
    "link-use": lambda: link_use_figure(streamed()),
    "data-sent": lambda: data_sent_figure(pipelined(4, 3, 4)),
    "schedule-energy": lambda: schedule_energy_figure(pipelined(4, 3, 4)),
    "schedules": _schedules,
    "front": lambda: front_figure(search(), "net on machine", search()[-1].front[0]),
    "sweep-front": lambda: sweep_front_figure(designs(40)),
    "sweep-front-three": lambda: sweep_front_figure(designs(40, (ENERGY, LATENCY, AREA))),
    "sweep-parameters": lambda: sweep_parameters_figure(designs(40, infeasible=2)),
    "sweep-parallel": lambda: sweep_parallel_figure(designs(12)),
    "sweep-importance": lambda: sweep_importance_figure(designs(100)),
    "scatter": lambda: draw_scatter(clouds(200), "conv1 on tpu_like"),
    "scatter-many": lambda: draw_scatter(clouds(30_000), "conv1 on tpu_like"),
}


def draw(name: str, folder: Path, figure: Figure | None = None) -> Path:
    """Draws one of the figures, or another one under its name, small."""
    path = folder / f"{name}.png"
    figure = figure or FIGURES[name]()
    with styled():
        page_of(figure).savefig(path, format="png", metadata={"Software": None}, dpi=DPI)
    return path


if __name__ == "__main__":
    for figure_name in FIGURES:
        draw(figure_name, FOLDER)
