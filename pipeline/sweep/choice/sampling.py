"""Chooses designs by what is known of those before: Optuna's samplers, batch by batch.

A batch has a fixed number of designs, all chosen before the first of them is explored, so that the
designs of a sweep do not depend on how many are explored at a time.

Sources: NSGA-II (Deb et al., IEEE TEC 6(2), 2002) and the multi-objective tree-structured Parzen
estimator (Ozaki et al., GECCO 2020) as Optuna implements them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias, final

from nestmap.model import InputError
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.parameters import Parameter
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.sweep.choice.constraint_sieve import ConstraintSieve
from nestmap.pipeline.sweep.choice.random_order import shuffled
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.result.front import Figures, figures_of
from nestmap.pipeline.sweep.space.swept_space import SweptSpace
from nestmap.pipeline.util.extras import check_installed
from nestmap.pipeline.util.quiet_optuna import quiet_optuna

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

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

    def explored(self, explore: ExploreDesigns) -> Iterator[DesignResult]:
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
            for trial, result in zip(batch.values(), explore(list(batch)), strict=True):
                found += 1
                asking.tell(trial, result)
                yield result


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

    def tell(self, trial: Trial | None, result: DesignResult) -> None:
        """Tells the sampler what a design of a batch costs; of one by chance, too."""
        figures = figures_of(result, self.checked.settings.space.objectives)
        self.known[result.number] = figures
        if trial is None:
            with quiet_optuna():
                self.study.enqueue_trial(self._places(result.number))
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
