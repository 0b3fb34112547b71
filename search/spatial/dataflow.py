"""The spatial mappings that have the dataflow of the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from nestmap.costmodel.spatial import DIMENSION, FACTOR
from nestmap.model import InputError, MappingProblem, SpatialMapping
from nestmap.model.arrays import Flags
from nestmap.search.spatial.unrolling_table import UnrollingTable


def unrolls_enough(problem: MappingProblem, table: UnrollingTable) -> Flags:
    """[row] whether the row has the unrollings that the dataflow asks for."""
    enough = np.ones(table.rows, np.bool_)
    rows = np.repeat(np.arange(table.rows), np.diff(table.first))
    for dimension, least in problem.least_unrollings.items():
        number = np.ones(table.rows, np.int64)
        is_meant = table.unrollings[:, DIMENSION] == list(problem.layer.sizes).index(dimension)
        np.multiply.at(number, rows[is_meant], table.unrollings[is_meant, FACTOR])
        enough &= number >= least
    return enough


class NoUnrollingError(InputError):
    """No spatial mapping of a layer has the unrollings that the dataflow asks for."""

    @classmethod
    def for_layer(cls, problem: MappingProblem) -> NoUnrollingError:
        """The error about a layer, with these unrollings."""
        least = " and ".join(f"{d} {n} times" for d, n in problem.least_unrollings.items())
        return cls(
            f"dataflow {problem.constraints.dataflow} for layer {problem.layer.name}",
            f"no spatial mapping that unrolls {least}",
            "room for them on the array, within the spatial_mapping and the hints",
        )


def with_dataflow(problem: MappingProblem, table: UnrollingTable) -> UnrollingTable:
    """The rows that have these unrollings.

    Raises:
        NoUnrollingError: if none has.
    """
    left = table.take(np.flatnonzero(unrolls_enough(problem, table)))
    if not left.rows and problem.least_unrollings:
        raise NoUnrollingError.for_layer(problem)
    return left


def mappings_with_dataflow(
    problem: MappingProblem, mappings: Sequence[SpatialMapping]
) -> tuple[SpatialMapping, ...]:
    """Those of some spatial mappings that have these unrollings.

    Raises:
        NoUnrollingError: if none has.
    """
    left = tuple(compress(mappings, unrolls_enough(problem, UnrollingTable.of(problem, mappings))))
    if mappings and not left:
        raise NoUnrollingError.for_layer(problem)
    return left
