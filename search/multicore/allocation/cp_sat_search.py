"""Inter-core allocation by constraint programming: the least latency, with a proof or a gap.

No model covers everything that the scheduler does, so CP-SAT solves a relaxation: it returns the
allocation with the smallest lower bound of latency. The scheduler determines its true latency, and
that allocation is excluded. The next solution bounds all remaining allocations from below; once the
bound reaches the best scheduled latency, that allocation is proven optimal.
"""

from collections.abc import Sequence
from time import monotonic
from typing import Annotated, Final, final

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.multicore.allocation import Allocation, Individual, StreamBound
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.units import Count, PositiveCount, Seed
from nestmap.search.multicore.allocation.genetic import Evaluate
from nestmap.search.multicore.allocation.lower_bounds import Bounds
from nestmap.search.multicore.allocation.requirements import Choices, Requirements

CALLS: Final = 4
"""The share of the remaining work that one CP-SAT call may use, so that others can follow."""

LEAST_WORK: Final = 1e-3
"""The least work counted for a CP-SAT call, so that a sequence of short calls also terminates."""


class ConstraintOptions(Frozen, frozen=True):
    """Limits for the search for a proof.

    Attributes:
        work: CP-SAT's deterministic work units, each about a second; the result is reproducible.
        time_limit: seconds after which the search stops; the result then depends on the machine.
        max_evaluations: the most allocations to schedule.
        detail: nodes times cores, and tensors, up to which the program models all their times; up
            to a hundred times as many it models the paths of nodes, beyond that only loads.
        seed: the random seed of CP-SAT.
    """

    work: Annotated[float, Field(gt=0)] = 30.0
    time_limit: Annotated[float, Field(gt=0)] | None = None
    max_evaluations: PositiveCount = 10_000
    detail: Count = 500
    seed: Seed = 0


def prove(
    problem: ScheduleProblem,
    evaluate: Evaluate,
    options: ConstraintOptions | None = None,
    seeds: Sequence[Allocation] = (),
) -> StreamBound:
    """Searches for the allocation with the least latency and a proof of it, within the limits.

    Requires OR-Tools. Equal cores are not treated as interchangeable, since the scheduler may break
    ties by core number. Memory capacities are not modelled: evictions only make a schedule longer.

    Args:
        problem: the scheduling problem.
        evaluate: schedules allocations.
        options: the limits.
        seeds: initial allocations.
    """
    proof = Proof(problem, evaluate, options or ConstraintOptions())
    proof.schedule(seeds)
    while proof.step():
        pass
    return proof.result


@final
class Proof:
    """A search for the best allocation, step by step."""

    def __init__(
        self, problem: ScheduleProblem, evaluate: Evaluate, options: ConstraintOptions
    ) -> None:
        # OR-Tools takes seconds to import, so only its users should pay for that
        from nestmap.search.multicore.allocation import cp_sat_model as program  # noqa: PLC0415

        self._evaluate = evaluate
        self._options = options
        self._limits = program.Limits
        self._until = None if options.time_limit is None else monotonic() + options.time_limit
        self._costs = problem.costs
        self._demands = Requirements(problem)
        self._possible = all(self._demands.columns)
        if self._possible:
            self._program = program.Program(self._demands, options.detail)
        self._known: dict[Allocation, Individual] = {}
        self._best: Individual | None = None
        self._bound = self._program.bounds.latency if self._possible else 0
        self._left = options.work
        self._exhausted = not self._possible

    @property
    def result(self) -> StreamBound:
        """The best allocation and the bound so far."""
        least = self._least
        proven = self._exhausted or (least is not None and least <= self._bound)
        bound = least if proven and least is not None else self._bound
        return StreamBound(
            best=self._best, bound=bound, proven=proven, evaluations=len(self._known)
        )

    def schedule(self, allocations: Sequence[Allocation]) -> None:
        """Schedules allocations and excludes them from the search."""
        new = [x for x in dict.fromkeys(allocations) if x not in self._known]
        new = new[: self._options.max_evaluations - len(self._known)]
        for allocation, fitness in zip(new, self._evaluate(new) if new else (), strict=True):
            made = Individual(allocation=allocation, fitness=fitness)
            self._known[allocation] = made
            if fitness is not None and (self._least is None or fitness.latency < self._least):
                self._best = made
            if self._possible:
                self._program.cut(self._columns(allocation))

    def step(self) -> bool:
        """Examines one more allocation; false if none is necessary or allowed."""
        if self.result.proven or self._left <= 0 or self._is_late:
            return False
        most = None if self._least is None else self._least - 1
        self._program.keep(self._bound, most)
        work = max(self._left / CALLS, LEAST_WORK)
        answer = self._program.solve(self._limits(work, self._seconds, self._options.seed))
        self._left -= answer.work + LEAST_WORK
        self._exhausted = answer.exhausted
        self._bound = max(self._bound, answer.bound)
        if len(self._known) >= self._options.max_evaluations:
            return False
        if answer.columns is not None:
            self._look(answer.columns)
        return True

    def _look(self, columns: tuple[int, ...]) -> None:
        """Schedules an allocation, or excludes it together with all that are provably no better."""
        choices = tuple((column,) for column in columns)
        if self._is_worse(choices):
            self._program.cut(self._widened(choices))
        else:
            self.schedule([tuple(self._costs.cores[column] for column in columns)])

    def _widened(self, choices: Choices) -> Choices:
        """Adds choices to each group while no allocation can be better than the best."""
        for gene, columns in enumerate(self._demands.columns):
            wider = (*choices[:gene], columns, *choices[gene + 1 :])
            choices = wider if self._is_worse(wider) else choices
        return choices

    def _is_worse(self, choices: Choices) -> bool:
        least = self._least
        return least is not None and Bounds(self._demands.among(choices), choices).latency >= least

    def _columns(self, allocation: Allocation) -> Choices:
        return tuple((self._costs.column(core),) for core in allocation)

    @property
    def _least(self) -> int | None:
        fitness = self._best.fitness if self._best else None
        return fitness.latency if fitness else None

    @property
    def _seconds(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - monotonic())

    @property
    def _is_late(self) -> bool:
        return self._seconds == 0.0
