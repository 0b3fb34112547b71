"""Figures of schedules can be read: no text on another one, however many layers and cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.population import Generation, Individual
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.render.figures import (
    NamedSchedule,
    data_sent_figure,
    front_figure,
    link_use_figure,
    memory_use_figure,
    save,
    schedule_energy_figure,
    schedule_figure,
    schedules_figure,
)
from tests.pipeline.render.figures.drawn import flaws, texts
from tests.pipeline.render.figures.samples import many_names
from tests.pipeline.render.figures.schedules import pipelined, search, streamed, two_rows

ONE: tuple[Callable[[Schedule], Figure], ...] = (
    schedule_figure,
    memory_use_figure,
    link_use_figure,
    data_sent_figure,
    schedule_energy_figure,
)


def compared(schedule: Schedule) -> Figure:
    """The schedule beside another one."""
    return schedules_figure([NamedSchedule("one", two_rows()), NamedSchedule("two", schedule)])


def hostile(schedule: Schedule) -> Schedule:
    """Layers with names that markup, fonts or formats could trip over."""
    problem, nodes = schedule.problem, schedule.problem.nodes
    layers = tuple(
        copy_with(layer, {"nest": copy_with(layer.nest, {"name": name})})
        for layer, name in zip(nodes.layers, many_names(len(nodes.layers)), strict=True)
    )
    named = CnWorkload("$net_\n", layers, nodes.edges, nodes.convention)
    return replace(schedule, problem=replace(problem, nodes=named))


@pytest.mark.parametrize("draw", [*ONE, compared])
@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 2), (7, 4, 3), (60, 3, 8)])
def test_nothing_is_on_top_of_anything(
    draw: Callable[[Schedule], Figure], size: tuple[int, int, int]
) -> None:
    assert not flaws(draw(hostile(pipelined(*size))))


def test_a_large_schedule_is_a_small_file(tmp_path: Path) -> None:
    figure = schedule_figure(pipelined(60, 300, 6))  # 18,000 nodes
    for ending, most in ((".svg", 1_500_000), (".png", 500_000)):
        save(figure, tmp_path / f"large{ending}")
        assert (tmp_path / f"large{ending}").stat().st_size < most
    shapes = [x for axes in figure.axes for x in axes.collections]
    counts = [len(x.get_paths()) for x in shapes if isinstance(x, PolyCollection)]
    assert max(counts) < 40_000


def test_each_bar_is_drawn_once() -> None:
    figure = schedule_figure(streamed())
    (chart,) = (axes for axes in figure.axes if axes.get_xlabel() == "Time (cycles)")
    counts = [len(x.get_paths()) for x in chart.collections if isinstance(x, PolyCollection)]
    assert counts == [7, 17, 9]  # idle times with a reason, bars, the critical path


def test_layers_are_in_the_legend_with_their_numbers() -> None:
    found = {text for text, _ in texts(schedule_figure(pipelined(60, 2, 3)))}
    assert {f"{i} n{i}" for i in range(60)} <= found
    assert "critical path" in found


def test_of_very_many_layers_the_longest_are_in_the_legend() -> None:
    schedule = pipelined(150, 1, 3)
    length = schedule.end - schedule.start
    late = replace(schedule, end=schedule.end + np.where(np.arange(150) > 120, 1, 0))
    assert len(set(length.tolist())) == 1
    found = {text for text, _ in texts(schedule_figure(late))}
    assert {f"{i} n{i}" for i in range(121, 150)} <= found
    listed = [text for text in found if text in {f"{i} n{i}" for i in range(150)}]
    assert f"and {150 - len(listed)} shorter" in found
    assert len(listed) < 72


def test_compared_schedules_have_the_same_time_axis() -> None:
    short = two_rows()
    problem, machine = short.problem, short.problem.accelerator
    named = [
        copy_with(
            core, {"accelerator": copy_with(core.accelerator, {"name": "a_rather_long_name"})}
        )
        if isinstance(core, ComputeCore)
        else core
        for core in machine.cores
    ]
    other = replace(problem, accelerator=copy_with(machine, {"cores": tuple(named)}))
    long = replace(short, problem=other)
    figure = schedules_figure([NamedSchedule("a", short), NamedSchedule("b", long)])
    figure.draw_without_rendering()
    charts = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len({round(axes.bbox.x0) for axes in charts}) == 1
    assert len({round(axes.bbox.x1) for axes in charts}) == 1


def test_peaks_and_capacities_are_told() -> None:
    found = {text for text, _ in texts(memory_use_figure(two_rows()))}
    assert "buffer of core 0: peak 4 B of 50 B (8.0%)" in found


def test_memories_that_nothing_is_in_are_named() -> None:
    figure = memory_use_figure(pipelined(1, 1, 3))
    assert "Not used: buffer of core 1, buffer of core 2" in [t for t, _ in texts(figure)]


def test_schedules_are_compared_with_the_first() -> None:
    figure = schedules_figure(
        [NamedSchedule("a", pipelined(2, 1, 2)), NamedSchedule("b", two_rows())]
    )
    found = {text for text, _ in texts(figure)}
    assert {"26", "50 (\u00d71.92)"} <= found
    charts = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert {axes.get_xlim() for axes in charts} == {(0.0, 50.0)}


def test_the_front_has_the_best_of_each_generation() -> None:
    figure = front_figure(search(), "net", search()[-1].front[0])
    assert not flaws(figure)
    left, right = figure.axes
    last = next(line for line in left.lines if str(line.get_label()).startswith("front of"))
    assert np.asarray(last.get_xdata()).tolist() == [640, 1040, 1440]
    assert [np.asarray(line.get_ydata())[0] for line in right.lines] == [1.0, 1.0]


def test_nothing_to_draw_is_an_error() -> None:
    nothing = Individual(allocation=(0,), fitness=None)
    generation = Generation(number=0, population=(nothing,), front=(), evaluations=1)
    with pytest.raises(ValueError, match="no allocation that can be scheduled"):
        front_figure([generation], "net")
    with pytest.raises(ValueError, match="no schedule to compare"):
        schedules_figure([])
