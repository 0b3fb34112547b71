"""The walk over all spatial mappings of a layer for the least energy, with a proof.

Rows of a table of spatial mappings come in the order of their lower bounds, in rounds of blocks
that run on several threads. Kernels search them without a model of each row, as the exact search
does for energy alone. Where this is not a sum over boundaries (leakage, even mappings), or where
the user orders loops, they only bound the rows, and the exact search goes through those that are
left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite
from typing import NamedTuple, final

import numpy as np

from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model import LayerConstraints, MappingProblem, MappingType, Objective, SpatialProblem
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.spatial.lower_bounds import lower_bounds_of
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energies
from nestmap.search.temporal.exact.effort import LABELS_OF_A_ROW, LABELS_OF_A_SEARCH, Effort
from nestmap.search.temporal.exact.many import ROUNDING, RowTable, energy_bounds, least_energies
from nestmap.search.temporal.exact.operand_bounds import operand_bounds
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.space import reuses_windows

BLOCK = 32
"""Rows that a thread takes at a time."""

MOST_BLOCKS = 64
"""Blocks of the largest round."""

COMPARED_LIMITS = (1.5, 4.0)
"""Limits of the energy when rows are compared, as multiples of the lowest bound.

A row whose optimum is far above its bound takes long, unless the limit is low.
"""

Block = tuple[Ints, float]
"""Rows, and the energy that they have to be below."""

Result = tuple[Ints, Floats, int]
"""Rows, the least energy or a bound of each, and the labels of all."""


def row_table(candidates: SpatialCandidates, workers: int = 1) -> RowTable:
    """The rows as kernels read them, with the better of two lower bounds."""
    problem, table = candidates.problem, candidates.table
    computation, cheap = array_energies(problem, table), candidates.bounds()
    leakage = flatten_problem(problem).leakage * cheap.latency
    bounds = operand_bounds(problem, table, workers) + computation + leakage
    return RowTable(
        table.unrollings, table.first, computation, np.maximum(cheap.energy, bounds), leakage
    )


def bounds_of_rows(
    candidates: SpatialCandidates,
    table: RowTable,
    rows: Ints,
    below: float,
    mapping_type: MappingType,
) -> Floats:
    """[i] lower bounds of the energy (pJ) of these rows: remainders at the origin, or known ones.

    Rows keep the known bound if it is not ``below``, and all rows if the user orders loops.
    """
    if has_order(candidates.problem.constraints):
        return table.bounds[rows]
    flat, even = copy_record(flatten_problem(candidates.problem)), mapping_type is MappingType.EVEN
    return energy_bounds(flat, new_record(Work), table, rows, below, even)


def has_order(constraints: LayerConstraints) -> bool:
    """Whether the user restricts temporal mappings."""
    return bool(
        constraints.temporal_ordering or constraints.outer_ordering or constraints.memory_levels
    )


def _is_plain(problem: MappingProblem, options: ExactOptions) -> bool:
    """Whether the kernels find the optimum of a row."""
    leaks = flatten_problem(problem).leakage > 0
    is_even = options.mapping_type is MappingType.EVEN
    return not (leaks or is_even or has_order(problem.constraints) or reuses_windows(problem))


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
    if any(x.problem is not first for x in problems) or not _is_plain(first, options):
        return LeastEnergy()
    table = UnrollingTable.of(first, [x.spatial_mapping for x in problems])
    cheap, none = lower_bounds_of(first, table).energy, np.zeros(len(problems))
    known = RowTable(table.unrollings, table.first, array_energies(first, table), cheap, none)
    flat, work, rows = copy_record(flatten_problem(first)), new_record(Work), np.arange(len(none))
    for limit in (*(cheap.min() * x for x in COMPARED_LIMITS), inf):  # the minimum may be 0
        found, _ = least_energies(flat, work, known, rows, float(limit), options.labels)
        least = float(found.min())
        if least == 0.0:
            break
        if isfinite(least):
            return LeastEnergy(least, found <= least * (1 + ROUNDING))
        if least == -inf:
            break
    return LeastEnergy()


@final
class EnergyWalk:
    """The rows in the order of their bounds, and the least energy known.

    An exact search of each improving row with the best costs so far finds the optimum of all rows:
    each has a mapping with less energy (pJ) than the incumbent and all rows before it, up to the
    rounding of sums. After the last one this is proven, except for rows on which a limit ends the
    search: they are among these, and the exact search reports them as unproven. Without any row no
    mapping of any row is below the incumbent.

    When the effort is spent, the walk ends; ``left`` is the number of rows that may improve and are
    not searched then. ``labels`` counts those of the kernels.
    """

    def __init__(
        self,
        candidates: SpatialCandidates,
        incumbent: float,
        options: ExactOptions,
        effort: Effort,
    ) -> None:
        self._candidates, self._table = candidates, row_table(candidates, options.workers)
        self._order: Ints = np.argsort(self._table.bounds, kind="stable")
        self._known, self._options, self._effort = incumbent, options, effort
        self.left = self.labels = 0

    def improving(self) -> Iterator[SpatialProblem]:
        """The spatial mappings of the rows that improve.

        Raises:
            InputError: if the user's temporal ordering is unsatisfiable for a row.
        """
        return map(self._candidates.spatial, self.rows())

    def rows(self) -> Iterator[int]:
        """The rows that improve, in the order of the walk."""
        is_plain = _is_plain(self._candidates.problem, self._options)
        return self._searched() if is_plain else self._bounded()

    def _searched(self) -> Iterator[int]:
        """The walk with kernels that search each row."""
        for rows, least, _ in self._in_rounds(self._search):
            for i in np.flatnonzero(least < self._known).tolist():
                energy = float(least[i])
                if energy < self._known:
                    self._known = self._known if energy == -inf else energy
                    yield int(rows[i])

    def _bounded(self) -> Iterator[int]:
        """The walk with kernels that bound each row, and an exact search of those left."""
        for rows, bounds, _ in self._in_rounds(self._bound):
            order = np.argsort(bounds, kind="stable")
            for n, i in enumerate(order.tolist()):
                if bounds[i] >= self._known:
                    break
                if self._effort.is_spent:
                    self.left += int(np.count_nonzero(bounds[order[n:]] < self._known))
                    break
                row = int(rows[i])
                least, is_proven = self._exact_energy(row)
                if least < self._known or not is_proven:
                    self._known = min(self._known, least)
                    yield row

    def _in_rounds(self, run: Callable[[Block], Result]) -> Iterator[Result]:
        """The results of all blocks that may improve, in their order.

        The blocks of a round have the same limit, so results do not depend on the number of
        workers. Each round has twice as many as the one before, as the first ones lower the limit,
        but not more than the effort that is left is likely to allow.
        """
        first, blocks = 0, 1
        while first < len(self._order):
            if self._effort.is_spent:
                rest = self._table.bounds[self._order[first:]]
                self.left += int(np.count_nonzero(rest < self._known))
                return
            before, done = self._effort.labels, 0
            round_ = self._blocks(first, first + blocks * BLOCK)
            for result in map_in_order(run, round_, self._options.workers):
                self._effort.spend(result[2] + len(result[0]) * LABELS_OF_A_ROW)
                self.labels += result[2]
                done += len(result[0])
                yield result
            if not done and not self._effort.is_spent:
                return
            share = max(before - self._effort.labels, 1) / blocks
            most = max(1, int(self._effort.labels / share))
            first, blocks = first + done, min(2 * blocks, MOST_BLOCKS, most)

    def _blocks(self, first: int, last: int) -> Iterator[Block]:
        known = self._known
        for start in range(first, min(last, len(self._order)), BLOCK):
            if self._table.bounds[self._order[start]] >= known or self._effort.clock.is_late:
                return
            yield self._order[start : start + BLOCK], known

    def _search(self, block: Block) -> Result:
        (rows, below), labels = block, self._options.labels
        flat = copy_record(flatten_problem(self._candidates.problem))
        least, made = least_energies(flat, new_record(Work), self._table, rows, below, labels)
        return rows, least, made

    def _bound(self, block: Block) -> Result:
        (rows, below), mapping_type = block, self._options.mapping_type
        return rows, bounds_of_rows(self._candidates, self._table, rows, below, mapping_type), 0

    def _exact_energy(self, row: int) -> tuple[float, bool]:
        """The least energy that the exact search finds, and whether none is below."""
        incumbents = ((self._known, inf),) if self._known < inf else ()
        task = SearchTask(self._candidates.spatial(row), incumbents, start=False)
        batches = list(exact(task, Objective.ENERGY, self._options))
        least = min((float(batch.energy.min()) for batch in batches if len(batch)), default=inf)
        end = batches[-1].statistics
        self._effort.spend(end.labels + LABELS_OF_A_SEARCH)
        return least, not end.unproven
