"""Designs that Optuna's samplers choose: each once, as many as wanted, the same ones again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import nestmap
from nestmap.model import InputError, Objective
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Aggregate, Design
from nestmap.pipeline.sweep.choice.choice import choose_designs
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.checked_space import CheckedSpace, check_space
from tests.pipeline.sweep.spaces import SPACE, write_space
from tests.quality.stream_fronts import Cost, hypervolume

SAMPLERS = (Strategy.NSGA2, Strategy.TPE)
SIZE = 18
LARGE = (
    SPACE.replace("[1, 2, 4]", "{from: 1, to: 60, step: 1}")
    .replace("{from: 2, to: 8, factor: 2}", "{from: 1, to: 60, step: 1}")
    .replace("[true, false]", "[true]")
)
"""3,600 designs."""


def result(design: Design, energy: float | None, latency: float = 0.0) -> DesignResult:
    """A result with these figures, or without any."""
    networks = () if energy is None else (
        NetworkFigures(network="net", weight=1.0, energy=energy, latency=latency),
    )  # fmt: skip
    return DesignResult(
        aggregate=Aggregate.SUM,
        number=design.number,
        parameters=design.parameters,
        mapped_for=Objective.ENERGY,
        networks=networks,
        reason="nothing fits" if energy is None else None,
    )


def bowl(designs: Sequence[Design]) -> Iterator[DesignPoints]:
    """Energy falls with lanes and latency with words, and both rise away from words = lanes / 2."""
    for design in designs:
        lanes, words = design.values["lanes"], design.values["words"]
        assert isinstance(lanes, int)
        assert isinstance(words, int)
        away = abs(words - lanes / 2) + 1
        yield (result(design, (70 - lanes) * away, lanes * away),)


def explored(
    checked: CheckedSpace,
    strategy: Strategy,
    count: int,
    seed: int = 0,
    explore: ExploreDesigns = bowl,
) -> list[DesignResult]:
    return [x for (x,) in choose_designs(checked, strategy, count, seed).explored(explore)]


def numbers(results: Sequence[DesignResult]) -> list[int]:
    return [x.number for x in results]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> CheckedSpace:
    return check_space(write_space(tmp_path_factory.mktemp("large"), LARGE))


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_the_number_of_workers_changes_nothing(file: Path, strategy: Strategy) -> None:
    one, two = (nestmap.sweep(file, strategy=strategy.value, designs=12, workers=n) for n in (1, 2))
    assert one == two
    assert len(set(numbers(one.points))) == 12


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_seeds_determine_the_designs(large: CheckedSpace, strategy: Strategy) -> None:
    first = explored(large, strategy, 60)
    assert len(set(numbers(first))) == 60
    assert explored(large, strategy, 60) == first
    assert numbers(explored(large, strategy, 60, seed=1)) != numbers(first)


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_fewer_designs_are_the_first_ones(large: CheckedSpace, strategy: Strategy) -> None:
    # within whole batches: what is chosen together does not know of each other
    assert numbers(explored(large, strategy, 80))[:40] == numbers(explored(large, strategy, 40))


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_a_small_space_is_explored_whole(file: Path, strategy: Strategy) -> None:
    for count in (SIZE, 1000):
        found = explored(check_space(file), strategy, count)
        assert sorted(numbers(found)) == list(range(SIZE))


@pytest.mark.parametrize("strategy", SAMPLERS)
@pytest.mark.stress
def test_samplers_find_a_better_front_than_chance(large: CheckedSpace, strategy: Strategy) -> None:
    def volume(chosen: Strategy) -> float:
        found = (explored(large, chosen, 160, seed) for seed in range(3))
        return sum(
            hypervolume((Cost(x.energy or 0, x.latency or 0) for x in some), Cost(140, 140))
            for some in found
        )

    assert volume(strategy) > volume(Strategy.RANDOM)


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_designs_that_do_not_meet_the_constraints_are_not_explored(
    tmp_path: Path, strategy: Strategy
) -> None:
    text = SPACE.replace("when:", "constraints: ['lanes * words <= 8', area < 4]\nwhen:")
    checked = check_space(write_space(tmp_path, text))
    choice = choose_designs(checked, strategy, 1000, 0)
    found = [x for (x,) in choice.explored(bowl)]
    grid = choose_designs(checked, Strategy.GRID, None, 0)
    assert sorted(numbers(found)) == [x.number for (x,) in grid.explored(bowl)]
    assert choice.rejected == grid.rejected == SIZE - len(found)


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_a_constraint_that_no_design_meets_is_an_error(tmp_path: Path, strategy: Strategy) -> None:
    text = SPACE.replace("when:", "constraints: [lanes > 5]\nwhen:")
    file = write_space(tmp_path, text)
    with pytest.raises(InputError, match=r"lanes > 5, which none of 18 designs meets"):
        explored(check_space(file), strategy, 5)


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_a_design_is_as_good_as_it_is_for_each_objective(
    large: CheckedSpace, strategy: Strategy
) -> None:
    """A point that is good for energy and one that is good for latency count as both."""

    def apart(designs: Sequence[Design]) -> Iterator[DesignPoints]:
        for design, (found,) in zip(designs, bowl(designs), strict=True):
            energy, latency = found.energy or 0, found.latency or 0
            yield result(design, energy, 9 * latency), result(design, 9 * energy, latency)

    together = explored(large, strategy, 40)
    found = list(choose_designs(large, strategy, 40, 0).explored(apart))
    assert [x.number for x, _ in found] == numbers(together)


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_designs_without_figures_are_results(large: CheckedSpace, strategy: Strategy) -> None:
    def half(designs: Sequence[Design]) -> Iterator[DesignPoints]:
        for design, found in zip(designs, bowl(designs), strict=True):
            yield found if design.values["lanes"] in range(31) else (result(design, None),)

    found = explored(large, strategy, 80, explore=half)
    assert len(set(numbers(found))) == 80
    later = found[40:]
    # the sampler has learnt where there is nothing
    assert sum(x.is_feasible for x in later) > len(later) / 2


def test_nothing_is_said_of_studies(
    large: CheckedSpace, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    for strategy in SAMPLERS:
        explored(large, strategy, 30)
    assert capfd.readouterr() == ("", "")
    assert not len(recwarn)
