"""Problems with a temporal ordering and memory levels, written as text."""

from collections.abc import Mapping

from nestmap.model import LayerConstraints, OrderedLoop, PinnedLevels, PinnedMemory, SpatialProblem
from nestmap.model.base import copy_with

Levels = Mapping[str, Mapping[str, int]]
"""For each operand and memory, how many loops lie at or below."""


def constrained(spatial: SpatialProblem, constraints: LayerConstraints) -> SpatialProblem:
    """The problem under other constraints."""
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"constraints": constraints})})


def with_ordering(
    spatial: SpatialProblem, text: str, levels: Levels | None = None
) -> SpatialProblem:
    """A temporal ordering, innermost first: ``K 2 C *``; what stands behind ``|`` is outermost."""
    inner, _, outer = text.partition("|")
    constraints = LayerConstraints(
        temporal_ordering=items(inner),
        outer_ordering=items(outer),
        memory_levels=tuple(
            PinnedLevels(
                operand=operand,
                memories=tuple(PinnedMemory(memory=m, loops=n) for m, n in memories.items()),
            )
            for operand, memories in (levels or {}).items()
        ),
    )
    return constrained(spatial, constraints)


def items(text: str) -> tuple[OrderedLoop, ...]:
    """``K 2 C *`` as items."""
    words = text.split()
    return tuple(
        OrderedLoop(dimension=d, size=None if n == "*" else int(n))
        for d, n in zip(words[::2], words[1::2], strict=True)
    )
