"""Spatial mappings seen from each operand: what is unrolled between which memory levels."""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nestmap.model import Layer, Relevance, SpatialProblem, affine

F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class LevelUnrollings(NamedTuple):
    """A spatial mapping distributed over the levels of each operand (spec section 2).

    Axes: ``x`` operands (output first), ``l`` levels (0 is the array), ``d`` loop dimensions.
    """

    cumulative: F64  # [x, l, d] product of the unrollings of d between the array and level l
    reduced_from: Flags  # [l] whether an ir unrolling of the output stands above level l or higher
    units: F64  # [x, l] instances of the level in use
    boost: F64  # [x, l] different data words sent to all units of level l at once


Factors = dict[str, dict[str, float]]
"""Unrolling factors by array dimension and loop dimension."""


def integer_factors(spatial: SpatialProblem) -> Factors:
    """The unrollings with fractions cut off, as latency uses them."""
    return {
        array_dimension: {d: float(int(factor)) for d, factor in loops.items()}
        for array_dimension, loops in fractional_factors(spatial).items()
    }


def fractional_factors(spatial: SpatialProblem) -> Factors:
    """The unrollings as energy uses them: the mean of the units at work over all rounds.

    Of the array dimensions that unroll a loop of size ``N``, the first one with the largest
    factor ``u`` gets ``N / ceil(N / (u * e)) / e``, where ``e`` is what earlier ones unroll; the
    others stay as they are.
    """
    factors: Factors = {
        side.name: _merged(spatial, side.name) for side in spatial.accelerator.array.sides
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


def _merged(spatial: SpatialProblem, array_dimension: str) -> dict[str, float]:
    merged: dict[str, float] = {}
    for loop in spatial.spatial_mapping.on(array_dimension):
        merged[loop.dimension] = merged.get(loop.dimension, 1.0) * loop.size
    return merged


def level_unrollings(spatial: SpatialProblem, factors: Factors) -> LevelUnrollings:
    """The unrollings of every operand, level by level."""
    layer = spatial.layer
    depth = max(len(spatial.problem.levels(o.name)) for o in layer.operands)
    shape = (len(layer.operands), depth + 1)
    cumulative = np.ones((*shape, len(layer.loops)))
    units, boost = np.ones(shape), np.ones(shape)
    reduced_from = np.zeros(depth + 2, np.bool_)
    for x, operand in enumerate(layer.operands):
        at_level = _at_levels(spatial, operand.name, factors)
        levels = len(at_level) - 1
        below: F64 = np.multiply.accumulate(at_level, axis=0)  # between the array and above level l
        cumulative[x, 1 : levels + 1] = below[:levels]
        cumulative[x, levels + 1 :] = below[levels - 1]
        kinds = np.array([layer.relevance(operand.name, loop.dimension) for loop in layer.loops])
        units[x, : levels + 1] = _rounded_products_from_above(np.prod(at_level, axis=1))
        unique = _products_from_above(_relevant_parts(layer, operand.name, below))
        boost[x, : levels + 1] = np.rint(unique / np.append(unique[1:], 1.0))
        if x == 0:
            reducing = at_level[:, kinds == Relevance.IRRELEVANT] > 1
            reduced_from[: levels + 1] = [reducing[level:].any() for level in range(levels + 1)]
    return LevelUnrollings(cumulative, reduced_from, units, boost)


def _at_levels(spatial: SpatialProblem, operand: str, factors: Factors) -> F64:
    """[level, dimension] unrollings just above each level; the last row is above the top memory."""
    levels = spatial.problem.levels(operand)
    dimensions = list(spatial.layer.sizes)
    result = np.ones((len(levels) + 1, len(dimensions)))
    for array_dimension, loops in factors.items():
        serving = [i for i, m in enumerate(levels) if array_dimension in m.served_dimensions]
        level = serving[0] if serving else len(levels)
        for dimension, factor in loops.items():
            result[level, dimensions.index(dimension)] *= factor
    return result


def _relevant_parts(layer: Layer, operand: str, below: F64) -> F64:
    """[level] growth of the number of different elements through the unrollings of a level."""
    dimensions, sizes = list(layer.sizes), layer.sizes
    elements = np.ones(len(below) + 1)
    for index in layer.operand(operand).indices:
        columns = [dimensions.index(d) for d in index.dimensions]
        if len(columns) == 1:
            elements[1:] *= below[:, columns[0]]
            continue
        length = index.axis_length(tuple(sizes[d] for d in index.dimensions))
        for level in range(len(below)):
            a, b = np.floor(below[level, columns])
            values = affine.distinct_values(a, b, *index.steps)
            elements[level + 1] *= min(values, length)
    return elements[1:] / elements[:-1]


def _products_from_above(values: F64) -> F64:
    products: F64 = np.multiply.accumulate(values[::-1])[::-1]
    return products


def _rounded_products_from_above(values: F64) -> F64:
    return np.rint(_products_from_above(values))
