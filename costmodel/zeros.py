"""What zeros save: bits of tensors that memories compress, operations gated, and steps skipped.

Zeros lie anywhere in a tensor, each element being one with the same probability, whatever the
others are: Sparseloop's uniform density model. All figures are expected values.

Source: Wu et al., Sparseloop, MICRO 2022 (uniform density; compressed formats; gating).
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import reset_tile, tile_elements
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model import Compression, MappingProblem
from nestmap.model.dims import MemoryOperand


def stored_bits(precision: int, density: float, compression: Compression | None) -> float:
    """The bits that an element takes on average in a memory.

    A tensor that its format would make larger is stored as it is.

    Formula: docs/cost-model.md#compressed-tensors
    """
    if compression is None:
        return float(precision)
    if compression.run_bits is None:
        return min(float(precision), 1.0 + density * precision)
    longest = 1 << compression.run_bits
    stored = density / (1.0 - (1.0 - density) ** longest)
    return min(float(precision), stored * (compression.run_bits + precision))


def gating_densities(problem: MappingProblem) -> list[float]:
    """[x] the share of an operand's elements that do not gate operations; output first."""
    array = problem.accelerator.array
    return _densities(problem, (*array.zero_gating, *array.zero_skipping))


def skipping_densities(problem: MappingProblem) -> list[float]:
    """[x] the share of an operand's elements that do not skip steps; output first."""
    return _densities(problem, problem.accelerator.array.zero_skipping)


def _densities(problem: MappingProblem, operands: Sequence[MemoryOperand]) -> list[float]:
    """[x] the density of each operand that one of these carries, 1 of others."""
    return [
        operand.density if problem.links[operand.name] in operands else 1.0
        for operand in problem.layer.operands
    ]


def gated_macs(problem: MappingProblem) -> float:
    """The multiply-accumulates that are expected to do nothing.

    Formula: docs/cost-model.md#gated-operations
    """
    return problem.layer.macs * (1.0 - prod(gating_densities(problem)))


def least_shares(gating: Sequence[float]) -> list[float]:
    """[x] the least share of an operand's accesses at the array that happen, for any mapping.

    That is the probability that one operation is not gated by another operand, from the densities
    of :func:`gating_densities`.
    """
    return [prod(gating[:x]) * prod(gating[x + 1 :]) for x in range(len(gating))]


@kernel
def share_of_accesses(problem: FlatProblem, work: Work, x: int) -> float:
    """The share of an operand's accesses at the array that happen.

    One of them serves the operations of the loops and units below the link that use the same word;
    it does not happen if all of these are gated.

    Formula: docs/cost-model.md#gated-operations

    Reads: dimension, factor, stationary_cut.
    Fills: extent.
    """
    reset_tile(problem, work)
    for n in range(work.stationary_cut[x, 0]):
        if problem.relevance[x, work.dimension[n]] == IRRELEVANT:
            work.extent[work.dimension[n]] *= work.factor[n]
    for i in range(problem.first_unrolled[x, 0], problem.first_unrolled[x, 1]):
        if problem.relevance[x, problem.unrolled_dimension[x, i]] == IRRELEVANT:
            factor = problem.unrolled_factor[FRACTIONAL, x, i]
            work.extent[problem.unrolled_dimension[x, i]] *= factor
    operations = 1.0
    for other in range(1, problem.operands):
        if other != x and problem.gating_density[other] < 1.0:
            operations = max(operations, tile_elements(problem, work, other))
    return float(1.0 - np.power(1.0 - problem.least_share[x], operations))
