"""The possible unrolling factors of loop dimensions over array dimensions."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from nestmap.model import Accelerator, Loop, MappingProblem, MemoryLevel, Movement, Relevance
from nestmap.model.dims import OUTPUT, ArrayDimension, Dimension, LayerOperand

Limits = dict[ArrayDimension, dict[Dimension, int]]
"""The largest unrolling of every loop dimension over every array dimension."""


def unrolling_limits(problem: MappingProblem) -> Limits:
    """The largest unrolling of each loop dimension over each array dimension, at least 1.

    Limited by the length of the array dimension, the size of the loop dimension, and the distinct
    words per cycle that the innermost memory of the array dimension can deliver (outputs: accept),
    if it is innermost for all that it holds. Behind another memory, a narrow port takes more
    cycles, as in the reference, and limits nothing.
    """
    sizes = problem.layer.sizes
    limits = {
        side.name: {dimension: min(n, side.size) for dimension, n in sizes.items()}
        for side in problem.accelerator.array.sides
    }
    for operand in problem.links:
        words, innermost = words_per_cycle(problem, operand), problem.levels(operand)[0]
        if not _is_innermost(problem.accelerator, innermost):
            continue
        for side in innermost.served_dimensions:
            for dimension in used_width(problem, operand):
                limits[side][dimension] = max(1, min(limits[side][dimension], words))
    return limits


def _is_innermost(accelerator: Accelerator, memory: MemoryLevel) -> bool:
    """Whether no operand that a memory holds has another memory below it."""
    return all(accelerator.levels_of(operand)[0] is memory for operand in memory.operands)


def used_width(problem: MappingProblem, operand: LayerOperand) -> list[Dimension]:
    """The loop dimensions that select the operand's words."""
    layer = problem.layer
    used = (Relevance.RELEVANT, Relevance.PARTIALLY_RELEVANT)
    return [d for d in layer.sizes if layer.relevance(operand, d) in used]


def words_per_cycle(problem: MappingProblem, operand: LayerOperand) -> int:
    """Words per cycle between the array and the innermost memory of an operand."""
    innermost, carried = problem.levels(operand)[0], problem.links[operand]
    movement = Movement.WR_BY_LOW if carried == OUTPUT else Movement.RD_TO_LOW
    port = innermost.port_index(carried, movement)
    width = innermost.instance.ports[port].width_max if port is not None else 0
    return words_in(width, precision_of(problem, operand))


def words_in(bits: int, precision: int) -> int:
    """The number of words of a precision in so many bits; unlimited for 0 bit."""
    return bits // precision if precision else sys.maxsize


def precision_of(problem: MappingProblem, operand: LayerOperand) -> int:
    """The precision of a word at the array; for the output, that of a partial sum."""
    output = problem.layer.output
    if operand == output.name:
        return output.partial_precision
    return next(x.precision for x in problem.layer.inputs if x.name == operand)


def of_one_dimension(
    limits: Mapping[Dimension, int], dimensions: Sequence[Dimension]
) -> Iterator[tuple[Loop, ...]]:
    """Each dimension alone: the largest unrolling and its divisors, in descending order."""
    for dimension in dimensions:
        for factor in reversed([1, *divisors(limits[dimension])]):
            yield (Loop(dimension=dimension, size=factor),)


def of_several_dimensions(
    limits: Mapping[Dimension, int], dimensions: Sequence[Dimension], room: int
) -> Iterator[tuple[Loop, ...]]:
    """Two or more dimensions together, such that their product does not exceed the limit."""
    for number in range(2, len(dimensions) + 1):
        for chosen in combinations(dimensions, number):
            yield from _side_by_side([(d, divisors(limits[d])) for d in chosen], room)


def _side_by_side(
    choices: Sequence[tuple[Dimension, Sequence[int]]], room: int
) -> Iterator[tuple[Loop, ...]]:
    if not choices:
        yield ()
        return
    (dimension, factors), *others = choices
    for factor in factors:
        if factor > room:
            return
        for rest in _side_by_side(others, room // factor):
            yield (Loop(dimension=dimension, size=factor), *rest)


@lru_cache
def divisors(number: int) -> tuple[int, ...]:
    """All divisors but 1, ascending."""
    return tuple(d for d in range(2, number + 1) if number % d == 0)
