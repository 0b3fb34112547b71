"""Figures of sweeps show every design, mark the front, and can be read whatever the names are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nestmap.model import InfeasibleError, InputError
from nestmap.model.design_space.objective import SweepObjective
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    parameter_column,
)
from nestmap.pipeline.analysis.sweep.dominated import dominated_shown
from nestmap.pipeline.analysis.sweep.importance import MOST, importances
from nestmap.pipeline.analysis.sweep.objective_units import labelled
from nestmap.pipeline.render.figures import (
    sweep_front_figure,
    sweep_importance_figure,
    sweep_parallel_figure,
    sweep_parameters_figure,
)
from nestmap.pipeline.render.figures.sweep.front import MOST_POINTS
from nestmap.pipeline.render.figures.sweep.parallel import MOST_LINES
from tests.pipeline.render.figures.drawn import flaws, texts
from tests.pipeline.render.figures.sweeps import (
    AREA,
    EDP,
    ENERGY,
    HOSTILE,
    LATENCY,
    LENGTH,
    LOSS,
    PRODUCT,
    designs,
)

Draw = Callable[[DesignsView], Figure]

DRAWN: tuple[Draw, ...] = (
    sweep_front_figure,
    sweep_parameters_figure,
    sweep_parallel_figure,
    sweep_importance_figure,
)


def points(axes: Axes) -> tuple[NDArray[np.float64], ...]:
    """The points of the collections of a panel: dominated designs, then the front."""
    found = [x for x in axes.collections if isinstance(x, PathCollection)]
    return tuple(np.asarray(x.get_offsets(), np.float64) for x in found)


def test_every_design_is_a_point_and_the_front_is_marked() -> None:
    view = designs(40)
    (axes,) = sweep_front_figure(view).axes
    others, front = points(axes)
    energy, latency = (x.values for x in view.objectives)
    every = np.stack([latency, energy], axis=1)
    assert others.tolist() == every[~view.on_front].tolist()
    assert sorted(front.tolist()) == sorted(every[view.on_front].tolist())
    assert [y for _, y in front.tolist()] == sorted(energy[view.on_front].tolist())
    (line,) = axes.lines
    assert np.asarray(line.get_ydata()).tolist() == [y for _, y in front.tolist()]
    assert axes.get_yscale() == "linear"
    assert axes.get_xscale() == "log"


def test_designs_on_the_front_are_labelled_beside_their_line() -> None:
    view = designs(40)
    shown = {text for text, _ in texts(sweep_front_figure(view))}
    named = {x for x in shown if x.startswith("#")}
    front = {f"#{view.numbers[place]}" for place in view.front_places}
    assert named
    assert named <= front


def test_each_pair_of_objectives_is_a_panel() -> None:
    figure = sweep_front_figure(designs(60, (ENERGY, LATENCY, EDP, AREA)))
    pairs = [(x.get_ylabel().split()[0], x.get_xlabel().split()[0]) for x in figure.axes]
    assert pairs == [
        ("Energy", "Latency"),
        ("Energy", "EDP"),
        ("Energy", "Area"),
        ("Latency", "EDP"),
        ("Latency", "Area"),
        ("EDP", "Area"),
    ]
    assert not flaws(figure)


def test_panels_of_parameters_have_the_best_of_each_value() -> None:
    view = designs(50)
    figure = sweep_parameters_figure(view)
    panels = [x for x in figure.axes if x.axison]
    assert [x.get_xlabel() for x in panels] == ["rows", "has_buffer", "sram"] * 2
    for axes, parameter in zip(panels, view.parameters, strict=False):
        (line,) = axes.lines
        lowest = [
            min(view.objectives[0].values[parameter.places == n])
            for n in range(len(parameter.values))
        ]
        assert np.asarray(line.get_ydata()).tolist() == lowest
        assert sum(map(len, points(axes))) == 50
    labels = [x.get_text() for x in panels[1].get_xticklabels()]
    assert labels == ["false", "true"]


def test_each_design_is_a_line_over_parallel_axes() -> None:
    view = designs(50)
    (axes,) = sweep_parallel_figure(view).axes
    (others,) = (x for x in axes.collections if isinstance(x, LineCollection))
    front = [x for x in axes.lines if len(np.asarray(x.get_xdata())) == 5]
    assert len(others.get_segments()) == int((~view.on_front).sum())
    assert len(front) == int(view.on_front.sum())
    ends = [np.asarray(x.get_ydata(), float)[3] for x in front]
    assert all(0 <= one <= other <= 1 for one, other in pairwise(ends))


def test_many_dominated_designs_are_thinned_and_the_front_is_whole() -> None:
    view = designs(3 * MOST_LINES, (LATENCY,))
    shown = dominated_shown(view, MOST_LINES)
    assert len(shown.places) == MOST_LINES
    assert shown.label == f"dominated (2,000 of {3 * MOST_LINES - int(view.on_front.sum()):,})"
    assert not view.on_front[shown.places].any()
    assert len(dominated_shown(view, MOST_POINTS).places) == int((~view.on_front).sum())


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("number", [1, 2, 30, 1000])
def test_figures_can_be_read(draw: Draw, number: int) -> None:
    for objectives in ((ENERGY,), (ENERGY, LATENCY), (ENERGY, LATENCY, AREA)):
        view = designs(number, objectives, infeasible=3)
        if draw is sweep_importance_figure and number < 20:
            with pytest.raises(InputError, match=f"found {number} feasible designs; expected 20"):
                draw(view)
        else:
            assert not flaws(draw(view))


@pytest.mark.parametrize("draw", DRAWN)
def test_hostile_names_can_be_read(draw: Draw) -> None:
    figure = draw(designs(200, (ENERGY, LATENCY, EDP, AREA), HOSTILE))
    assert not flaws(figure)


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize(
    "objectives", [(PRODUCT,), (PRODUCT, LOSS), (LATENCY, PRODUCT, LOSS, LENGTH)]
)
def test_expressions_can_be_read(draw: Draw, objectives: tuple[SweepObjective, ...]) -> None:
    for number in (30, 200):
        assert not flaws(draw(designs(number, objectives)))


def test_expressions_have_no_unit_but_a_power_of_ten() -> None:
    figure = sweep_front_figure(designs(40, (LOSS, ENERGY)))
    (axes,) = figure.axes
    assert axes.get_ylabel() == "-energy (\u00d7 10^9)"
    assert axes.get_xlabel() == "Energy (mJ)"
    assert axes.get_yscale() == "linear"
    small = ObjectiveColumn(LOSS, np.array([0.5, 30.0]))
    assert labelled(small).label == "-energy"
    assert labelled(small).unit.number(0.5) == "0.5"


@pytest.mark.parametrize("draw", DRAWN)
def test_without_a_feasible_design_there_is_no_figure(draw: Draw) -> None:
    nothing = replace(
        designs(1), numbers=(), parameters=(), on_front=np.zeros(0, np.bool_), infeasible=18
    )
    with pytest.raises(InfeasibleError, match="arrays: found 18 designs without figures"):
        draw(nothing)


@pytest.mark.parametrize("draw", [sweep_parameters_figure, sweep_importance_figure])
def test_parameters_have_to_differ(draw: Draw) -> None:
    with pytest.raises(InputError, match="no parameter that differs"):
        draw(replace(designs(30), parameters=()))


def test_the_parameter_that_decides_is_the_most_important() -> None:
    view = designs(100, (ENERGY, LATENCY))
    found = importances(view)
    assert found == importances(view)
    for importance in found:
        assert importance.shares is not None
        assert sum(importance.shares) == pytest.approx(1)
        assert importance.shares[0] == max(importance.shares)
        assert importance.best == 0.1
    assert importances(designs(25))[0].best == 0.2


def test_importances_of_many_designs_are_those_of_some() -> None:
    many = importances(designs(2 * MOST))[0].shares
    assert many is not None
    assert many[0] > 0.5


def test_an_objective_that_is_the_same_for_all_has_no_importances() -> None:
    view = designs(30, (ENERGY, AREA))
    area = view.objectives[1]._replace(values=np.ones(30))
    view = replace(view, objectives=(view.objectives[0], area))
    assert importances(view)[1].shares is None
    shown = {text for text, _ in texts(sweep_importance_figure(view))}
    assert "the same for all designs" in shown


def test_values_of_a_parameter_are_in_order() -> None:
    column = parameter_column("n", [16, 8, 2.5, 16])
    assert column.values == (2.5, 8, 16)
    assert column.places.tolist() == [2, 1, 0, 2]
    assert parameter_column("b", [True, False]).labels == ("false", "true")
    texts_first = parameter_column("t", ["b", "a", "b"])
    assert (texts_first.values, texts_first.is_ordered) == (("b", "a"), False)
    assert parameter_column("m", [1, True, 0]).places.tolist() == [1, 2, 0]
