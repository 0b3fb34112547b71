"""Many spatial mappings of one layer as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.mac_energy import computation_energy, plain_computation_energy
from nestmap.costmodel.spatial import DIMENSION, FACTOR, SIDE
from nestmap.model import Loop, MappingProblem, SpatialMapping, SpatialProblem, Unrolling
from nestmap.model.arrays import Floats, Ints, Rows


class UnrollingTable(NamedTuple):
    """Spatial mappings, one a row.

    Row ``r`` has the unrollings from ``first[r]`` to ``first[r + 1]``, in the order of the array.
    """

    unrollings: Ints  # [i, 3] array dimension, loop dimension, factor
    first: Ints  # [row + 1]

    @property
    def rows(self) -> int:
        """The number of spatial mappings."""
        return len(self.first) - 1

    def row(self, row: int) -> Ints:
        """[i, 3] the unrollings of one spatial mapping."""
        return self.unrollings[self.first[row] : self.first[row + 1]]

    def take(self, rows: Rows) -> UnrollingTable:
        """These rows, in this order."""
        counts = np.diff(self.first)[rows]
        first = np.append(0, np.cumsum(counts))
        places = np.arange(int(first[-1])) + np.repeat(self.first[rows] - first[:-1], counts)
        return UnrollingTable(self.unrollings[places], first)

    def followed_by(self, other: UnrollingTable) -> UnrollingTable:
        """The rows of both tables."""
        return UnrollingTable(
            np.concatenate([self.unrollings, other.unrollings]),
            np.concatenate([self.first, self.first[-1] + other.first[1:]]),
        )

    @staticmethod
    def of(problem: MappingProblem, mappings: Sequence[SpatialMapping]) -> UnrollingTable:
        """The table of these mappings; their unrollings are in the order of the array."""
        sides = {side.name: s for s, side in enumerate(problem.accelerator.array.sides)}
        dimensions = {dimension: d for d, dimension in enumerate(problem.layer.sizes)}
        rows = [
            [
                (sides[unrolling.array_dimension], dimensions[loop.dimension], loop.size)
                for unrolling in mapping.unrollings
                for loop in unrolling.loops
            ]
            for mapping in mappings
        ]
        unrollings = [unrolling for row in rows for unrolling in row]
        return UnrollingTable(
            unrollings=np.array(unrollings, np.int64).reshape(-1, 3),
            first=np.cumsum([0, *map(len, rows)]),
        )


def mapping_of(problem: MappingProblem, unrollings: Ints) -> SpatialMapping:
    """The spatial mapping of a row; all array dimensions are named."""
    dimensions = list(problem.layer.sizes)
    rows: list[list[int]] = unrollings.tolist()
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(
                array_dimension=side.name,
                loops=tuple(
                    Loop(dimension=dimensions[row[DIMENSION]], size=row[FACTOR])
                    for row in rows
                    if row[SIDE] == s
                ),
            )
            for s, side in enumerate(problem.accelerator.array.sides)
        )
    )


def array_energy(problem: MappingProblem, unrollings: Ints) -> float:
    """The energy of all multiply-accumulates of the layer with a spatial mapping, in pJ.

    It depends on the spatial mapping only if the array computes in memory.
    """
    array = problem.accelerator.array
    if array.imc is None:
        return plain_computation_energy(problem)
    mapping = mapping_of(problem, unrollings)
    return computation_energy(SpatialProblem(problem=problem, spatial_mapping=mapping))


def array_energies(problem: MappingProblem, table: UnrollingTable) -> Floats:
    """[row] the same for every spatial mapping of a table."""
    if problem.accelerator.array.imc is None:
        return np.full(table.rows, plain_computation_energy(problem))
    energies = (array_energy(problem, table.row(row)) for row in range(table.rows))
    return np.fromiter(energies, np.float64, table.rows)
