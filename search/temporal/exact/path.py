"""From a path through the lattice to the mapping that it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.model import Loop, MappingBatch, SpatialProblem
from nestmap.model.arrays import Ints


def moves_to(label: int, parent: Ints, move: Ints) -> list[int]:
    """The moves from the origin to a label: factors added, and ``-1 - x`` where ``x`` crosses."""
    moves: list[int] = []
    while parent[label] >= 0:
        moves.append(int(move[label]))
        label = int(parent[label])
    return moves[::-1]


def mapping_of(
    spatial: SpatialProblem,
    flat: FlatProblem,
    factors: tuple[Loop, ...],
    paths: Sequence[Sequence[int]],
) -> MappingBatch:
    """A batch with one row for each path; all of them lead from the origin to the corner."""
    loops = sum(move >= 0 for move in paths[0])
    orders = np.empty((len(paths), loops), np.uint8)
    cuts = np.full((len(paths), flat.operands, max(flat.levels)), loops, np.uint8)
    for row, path in enumerate(paths):
        crossed, done = [0] * flat.operands, 0
        for move in path:
            if move >= 0:
                orders[row, done] = move
                done += 1
                continue
            x = -1 - move
            if crossed[x] > 0:
                cuts[row, x, crossed[x] - 1] = done
            crossed[x] += 1
    return MappingBatch(spatial, factors, orders, cuts)
