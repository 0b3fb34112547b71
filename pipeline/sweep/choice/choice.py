"""Chooses the designs of a sweep that meet the constraints: all, some at random, or sampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, final

from nestmap.model import InputError
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.sweep.choice.constraint_sieve import ConstraintSieve
from nestmap.pipeline.sweep.choice.random_order import shuffled
from nestmap.pipeline.sweep.choice.sampling import SampledDesigns, Sampler
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.swept_space import SweptSpace

MOST_DESIGNS: Final = 1_000_000
"""The largest number of designs of a sweep."""

MOST_TRIES: Final = 1000
"""How many designs a random choice tries at most for each that it needs."""


class Choice(Protocol):
    """Chooses designs, and explores them."""

    @property
    def most(self) -> int:
        """How many designs are explored, or at most where the space has fewer that are feasible."""
        ...

    @property
    def rejected(self) -> int:
        """How many others were tried and do not meet the constraints; known at the end."""
        ...

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignResult]:
        """The results of all designs.

        Raises:
            InputError: where no design meets the constraints.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class ChosenDesigns:
    """Designs that are known beforehand, and how many others do not meet the constraints."""

    designs: tuple[Design, ...]
    rejected: int

    @property
    def most(self) -> int:
        """The number of designs."""
        return len(self.designs)

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignResult]:
        """Their results."""
        return explore(self.designs)


def choose_designs(checked: SweptSpace, strategy: Strategy, count: int | None, seed: int) -> Choice:
    """The designs to explore.

    Args:
        checked: the space.
        strategy: all designs in order, some in random order, or sampled by what is known of those
            before. The settings of designs that are not sampled are checked here.
        count: how many, unless all.
        seed: determines which.

    Raises:
        InputError: where there are too many designs, none meets the constraints, or an expression
            has no value or one that its field does not take; where Optuna is not installed.
    """
    most, size = _checked_count(checked, strategy, count), checked.settings.space.size
    if strategy in (Strategy.NSGA2, Strategy.TPE):
        return SampledDesigns(checked, Sampler(strategy), min(most, size), seed)
    is_random = strategy is Strategy.RANDOM
    numbers = islice(shuffled(size, seed), most * MOST_TRIES) if is_random else iter(range(size))
    sieve = ConstraintSieve(checked)
    chosen = tuple(islice(sieve.passed(numbers), most))
    if not chosen:
        raise sieve.error()
    return ChosenDesigns(chosen, sieve.tried - len(chosen))


def _checked_count(checked: SweptSpace, strategy: Strategy, count: int | None) -> int:
    """How many designs are wanted."""
    size = checked.settings.space.size
    if strategy is not Strategy.GRID:
        if count is None:
            expected = f"one, with the strategy {strategy}"
            raise InputError("designs", "no number of designs", expected)
        if not 1 <= count <= MOST_DESIGNS:
            raise InputError("designs", f"{count:,}", f"1 to {MOST_DESIGNS:,} designs")
        return count
    if count is not None:
        hint = "it is for other strategies; a grid has all designs"
        raise InputError.conflict("designs", "the strategy grid", hint)
    if size > MOST_DESIGNS:
        where = checked.settings.located.error("parameters", "", "").where
        found = f"a grid of {size:,} designs"
        expected = f"at most {MOST_DESIGNS:,}, or the strategy random with a number of designs"
        raise InputError(where, found, expected)
    return size
