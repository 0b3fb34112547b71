"""All spatial mappings of a layer that the generator can make, with their lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import copy_record
from nestmap.costmodel.spatial import FACTOR, put_unrollings, temporal_sizes
from nestmap.model import MappingProblem, SpatialMapping, SpatialProblem
from nestmap.model.arrays import Flags, Ints, Rows
from nestmap.search.spatial.candidates import choices_by_side, most_unrolled
from nestmap.search.spatial.capacity import reduce_to_capacity
from nestmap.search.spatial.combinations import Choice, all_combinations
from nestmap.search.spatial.dataflow import with_dataflow
from nestmap.search.spatial.lower_bounds import BoundColumns, lower_bounds_of
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energy, mapping_of


@final
@dataclass(frozen=True, eq=False)
class SpatialCandidates:
    """Spatial mappings of one layer, as a table; models are made of single rows on request."""

    problem: MappingProblem
    table: UnrollingTable

    def __len__(self) -> int:
        return self.table.rows

    def take(self, rows: Rows) -> SpatialCandidates:
        """These rows, in this order."""
        return SpatialCandidates(self.problem, self.table.take(rows))

    def union(self, other: SpatialCandidates) -> SpatialCandidates:
        """These rows, then those of another table for the same layer that differ from them."""
        table = self.table.followed_by(other.table)
        return SpatialCandidates(self.problem, _without_duplicates(table))

    def mapping(self, row: int) -> SpatialMapping:
        """The spatial mapping of a row."""
        return mapping_of(self.problem, self.table.row(row))

    def spatial(self, row: int) -> SpatialProblem:
        """The problem with the spatial mapping of a row."""
        return SpatialProblem(problem=self.problem, spatial_mapping=self.mapping(row))

    def temporal_sizes(self, row: int) -> Ints:
        """[d] the iterations that the spatial mapping leaves for the temporal mapping."""
        problem, sizes = flatten_problem(self.problem), np.empty(len(self.problem.layer.loops))
        temporal_sizes(problem, self.table.row(row), sizes)
        return sizes.astype(np.int64)

    def flat(self, row: int) -> FlatProblem:
        """The record of the problem with the spatial mapping of a row."""
        flat = copy_record(flatten_problem(self.problem))
        put_unrollings(flat, self.table.row(row))
        flat.computation = array_energy(self.problem, self.table.row(row))
        return flat

    @cached_property
    def bounds(self) -> BoundColumns:
        """The lower bounds of all rows over all temporal mappings."""
        return lower_bounds_of(self.problem, self.table)


def all_spatial_mappings(problem: MappingProblem, mixed: bool = False) -> SpatialCandidates:
    """All mappings from which :func:`~nestmap.search.spatial_mappings` chooses, each once.

    The user's unrollings and hints restrict them in the same way, and unrollings that exceed the
    capacity of the innermost memories are reduced. The order is that of the choices for each array
    dimension, the last array dimension first.

    Raises:
        InputError: if none has the unrollings that the dataflow of the constraints asks for.
    """
    choices = [_without_ones(options) for options in choices_by_side(problem, mixed)]
    rows = all_combinations(choices, most_unrolled(problem))
    table = reduce_to_capacity(problem, _table_of(problem, choices, rows))
    return SpatialCandidates(problem, _without_duplicates(with_dataflow(problem, table)))


def _without_ones(options: Sequence[Choice]) -> list[Choice]:
    """The different options without unrollings by one."""
    unrolling = (tuple(loop for loop in option if loop.size > 1) for option in options)
    return list(dict.fromkeys(unrolling))


def _table_of(
    problem: MappingProblem, choices: Sequence[Sequence[Choice]], rows: Ints
) -> UnrollingTable:
    """The table of the combinations [row, side] of choices."""
    dimensions = {dimension: d for d, dimension in enumerate(problem.layer.sizes)}
    width = max(1, *(len(option) for options in choices for option in options))
    wide = np.zeros((len(rows), len(choices), width, 3), np.int64)
    for s, options in enumerate(choices):
        loops = np.zeros((len(options), width, 3), np.int64)
        for option, chosen in enumerate(options):
            for i, loop in enumerate(chosen):
                loops[option, i] = (s, dimensions[loop.dimension], loop.size)
        wide[:, s] = loops[rows[:, s]]
    used = wide[..., FACTOR] > 0
    counts = used.sum(axis=(1, 2))
    return UnrollingTable(wide[used], np.append(0, np.cumsum(counts)))


def _without_duplicates(table: UnrollingTable) -> UnrollingTable:
    """The rows that differ from all before them."""
    return table.take(np.flatnonzero(_differs_from_earlier(table.unrollings, table.first)))


@kernel
def _differs_from_earlier(unrollings: Ints, first: Ints) -> Flags:
    """[row] whether no earlier row has the same unrollings: looked up in a hash table."""
    rows = len(first) - 1
    slots = np.full(2 * rows + 1, -1, np.int64)
    differs = np.ones(rows, np.bool_)
    for row in range(rows):
        slot = _digest(unrollings[first[row] : first[row + 1]]) % len(slots)
        while slots[slot] >= 0 and not _is_equal(unrollings, first, row, slots[slot]):
            slot = (slot + 1) % len(slots)
        if slots[slot] >= 0:
            differs[row] = False
        else:
            slots[slot] = row
    return differs


@kernel
def _digest(unrollings: Ints) -> int:
    """A number of at most 31 bits that equal unrollings share."""
    digest = 1
    for i in range(len(unrollings)):
        for column in range(3):
            digest = (digest * 1_000_003 + unrollings[i, column]) % 2_147_483_647
    return digest


@kernel
def _is_equal(unrollings: Ints, first: Ints, row: int, other: int) -> bool:
    """Whether two rows have the same unrollings in the same order."""
    count = first[row + 1] - first[row]
    if first[other + 1] - first[other] != count:
        return False
    for i in range(count):
        for column in range(3):
            if unrollings[first[row] + i, column] != unrollings[first[other] + i, column]:
                return False
    return True
