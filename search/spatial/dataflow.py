"""The spatial mappings that have the dataflow of the constraints."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.spatial import DIMENSION, FACTOR
from nestmap.model import InputError, MappingProblem
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


def with_dataflow(problem: MappingProblem, table: UnrollingTable) -> UnrollingTable:
    """The rows that have these unrollings.

    Raises:
        InputError: if none has, with what the dataflow asks for.
    """
    left = table.where(unrolls_enough(problem, table))
    if left.rows or not problem.least_unrollings:
        return left
    least = " and ".join(f"{d} {n} times" for d, n in problem.least_unrollings.items())
    raise InputError(
        f"dataflow {problem.constraints.dataflow} for layer {problem.layer.name}",
        f"no spatial mapping that unrolls {least}",
        "room for them on the array, within the spatial_mapping and the hints",
    )
