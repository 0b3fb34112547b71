"""Chooses the designs of a sweep that meet the constraints: all, some at random, or sampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, final

from nestmap.model import InputError, Objective
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import expression_of
from nestmap.model.design_space.parameters import Parameter
from nestmap.model.design_space.space import Design, is_derived
from nestmap.model.evaluation.objective import DesignQuantity
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.result.summary import Figures, figures_of
from nestmap.pipeline.sweep.space.swept_space import SweptSpace
from nestmap.pipeline.util.extras import check_installed
from nestmap.pipeline.util.quiet_optuna import quiet_optuna

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

# --- lets those designs of a space pass that meet its constraints ---


@final
@dataclass(slots=True)
class ConstraintSieve:
    """Lets designs pass that meet all constraints, those over parameters first.

    A design whose description is refused passes: it gets a row with the reason.
    """

    checked: SweptSpace
    tried: int = 0
    found: int = 0
    met: dict[int, int] = field(default_factory=dict[int, int])
    """How many designs meet a constraint and all before it, by its number."""

    def passed(self, numbers: Iterator[int]) -> Iterator[Design]:
        """The designs that pass, in order."""
        for number in numbers:
            design = self.checked.settings.design(number)
            if self.lets_pass(design):
                self.checked.settings.check(design)
                yield design

    def lets_pass(self, design: Design) -> bool:
        """Whether a design passes, which counts as tried.

        Raises:
            InputError: where an expression has no value or one that its field does not take; one
                that is an objective, unless it needs what mappings cost.
        """
        self.tried += 1
        is_met = self._meets(design, self._order())
        if is_met:
            self._check_objectives(design)
            self.found += 1
        return is_met

    def _check_objectives(self, design: Design) -> None:
        for n, objective in enumerate(self.checked.settings.space.objectives):
            names = expression_of(objective).names
            if objective is DesignQuantity.AREA or any(x.value in names for x in Objective):
                continue
            values: dict[str, Value] = design.values
            if DesignQuantity.AREA.value in names:
                try:
                    values[DesignQuantity.AREA.value] = self.checked.figures(design).area
                except InputError:  # it gets a row with the reason
                    return
            self.checked.settings.check_objective(n, design.number, values)

    def error(self) -> InputError:
        """The error about a constraint that no design meets, or all together."""
        left = self.tried
        for n in self._order():
            if not self.met.get(n):
                tried = f"{left:,} design{'s' * (left != 1)}"
                others = "" if left == self.tried else " that meet the other constraints"
                constraint = self.checked.settings.space.constraints[n]
                found = f"{constraint}, which none of {tried}{others} meets"
                expected = "a constraint that some designs meet"
                return self.checked.settings.located.error(f"constraints[{n}]", found, expected)
            left = self.met[n]
        raise AssertionError("a design has met all constraints")

    def _order(self) -> list[int]:
        """The numbers of the constraints, those that need no accelerator first."""
        return sorted(
            range(len(self.checked.settings.space.constraints)), key=self._is_of_accelerator
        )

    def _is_of_accelerator(self, number: int) -> bool:
        return any(map(is_derived, self.checked.settings.space.constraints[number].names))

    def _meets(self, design: Design, order: list[int]) -> bool:
        values: dict[str, Value] = design.values
        has_quantities = False
        for n in order:
            if self._is_of_accelerator(n) and not has_quantities:
                self.checked.settings.check(design)
                try:
                    values |= self.checked.quantities(design)
                except InputError:
                    return True
                has_quantities = True
            if not self.checked.settings.meets(n, values):
                return False
            self.met[n] = self.met.get(n, 0) + 1
        return True


# --- A random order of all designs of a space, however many there are ---


def shuffled(size: int, seed: int) -> Iterator[int]:
    """All numbers below ``size`` in random order, each once; ``size`` may be astronomic.

    Takes memory for those that have been given out only, by Fisher and Yates' method.
    """
    random, moved = Random(seed), dict[int, int]()
    for n in range(size):
        place = random.randrange(n, size)
        yield moved.get(place, place)
        moved[place] = moved.get(n, n)


# --- chooses designs by what is known of those before: Optuna's samplers, batch by batch ---
# A batch has a fixed number of designs, all chosen before the first of them is explored, so that
# the designs of a sweep do not depend on how many are explored at a time.
#
# Sources: NSGA-II (Deb et al., IEEE TEC 6(2), 2002) and the multi-objective tree-structured Parzen
# estimator (Ozaki et al., GECCO 2020) as Optuna implements them.

POPULATION: Final = 12
"""Designs of a generation of NSGA-II: a sweep of 60 has five generations to improve in."""

TPE_BATCH: Final = 8
"""Designs that TPE chooses before it knows the first of them."""

MOST_REPEATS: Final = 20
"""How many designs a sampler may choose in vain for each of a batch, before chance fills it up.

In vain are designs that are known, or do not meet the constraints.
"""

_VIOLATED: Final = "violated"

Known: TypeAlias = dict[int, Figures | None]
"""The figures of designs that were tried, by number; none without them."""


class Sampler(StrEnum):
    """A sampler of Optuna."""

    NSGA2 = "nsga2"
    TPE = "tpe"

    @property
    def batch(self) -> int:
        """How many designs it chooses at a time."""
        return POPULATION if self is Sampler.NSGA2 else TPE_BATCH

    def make(self, seed: int) -> BaseSampler:
        """The sampler; equal seeds give equal designs."""
        from optuna.samplers import NSGAIISampler, TPESampler  # noqa: PLC0415 (optional, slow)

        if self is Sampler.NSGA2:
            return NSGAIISampler(
                population_size=POPULATION, seed=seed, constraints_func=_constraints
            )
        return TPESampler(seed=seed, constraints_func=_constraints)


def _constraints(trial: FrozenTrial) -> tuple[float]:
    """Positive where a design has no figures, or does not meet the constraints of the space."""
    return (float(trial.user_attrs[_VIOLATED]),)


@final
@dataclass(slots=True)
class SampledDesigns:
    """So many different designs that a sampler chooses; fewer if the space has no more.

    Raises:
        InputError: where Optuna is not installed.
    """

    checked: SweptSpace
    sampler: Sampler
    most: int
    seed: int
    rejected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_installed(f"the strategy {self.sampler}", ("optuna",), "optuna")

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignPoints]:
        """The results of all designs, in the order in which they are chosen.

        Raises:
            InputError: where no design meets the constraints.
        """
        asking = _Asking.of(self.checked, self.sampler, self.seed)
        found = 0
        while found < self.most:
            batch = asking.next_batch(min(self.sampler.batch, self.most - found))
            self.rejected = asking.sieve.tried - found - len(batch)
            if not batch and not found:
                raise asking.sieve.error()
            if not batch:
                return
            for trial, points in zip(batch.values(), explore(list(batch)), strict=True):
                found += 1
                asking.tell(trial, points)
                yield points


_Batch: TypeAlias = "dict[Design, Trial | None]"
"""Designs to explore, and the trial of each that the sampler chose."""


@final
@dataclass(slots=True)
class _Asking:
    """A study of Optuna, and what it has been told."""

    checked: SweptSpace
    study: Study
    distributions: dict[str, BaseDistribution]
    random: Iterator[int]
    sieve: ConstraintSieve
    known: Known = field(default_factory=Known)

    @staticmethod
    def of(checked: SweptSpace, sampler: Sampler, seed: int) -> _Asking:
        """A new study of the space."""
        from optuna.study import StudyDirection, create_study  # noqa: PLC0415 (optional, slow)

        space = checked.settings.space
        with quiet_optuna():
            study = create_study(
                sampler=sampler.make(seed),
                directions=[StudyDirection.MINIMIZE for _ in space.objectives],
            )
            distributions = {x.name: _distribution(x) for x in space.free if len(x.values) > 1}
        return _Asking(
            checked, study, distributions, shuffled(space.size, seed), ConstraintSieve(checked)
        )

    def next_batch(self, count: int) -> _Batch:
        """The next designs that meet the constraints, each for the first time; none at the end."""
        batch: _Batch = {}
        for _ in range(MOST_REPEATS * count):
            if len(batch) == count or len(self.known) == self.checked.settings.space.size:
                break
            self._ask(batch)
        while len(batch) < count:
            number = next((n for n in self.random if n not in self.known), None)
            if number is None:
                break
            design = self._allowed(number)
            if design is not None:
                batch[design] = None
        return batch

    def _ask(self, batch: _Batch) -> None:
        """Adds the sampler's choice to the batch unless it is known."""
        with quiet_optuna():
            trial = self.study.ask(self.distributions)
        number = self._number(trial)
        if number in self.known:
            self._tell(trial, self.known[number])
            return
        design = self._allowed(number)
        if design is None:
            self._tell(trial, None)
        else:
            batch[design] = trial

    def _allowed(self, number: int) -> Design | None:
        """The design, unless it does not meet the constraints; without figures for now."""
        self.known[number] = None
        try:
            design = self.checked.settings.design(number)
            return design if self.sieve.lets_pass(design) else None
        except InputError:  # an expression has no value
            return None

    def _number(self, trial: Trial) -> int:
        """The number of the design that a trial stands for."""
        number = 0
        for parameter in self.checked.settings.space.free:
            place: int = trial.params.get(parameter.name, 0)
            number = number * len(parameter.values) + place
        return number

    def tell(self, trial: Trial | None, points: DesignPoints) -> None:
        """Tells the sampler what a design of a batch costs; of one by chance, too.

        Each objective has the lowest value of the design's points: what the design can reach.
        """
        number = points[0].number
        objectives = self.checked.settings.space.objectives
        reached = [x for point in points if (x := figures_of(point, objectives)) is not None]
        figures = tuple(map(min, zip(*reached, strict=True))) if reached else None
        self.known[number] = figures
        if trial is None:
            with quiet_optuna():
                self.study.enqueue_trial(self._places(number))
                trial = self.study.ask(self.distributions)
        self._tell(trial, figures)

    def _places(self, number: int) -> dict[str, int]:
        places: dict[str, int] = {}
        for parameter in reversed(self.checked.settings.space.free):
            number, place = divmod(number, len(parameter.values))
            if len(parameter.values) > 1:
                places[parameter.name] = place
        return places

    def _tell(self, trial: Trial, figures: Figures | None) -> None:
        with quiet_optuna():
            trial.set_user_attr(_VIOLATED, figures is None)
            values = [0.0] * len(self.study.directions) if figures is None else list(figures)
            self.study.tell(trial, values)


def _distribution(parameter: Parameter) -> BaseDistribution:
    """The places of values: near to each other if they are ascending numbers, else unrelated."""
    from optuna.distributions import CategoricalDistribution, IntDistribution  # noqa: PLC0415 (optional, slow)

    values = parameter.values
    numbers = [x for x in values if not isinstance(x, bool | str)]
    if len(numbers) == len(values) and numbers == sorted(numbers):
        return IntDistribution(0, len(values) - 1)
    return CategoricalDistribution(tuple(range(len(values))))


# --- chooses the designs of a sweep that meet the constraints ---

MOST_DESIGNS: Final = 1_000_000
"""The largest number of designs of a sweep."""

MOST_TRIES: Final = 1000
"""How many designs a random choice tries at most for each that it finds, and for ten more."""


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

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignPoints]:
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

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignPoints]:
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
    sieve = ConstraintSieve(checked)
    numbers = _random_numbers(size, seed, sieve) if is_random else iter(range(size))
    chosen = tuple(islice(sieve.passed(numbers), most))
    if not chosen:
        raise sieve.error()
    return ChosenDesigns(chosen, sieve.tried - len(chosen))


def _random_numbers(size: int, seed: int, sieve: ConstraintSieve) -> Iterator[int]:
    """Numbers of designs in random order, until too few of them have passed."""
    for number in shuffled(size, seed):
        if sieve.tried >= MOST_TRIES * (sieve.found + 10):
            return
        yield number


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
