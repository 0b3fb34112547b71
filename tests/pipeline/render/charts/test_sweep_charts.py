"""Charts of the parameters of sweeps: panels with their lowest values, importances."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import altair as alt
import numpy as np
import pytest

from nestmap.model import InfeasibleError, InputError
from nestmap.model.design_space.objective import SweepObjective
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    labelled,
    parameter_column,
)
from nestmap.pipeline.analysis.sweep.importance import MOST, importances
from nestmap.pipeline.render.charts import Chart
from nestmap.pipeline.render.charts.sweep_parameters import importance_chart, parameters_chart
from tests.pipeline.render.charts.read import bars_of, rows_of
from tests.pipeline.render.sweeps import (
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
from tests.sweeps import every

both = pytest.mark.parametrize("draw", [parameters_chart, importance_chart])
Draw = Callable[[DesignsView], Chart]


def test_panels_of_parameters_have_the_best_of_each_value() -> None:
    view = designs(50)
    chart = parameters_chart(view)
    for n, objective in enumerate(view.objectives):
        for place, parameter in enumerate(view.parameters):
            assert len(rows_of(chart, f"panel-{n}-{place}")) == 50
            lowest = [row["y"] for row in rows_of(chart, f"panel-{n}-{place}-lowest")]
            values = range(len(parameter.values))
            assert lowest == [min(objective.values[parameter.places == x]) for x in values]


def test_importances_are_bars() -> None:
    view = designs(100, (ENERGY, LATENCY))
    bars = bars_of(importance_chart(view))
    found = {x.objective: x.shares or () for x in importances(view)}
    names = [x.name for x in view.parameters]
    for objective, title in ((ENERGY, "Energy"), (LATENCY, "Latency")):
        expected = dict(zip(names, found[objective], strict=True))
        drawn = {name: value for (name, part), value in bars.items() if part == title}
        assert drawn == {name: value for name, value in expected.items() if value}


@both
@pytest.mark.parametrize(
    "objectives",
    every(
        3,
        [
            (ENERGY,),
            (ENERGY, LATENCY, EDP, AREA),
            (PRODUCT, LOSS),
            (LATENCY, PRODUCT, LOSS, LENGTH),
        ],
    ),
)
def test_charts_can_be_drawn(draw: Draw, objectives: Sequence[SweepObjective]) -> None:
    for view in (designs(30, objectives), designs(200, objectives, HOSTILE)):
        chart = draw(view)
        alt.Chart.from_dict(chart.specification)
        assert chart.svg().startswith("<svg")


@both
def test_without_a_feasible_design_there_is_no_chart(draw: Draw) -> None:
    nothing = replace(
        designs(1), numbers=(), parameters=(), on_front=np.zeros(0, np.bool_), infeasible=18
    )
    with pytest.raises(InfeasibleError, match="arrays: found 18 designs without figures"):
        draw(nothing)


@both
def test_parameters_have_to_differ(draw: Draw) -> None:
    with pytest.raises(InputError, match="no parameter that differs"):
        draw(replace(designs(30), parameters=()))


def test_importances_need_designs() -> None:
    with pytest.raises(InputError, match="found 2 feasible designs; expected 20"):
        importance_chart(designs(2))


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
    one = replace(view, objectives=(view.objectives[0], area))
    assert importances(one)[1].shares is None
    assert {part for _, part in bars_of(importance_chart(one))} == {"Energy"}
    with pytest.raises(InputError, match="the same for all designs"):
        importance_chart(replace(view, objectives=(area,)))


def test_expressions_have_no_unit_but_a_power_of_ten() -> None:
    large, small = (ObjectiveColumn(LOSS, np.array(x)) for x in ([-1e9, 2e9], [0.5, 30.0]))
    assert labelled(large).label == "-energy (\u00d7 10^9)"
    assert labelled(small).label == "-energy"
    assert labelled(small).unit.number(0.5) == "0.5"


def test_values_of_a_parameter_are_in_order() -> None:
    column = parameter_column("n", [16, 8, 2.5, 16])
    assert column.values == (2.5, 8, 16)
    assert column.places.tolist() == [2, 1, 0, 2]
    assert parameter_column("b", [True, False]).labels == ("false", "true")
    texts_first = parameter_column("t", ["b", "a", "b"])
    assert (texts_first.values, texts_first.is_ordered) == (("b", "a"), False)
    assert parameter_column("m", [1, True, 0]).places.tolist() == [1, 2, 0]
