"""The walk over all spatial mappings of a layer for the best of them, with a proof.

Rows of a table of spatial mappings come in the order of their lower bounds, in rounds of blocks
that run on several threads. Kernels search them without a model of each row. Where energy is a sum
over boundaries, they find the least energy of a row. Elsewhere they show of most rows that none of
their mappings is better than the best one known, and the exact search goes through those left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite
from typing import NamedTuple, final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model import (
    EvaluationBatch,
    LayerConstraints,
    MappingProblem,
    MappingType,
    Objective,
    SpatialProblem,
    front_rows,
)
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import gap_to
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.spatial.lower_bounds import lower_bounds_of
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energies
from nestmap.search.temporal.exact.effort import (
    LABELS_OF_A_ROW,
    LABELS_OF_A_SEARCH,
    LABELS_OF_AN_ENERGY_ROW,
    Effort,
)
from nestmap.search.temporal.exact.fitting_rows import different_rows
from nestmap.search.temporal.exact.incumbents import Costs, Incumbents
from nestmap.search.temporal.exact.least_energy import ROUNDING, least_energies
from nestmap.search.temporal.exact.operand_bounds import operand_bounds
from nestmap.search.temporal.exact.rows import RowTable, bound_row
from nestmap.search.temporal.exact.search import LABELS_OF_A_SUM, ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.space import reuses_windows

BLOCK = 32
"""Rows that a thread takes at a time."""

MOST_BLOCKS = 64
"""Blocks of the largest round."""

STAGES = (1 / 50, 2 / 5, 4)
"""Labels of the searches of rows, as multiples of the usual limit.

Rows that take more wait until the others have lowered the limit.
"""

COMPARED_LIMITS = (1.5, 4.0)
"""Limits of the energy when rows are compared, as multiples of the lowest bound.

A row whose optimum is far above its bound takes long, unless the limit is low.
"""


MOST_FINISHED = 40
"""Rows that are left after the last stage, and searched as rows are that are searched alone."""


class Block(NamedTuple):
    """Rows, the costs on which they have to improve, and the work that they may take (labels)."""

    rows: Ints
    known: Incumbents
    work: int


class Found(NamedTuple):
    """A row that improves on those before it in its block, or that is unproven."""

    row: int
    costs: tuple[Costs, ...]
    bound: float  # infinite if the search is complete


class Result(NamedTuple):
    """What a block has found, the labels made, and the work in labels, tables included."""

    found: Sequence[Found]
    labels: int
    work: int

    def then(self, other: Result) -> Result:
        """Both together."""
        found = [*self.found, *other.found]
        return Result(found, self.labels + other.labels, self.work + other.work)


def row_table(
    candidates: SpatialCandidates, known: Incumbents, is_searched: bool = False, workers: int = 1
) -> RowTable:
    """The rows as kernels read them, with lower bounds; the better of two of the energy.

    Bounds of rows that do not improve on what is known may be lower than they could be; see
    :func:`~nestmap.search.temporal.exact.operand_bounds.operand_bounds`.
    """
    problem, table = candidates.problem, candidates.table
    computation, cheap = array_energies(problem, table), candidates.bounds
    constant = computation + flatten_problem(problem).leakage * cheap.latency

    def improves(memories: Floats) -> Flags:
        return known.improved_by(np.maximum(cheap.energy, memories + constant), cheap.latency)

    energy = cheap.energy
    if known.objective is not Objective.LATENCY:
        bounds = operand_bounds(problem, table, improves, is_searched, workers) + constant
        energy = np.maximum(energy, bounds)
    return RowTable(table.unrollings, table.first, computation, energy, cheap.latency)


def has_order(constraints: LayerConstraints) -> bool:
    """Whether the user restricts temporal mappings."""
    return bool(
        constraints.temporal_ordering or constraints.outer_ordering or constraints.memory_levels
    )


def _is_plain(problem: MappingProblem, objective: Objective | None, options: ExactOptions) -> bool:
    """Whether the kernels find the optimum of a row."""
    leaks = flatten_problem(problem).leakage > 0
    is_even = options.mapping_type is MappingType.EVEN
    is_sum = objective is Objective.ENERGY and not (leaks or is_even)
    is_free = not (has_order(problem.constraints) or reuses_windows(problem))
    return is_sum and is_free


class LeastEnergy(NamedTuple):
    """The least energy of some spatial mappings (pJ), and which of them may have it.

    Without flags it is unknown.
    """

    energy: float = -inf
    may_have_it: Flags = np.empty(0, np.bool_)  # [i]


def least_energy_of(problems: Sequence[SpatialProblem], options: ExactOptions) -> LeastEnergy:
    """The least energy of some spatial mappings, found without an exact search of each.

    Unknown where the kernels do not find the optimum, nothing fits, or nothing takes energy: no row
    is below another one then.
    """
    first = problems[0].problem
    if any(x.problem is not first for x in problems) or not _is_plain(
        first, Objective.ENERGY, options
    ):
        return LeastEnergy()
    table = UnrollingTable.of(first, [x.spatial_mapping for x in problems])
    cheap, rows = lower_bounds_of(first, table), np.arange(len(problems))
    known = RowTable(table.unrollings, table.first, array_energies(first, table), *cheap)
    flat, work, labels = copy_record(flatten_problem(first)), new_record(Work), options.labels
    for limit in (*(cheap.energy.min() * x for x in COMPARED_LIMITS), inf):  # it may be 0
        found, _ = least_energies(flat, work, known, rows, (float(limit), labels))
        least = float(found.min())
        if least == 0.0:
            break
        if isfinite(least):
            return LeastEnergy(least, found <= least * (1 + ROUNDING))
        if least == -inf:
            break
    return LeastEnergy()


class WalkState(NamedTuple):
    """How far a walk is.

    ``done`` rows of a stage are searched, ``left`` of all may still improve on the ``best`` mapping
    (energy in pJ, latency in cycles) by up to ``gap``, a share of it; both are ``None`` without a
    mapping, and for a front. ``work`` is the share of the effort that is spent.
    """

    objective: Objective | None
    done: int
    left: int
    best: Costs | None
    gap: float | None
    work: float


Watch = Callable[[WalkState], None]
"""Is told how far a walk is."""


@final
class Walk:
    """The rows in the order of their bounds, and the best costs known.

    An exact search of each improving row with the best costs so far and as many labels finds the
    optimum of all rows, or their front: each has a mapping that improves on the incumbents and on
    all rows before it, up to the rounding of sums. Rows come in stages: with few labels, then those
    left with more. After the last one this is proven, except for ``unproven`` rows: those on which
    a limit ends the search, and those that are left when the effort is spent. ``bound`` is the
    lowest bound of these and of all that is known to be worse than the best costs. Without any row
    no mapping of any row improves on the incumbents. Rows that cost the same under every temporal
    mapping are searched once; see :mod:`nestmap.search.temporal.exact.equal_rows`. Those known to
    be ``proven``, whose mappings do not improve on the incumbents, are not searched.

    ``labels`` counts those of the kernels and of the searches of rows that do not improve.
    """

    def __init__(
        self,
        candidates: SpatialCandidates,
        known: Incumbents,
        options: ExactOptions,
        effort: Effort,
        watch: Watch | None = None,
        proven: Sequence[int] = (),
    ) -> None:
        objective = known.objective
        cheap = candidates.bounds
        improving = np.flatnonzero(known.improved_by(cheap.energy, cheap.latency))
        searched = improving[different_rows(candidates.take(improving))]
        searched = searched[~np.isin(searched, proven)]
        self._every, self._places = candidates, searched
        self._candidates = candidates.take(searched)
        self._known = known
        self._options, self._effort = options, effort
        self._watch, self._whole, self._late = watch, effort.labels, list[int]()
        self._is_plain = _is_plain(candidates.problem, objective, options)
        self._table = row_table(self._candidates, known, self._is_plain, options.workers)
        energy, latency = self._table.energy, self._table.latency
        self._bounds = known.value_of(energy, latency)
        self._order: Ints = np.lexsort((energy, self._bounds))
        self._improving, self._is_over = set[int](), False
        self.labels = 0

    @property
    def pruned(self) -> int:
        """How many rows are neither among those that improve nor unproven."""
        return len(self._every) - len(self._improving.union(self._order.tolist()))

    @property
    def unproven(self) -> int:
        """How many rows are not proven."""
        return len(self._order)

    @property
    def bound(self) -> float:
        """No mapping of any row has a lower objective, or none is better than the incumbents."""
        return min(self._known.limit, float(self._bounds[self._order].min(initial=inf)))

    @property
    def left(self) -> list[Costs]:
        """Lower bounds of energy and latency of the rows that are not proven, the lowest of all."""
        energy, latency = self._table.energy[self._order], self._table.latency[self._order]
        lowest = front_rows(energy, latency)
        return list(zip(energy[lowest].tolist(), latency[lowest].tolist(), strict=True))

    def improving(self) -> Iterator[tuple[SpatialProblem, int]]:
        """The spatial mappings of the rows that improve, and the labels that their search takes.

        Raises:
            InputError: if the user's temporal ordering is unsatisfiable for a row.
        """
        for row, labels in self.rows():
            yield self._every.spatial(row), labels

    def rows(self) -> Iterator[tuple[int, int]]:
        """The rows that improve, in the order of the walk, and the labels of their search."""
        usual = self._options
        for share in STAGES:
            self._options = copy_with(usual, {"labels": max(1, int(usual.labels * share))})
            yield from self._stage()

    def finish(
        self, search: Callable[[SpatialProblem], Iterator[EvaluationBatch]]
    ) -> Iterator[EvaluationBatch]:
        """Searches the most promising rows that are left, as long as effort is left.

        Otherwise a search over fewer spatial mappings, which has more work for each, might find
        more. What ``search`` shows of a row counts.
        """
        for row in self._order[:MOST_FINISHED].tolist():
            if self._effort.is_spent or self._bounds[row] >= self._known.limit:
                break
            unproven, bound = 0, float(self._bounds[row])
            for batch in search(self._candidates.spatial(row)):
                self._known = self._known.with_batch(batch)
                unproven += batch.statistics.unproven
                shown, objective = batch.statistics.bounds, self._known.objective
                if shown is not None and objective is not None:
                    bound = max(bound, shown.of(objective))
                yield batch
            self._improving.add(row)
            self._bounds[row] = bound if unproven else inf
        self._order = self._order[self._bounds[self._order] < self._known.limit]

    def _stage(self) -> Iterator[tuple[int, int]]:
        """Searches all rows that are left; those on which a limit ends the search stay."""
        self._late = list[int]()
        for row, costs, bound in self._in_rounds():
            better = self._known.with_costs(costs)
            improves = better.costs != self._known.costs
            self._known = better
            if bound < inf:
                self._bounds[row] = max(bound, self._bounds[row])
                self._late.append(row)
            if improves:
                self._improving.add(row)
                yield int(self._places[row]), self._options.labels
        rows = np.array(self._late, np.int64)
        rows = rows[self._bounds[rows] < self._known.limit]
        self._order = rows[np.argsort(self._bounds[rows], kind="stable")]

    def _in_rounds(self) -> Iterator[Found]:
        """What all blocks find, in their order, and the rows for which no effort is left.

        The blocks of a round have the same limits, so results do not depend on the number of
        workers. Each round has twice as many as the one before, as the first ones lower the limit,
        but not more than the effort that is left is likely to allow.
        """
        first, blocks = 0, 1
        while first < len(self._order) and not self._effort.is_spent:
            before, count, self._is_over = self._effort.labels, 0, False
            some, workers = self._blocks(first, blocks), self._options.workers
            for block in map_in_order(self._search, some, workers, self._stop):
                self._effort.spend(block.work)
                self.labels += block.labels
                count += 1
                yield from block.found
                if self._watch is not None:
                    self._watch(self._state(first + count * BLOCK))
            if not count and not self._effort.is_spent:
                return
            share = max(before - self._effort.labels, 1) / blocks
            most = max(1, int(self._effort.labels / share))
            first, blocks = first + count * BLOCK, min(2 * blocks, MOST_BLOCKS, most)
        for row in self._order[first:].tolist():
            yield Found(row, (), float(self._bounds[row]))

    def _state(self, done: int) -> WalkState:
        """How far the walk is after so many rows of the order."""
        known, late = self._known, self._bounds[self._late]
        ahead = self._bounds[self._order[done:]]
        left = int(np.count_nonzero(ahead < known.limit) + np.count_nonzero(late < known.limit))
        best = known.costs[0] if known.objective is not None and known.costs else None
        least = min(known.limit, ahead.min(initial=inf), late.min(initial=inf))
        gap = None if best is None else gap_to(float(least), known.limit / known.share)
        work = 1 - max(0, self._effort.labels) / self._whole
        return WalkState(known.objective, min(done, len(self._order)), left, best, gap, work)

    def _blocks(self, first: int, count: int) -> Iterator[Block]:
        """Up to so many blocks from a row on, until no row may improve any more."""
        known, work = self._known, self._effort.labels // count
        last = min(first + count * BLOCK, len(self._order))
        for start in range(first, last, BLOCK):
            rows = self._order[start : start + BLOCK]
            if self._bounds[rows[0]] >= known.limit or self._effort.clock.is_late:
                return
            yield Block(rows, known, work)

    def _search(self, block: Block) -> Result:
        """Searches the rows one by one, until the labels are spent."""
        known, labels, work, found = block.known, 0, 0, list[Found]()
        flat = copy_record(flatten_problem(self._candidates.problem))
        slack = 1 + ROUNDING if self._is_plain else 1.0  # of equal energies the latency counts
        for row in block.rows.tolist():
            if work > block.work or self._is_over or self._effort.clock.is_late:
                found.append(Found(row, (), float(self._bounds[row])))
                continue
            one = (self._least if self._is_plain else self._improve)(flat, row, known)
            labels, work, found = labels + one.labels, work + one.work, [*found, *one.found]
            for costs in (costs for x in one.found for costs in x.costs):
                known = known.with_costs([(costs[0] * slack, costs[1])])
        return Result(found, labels, work)

    def _least(self, flat: FlatProblem, row: int, known: Incumbents) -> Result:
        """Kernels find the least energy; the exact search tries again where a limit ends theirs."""
        options, rows = self._options, np.array([row], np.int64)
        limits = known.limit, options.labels
        least, labels = least_energies(flat, new_record(Work), self._table, rows, limits)
        work = labels // LABELS_OF_A_SUM + LABELS_OF_AN_ENERGY_ROW
        made, energy = Result([], labels, work), float(least[0])
        if energy == -inf:
            return made.then(self._search_row(row, float(self._bounds[row]), known))
        found = [Found(row, ((energy, inf),), inf)] if energy < known.limit else []
        return made._replace(found=found)

    def _improve(self, flat: FlatProblem, row: int, known: Incumbents) -> Result:
        """Kernels bound the row; the exact search finds what may improve."""
        bound, made = float(self._bounds[row]), Result([], 0, 0)
        if not has_order(self._candidates.problem.constraints):
            bound, labels = bound_row(flat, self._table, row, known, self._options)
            made = Result([], labels, labels + LABELS_OF_A_ROW)
        return made if bound >= known.limit else made.then(self._search_row(row, bound, known))

    def _stop(self) -> None:
        """Ends the blocks of a round that still run."""
        self._is_over = True

    def _search_row(self, row: int, bound: float, known: Incumbents) -> Result:
        """The exact search of a row."""
        task = SearchTask(self._candidates.spatial(row), known.costs, start=False)
        batches = list(exact(task, known.objective, self._options))
        end, better = batches[-1].statistics, known
        for batch in batches:
            better = better.with_batch(batch)
        if not end.unproven:
            bound = inf
        elif known.objective is not None and end.bounds is not None:
            bound = max(bound, end.bounds.of(known.objective))
        found = Found(row, better.costs, bound)
        return Result([found], end.labels, end.labels + LABELS_OF_A_SEARCH)
