"""Titles name what a figure shows: the network, and the accelerator that it is mapped onto."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.render.figures import (
    NamedSchedule,
    comparison_figure,
    layers_figure,
    loops_figure,
    memories_figure,
    roofline_figure,
    schedule_energy_figure,
    schedules_figure,
    utilization_figure,
)
from nestmap.pipeline.render.figures.all_figures import network_figures
from tests.pipeline.render.figures.drawn import flaws, texts
from tests.pipeline.render.figures.samples import machine, many_names, network
from tests.pipeline.render.figures.schedules import pipelined, two_rows

PAGE = 7.2 + 1e-9
"""The width of two columns of a paper (inches)."""


def title(figure: Figure) -> str:
    """The title of a figure."""
    return figure.get_suptitle()


@pytest.mark.parametrize("draw", [layers_figure, memories_figure, utilization_figure])
def test_titles_name_network_and_accelerator(
    draw: Callable[[NetworkEvaluation, str | None], Figure],
) -> None:
    evaluation = network(("a", "b"))
    assert title(draw(evaluation, "resnet18")).startswith("resnet18 on tpu_like: ")
    assert title(draw(evaluation, None)).startswith("2 layers on tpu_like: ")


def test_titles_of_rooflines_and_loops_name_the_network() -> None:
    evaluation = network(("a", "b"))
    roofline = roofline_figure(evaluation, machine("tpu_like"), "resnet18")
    assert title(roofline) == "resnet18 on tpu_like: roofline of 2 different layers"
    (first, *_) = evaluation.layers
    assert title(loops_figure(first.cme, "resnet18")).startswith("resnet18, a on tpu_like: ")


def test_all_figures_of_a_network_name_it() -> None:
    drawn = dict(network_figures(network(("a",)), machine("tpu_like"), "resnet18"))
    named = {name for name, figure in drawn.items() if title(figure).startswith("resnet18")}
    assert named == set(drawn) - {"accelerator"}


def test_comparisons_name_the_networks() -> None:
    runs = [NamedRun("one", network(("a",))), NamedRun("two", network(("a",), "aimc"))]
    assert title(comparison_figure(runs, "resnet18")) == "resnet18: 2 runs compared"
    one, two = pipelined(2, 1, 2), two_rows()
    names = one.problem.nodes.name, one.problem.accelerator.name
    schedules = schedules_figure([NamedSchedule("a", one), NamedSchedule("b", two)])
    assert title(schedules).startswith(names[0])
    assert names[1] in title(schedules)
    assert title(schedules).endswith(": 2 schedules compared")


def test_the_energies_of_many_layers_fit_a_page() -> None:
    figure = schedule_energy_figure(pipelined(159, 1, 3))
    assert figure.get_figwidth() <= PAGE
    assert not flaws(figure)
    assert {f"n{i}" for i in range(159)} <= {text for text, _ in texts(figure)}


def test_charts_of_many_layers_are_as_wide_as_their_panels_need() -> None:
    figure = layers_figure(network(many_names(150)))
    assert len(figure.axes) == 6
    assert figure.get_figwidth() < 3 * PAGE
    assert not flaws(figure)
