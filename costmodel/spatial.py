"""Spatial mappings per operand: the unrollings between memory levels."""

from __future__ import annotations

from math import ceil, floor, prod
from typing import NamedTuple

import numpy as np

from nestmap.model import AffineIndex, Layer, Relevance, SpatialProblem
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.model.workload import affine


class LevelUnrollings(NamedTuple):
    """A spatial mapping distributed over the levels of each operand.

    Formula: docs/cost-model.md#instances-and-boost

    Axes: ``x`` operands (output first), ``l`` levels (0 is the array), ``i`` the unrollings of
    an operand from the array upwards.
    """

    dimension: Ints  # [x, i] loop dimension
    factor: Floats  # [x, i]
    first: Ints  # [x, l + 1] where the unrollings just above level l begin
    reduced_from: Flags  # [l + 1] whether the output has an ir unrolling above level l or higher
    units: Floats  # [x, l] instances of the level in use
    boost: Floats  # [x, l] different data words sent to all units of level l at once


Factors = dict[str, dict[str, float]]
"""Unrolling factors by array dimension and loop dimension."""


def integer_factors(spatial: SpatialProblem) -> Factors:
    """The unrollings truncated to integers, as latency uses them."""
    return {
        array_dimension: {d: float(int(factor)) for d, factor in loops.items()}
        for array_dimension, loops in fractional_factors(spatial).items()
    }


def fractional_factors(spatial: SpatialProblem) -> Factors:
    """The unrollings as energy uses them: the mean number of active units over all rounds.

    Among the array dimensions that unroll a loop of size ``N``, the first with the largest factor
    ``u`` gets ``N / ceil(N / (u * e)) / e``, where ``e`` is the product of the earlier ones; the
    others do not change.
    """
    factors: Factors = {
        side.name: _merge_unrollings(spatial, side.name) for side in spatial.accelerator.array.sides
    }
    for dimension, size in spatial.layer.sizes.items():
        using = [name for name, loops in factors.items() if dimension in loops]
        if not using:
            continue
        largest = max(using, key=lambda name: factors[name][dimension])
        earlier = prod(factors[name][dimension] for name in using[: using.index(largest)])
        unrolled = factors[largest][dimension] * earlier
        factors[largest][dimension] = size / ceil(size / unrolled) / earlier
    return factors


def _merge_unrollings(spatial: SpatialProblem, array_dimension: str) -> dict[str, float]:
    merged: dict[str, float] = {}
    for loop in spatial.spatial_mapping.on(array_dimension):
        merged[loop.dimension] = merged.get(loop.dimension, 1.0) * loop.size
    return merged


def level_unrollings(spatial: SpatialProblem, factors: Factors) -> LevelUnrollings:
    """The unrollings of every operand, level by level."""
    layer = spatial.layer
    operands = [operand.name for operand in layer.operands]
    depth = max(len(spatial.problem.levels(name)) for name in operands)
    positions = {dimension: d for d, dimension in enumerate(layer.sizes)}
    most = sum(map(len, factors.values()))
    form = LevelUnrollings(
        dimension=np.zeros((len(operands), most), np.int64),
        factor=np.ones((len(operands), most)),
        first=np.zeros((len(operands), depth + 2), np.int64),
        reduced_from=np.zeros(depth + 2, np.bool_),
        units=np.ones((len(operands), depth + 1)),
        boost=np.ones((len(operands), depth + 1)),
    )
    for x, name in enumerate(operands):
        levels = _at_levels(spatial, name, factors)
        loops = [loop for level in levels for loop in level.items()]
        form.dimension[x, : len(loops)] = [positions[dimension] for dimension, _ in loops]
        form.factor[x, : len(loops)] = [factor for _, factor in loops]
        form.first[x, 1 : len(levels) + 1] = np.cumsum([len(level) for level in levels])
        form.first[x, len(levels) + 1 :] = len(loops)
        all_units = np.array([prod(level.values()) for level in levels])
        form.units[x, : len(levels)] = np.rint(_products_from_above(all_units))
        unique = _products_from_above(_relevant_parts(layer, name, levels))
        form.boost[x, : len(levels)] = np.rint(unique / np.append(unique[1:], 1.0))
        if x == 0:
            reducing = [_reduces(layer, name, level) for level in levels]
            form.reduced_from[: len(levels)] = [any(reducing[i:]) for i in range(len(levels))]
    return form


def _at_levels(spatial: SpatialProblem, operand: str, factors: Factors) -> list[dict[str, float]]:
    """The unrollings directly above each level; the last ones are above the top memory."""
    memories = spatial.problem.levels(operand)
    levels: list[dict[str, float]] = [{} for _ in range(len(memories) + 1)]
    for array_dimension, loops in factors.items():
        serving = [i for i, m in enumerate(memories) if array_dimension in m.served_dimensions]
        level = levels[serving[0] if serving else len(memories)]
        for dimension, factor in loops.items():
            level[dimension] = level.get(dimension, 1.0) * factor
    return levels


def _reduces(layer: Layer, operand: str, level: dict[str, float]) -> bool:
    return any(
        factor > 1 and layer.relevance(operand, dimension) is Relevance.IRRELEVANT
        for dimension, factor in level.items()
    )


def _relevant_parts(layer: Layer, operand: str, levels: list[dict[str, float]]) -> Floats:
    """[level] growth of the number of different elements through the unrollings of a level."""
    growth = np.ones(len(levels))
    for index in layer.operand(operand).indices:
        extent, before = dict.fromkeys(index.dimensions, 1.0), 1.0
        for i, level in enumerate(levels):
            for dimension in index.dimensions:
                extent[dimension] *= level.get(dimension, 1.0)
            if len(extent) == 1:
                growth[i] *= level.get(index.dimensions[0], 1.0)
            else:
                length = _length(layer, index, extent)
                growth[i] *= length / before
                before = length
    return growth


def _length(layer: Layer, index: AffineIndex, extent: dict[str, float]) -> float:
    """Elements along a pr index that unrollings of these sizes touch."""
    a, b = (floor(extent[dimension]) for dimension in index.dimensions)
    whole = index.axis_length(tuple(layer.sizes[d] for d in index.dimensions))
    return min(affine.distinct_values(a, b, *index.steps), whole)


def _products_from_above(values: Floats) -> Floats:
    products: Floats = np.multiply.accumulate(values[::-1])[::-1]
    return products
