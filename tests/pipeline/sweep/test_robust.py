"""Robust designs: the figures of the worst network, and their front."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap import SweepResult
from nestmap.model import InputError, Objective
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Aggregate
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES, DesignQuantity
from nestmap.pipeline.sweep.result.result_table import heading
from tests.pipeline.sweep.spaces import SPACE, write_space

NUMBERS = st.floats(1e-6, 1e12)
NETWORKS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6)
ROUNDED = 1 + 1e-9
"""Sums are rounded."""


def of_networks(networks: list[tuple[float, float, float]], aggregate: Aggregate) -> DesignResult:
    figures = tuple(
        NetworkFigures(network=f"n{n}", weight=weight, energy=energy, latency=latency)
        for n, (weight, energy, latency) in enumerate(networks)
    )
    return DesignResult(
        aggregate=aggregate,
        number=0,
        parameters=(),
        mapped_for=Objective.ENERGY,
        area=2.0,
        networks=figures,
    )


@given(NETWORKS)
def test_the_worst_is_at_most_the_sum(networks: list[tuple[float, float, float]]) -> None:
    worst, total = (of_networks(networks, x) for x in (Aggregate.WORST, Aggregate.SUM))
    for objective in DESIGN_OBJECTIVES:
        one, all_of_them = worst.figure(objective), total.figure(objective)
        assert one is not None
        assert all_of_them is not None
        assert one <= all_of_them * ROUNDED
        if objective is not DesignQuantity.AREA:
            alone = [of_networks([x], Aggregate.SUM).figure(objective) or 0 for x in networks]
            assert one == max(alone)
    assert worst.area == total.area


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_of_one_network_the_worst_is_the_sum(network: tuple[float, float, float]) -> None:
    worst, total = (of_networks([network], x) for x in (Aggregate.WORST, Aggregate.SUM))
    for objective in DESIGN_OBJECTIVES:
        assert worst.figure(objective) == total.figure(objective)


def test_infeasible_designs_have_no_worst_network() -> None:
    made = DesignResult(
        aggregate=Aggregate.WORST,
        number=0,
        parameters=(),
        mapped_for=Objective.ENERGY,
        reason="too small",
    )
    assert [made.figure(x) for x in DESIGN_OBJECTIVES] == [None] * 4
    assert (made.energy, made.latency, made.edp) == (None, None, None)


@pytest.fixture(scope="module")
def robust(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """The small space, with the smaller network counted so often that either is the worst."""
    text = SPACE.replace("weight: 2.5", "weight: 1.3") + "aggregate: worst\n"
    return nestmap.sweep(write_space(tmp_path_factory.mktemp("robust"), text))


def test_the_front_of_worst_cases_is_that_of_all_pairs(robust: SweepResult) -> None:
    figures: list[tuple[float, float]] = []
    for design in robust.points:
        first, other = design.networks
        figures.append(
            (max(first.energy, 1.3 * other.energy), max(first.latency, 1.3 * other.latency))
        )
    best = {
        (e, t) for e, t in figures
        if not any(x <= e and y <= t and (x, y) != (e, t) for x, y in figures)
    }  # fmt: skip
    assert [(x.energy, x.latency) for x in robust.front] == sorted(best)
    assert robust.best("energy").energy == min(e for e, _ in figures)


def test_the_heading_says_that_figures_are_of_the_worst(robust: SweepResult) -> None:
    assert ": the designs with the lowest energy, latency for the worst of " in heading(
        robust.summary
    )


def test_unknown_aggregates_are_errors(tmp_path: Path) -> None:
    file = write_space(tmp_path, SPACE + "aggregate: mean\n")
    with pytest.raises(InputError, match=r"aggregate: found 'mean'; expected one of sum, worst"):
        nestmap.sweep(file)
