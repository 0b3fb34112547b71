"""Temporal mappings that are given instead of searched: pinned by the user, or found before."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import (
    Cuts,
    InputError,
    Loop,
    MappingBatch,
    PinnedLevels,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.dims import LayerOperand
from nestmap.search.temporal.loop_factors import temporal_sizes
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows, fits_rows
from nestmap.search.temporal.ordering import complete_order, explicit_ordering
from nestmap.search.temporal.statistics import infeasibility_statistics


def pinned_batch(spatial: SpatialProblem) -> MappingBatch | None:
    """The one mapping that the user has pinned, as :func:`placed` gives it; none without levels.

    Raises:
        InputError: if the pinned mapping is not valid for this problem.
    """
    mapping = pinned_mapping(spatial)
    return None if mapping is None else place_pinned_levels(spatial, mapping)


def place_pinned_levels(spatial: SpatialProblem, mapping: TemporalMapping) -> MappingBatch:
    """A batch of that mapping; empty, with the reason, if it does not fit the memories.

    Raises:
        InputError: if it is not a valid mapping for this problem.
    """
    spatial.check(mapping)
    batch, failures = MappingBatch.of(spatial, mapping), new_record(Failures)
    table = factor_table(spatial, batch.factors)
    if fits_rows(flatten(spatial), table, batch.orders, batch.cuts, failures).all():
        return batch
    return MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures))


def pinned_mapping(spatial: SpatialProblem) -> TemporalMapping | None:
    """The user's order with the user's memory levels; none where no levels are given.

    Raises:
        InputError: if the order is incomplete, or the levels do not match it or the memories of
            the layer's operands.
    """
    constraints = explicit_ordering(spatial)
    if not constraints.memory_levels:
        return None
    order = complete_order(spatial)
    if order is None:
        left = ", ".join(f"{d} {n}" for d, n in temporal_sizes(spatial).items())
        expected = f"loops with sizes that run through all that is left in time: {left}"
        where = constraints.place_for("temporal_ordering", spatial.layer.name)
        raise InputError(where, "memory_levels for an ordering that leaves loops open", expected)
    given = {levels.operand: levels for levels in constraints.memory_levels}
    names = [operand.name for operand in spatial.layer.operands]
    for name in [*given, *names]:
        if name not in names or name not in given:
            found = f"levels of {name}" if name in given else f"no levels of {name}"
            raise _fault(spatial, found, f"levels of each of {', '.join(names)}")
    cuts = tuple(_cuts(spatial, name, given[name], len(order)) for name in names)
    return TemporalMapping(order=order, cuts=cuts)


def _cuts(spatial: SpatialProblem, operand: LayerOperand, levels: PinnedLevels, loops: int) -> Cuts:
    """The cuts of one operand.

    The idle loop of a layer without temporal loops is at every level.
    """
    given = {entry.memory: entry.loops for entry in levels.memories}
    memories = [level.name for level in spatial.problem.levels(operand)]
    for memory in [*given, *memories]:
        if memory not in memories or memory not in given:
            found = f"{memory}" if memory in given else f"no {memory}"
            expected = f"each memory of {operand} once: {', '.join(memories)}"
            raise _fault(spatial, f"{found} for {operand}", expected)
    for lower, upper in pairwise(memories):
        if given[lower] > given[upper]:
            found = f"{given[lower]} loops of {operand} in {lower} and {given[upper]} in {upper}"
            raise _fault(spatial, found, f"as many or more in {upper}, which lies above {lower}")
    if not temporal_sizes(spatial):
        return Cuts(operand=operand, positions=(loops,) * len(memories))
    if given[memories[-1]] != loops:
        found = f"{given[memories[-1]]} loops of {operand} in {memories[-1]}"
        raise _fault(spatial, found, f"all {loops} there, at the top")
    return Cuts(operand=operand, positions=tuple(given[memory] for memory in memories))


def _fault(spatial: SpatialProblem, found: str, expected: str) -> InputError:
    where = spatial.problem.constraints.place_for("memory_levels", spatial.layer.name)
    return InputError(where, found, expected)


# --- allocates memories for one loop order with LOMA ---


def allocate_order(spatial: SpatialProblem, order: Sequence[Loop]) -> MappingBatch:
    """A batch with that order and its memory allocation; empty if the memories are too small.

    ``order`` has the innermost loop first and covers all temporal iterations. The statistics of an
    empty batch tell which memory is too small for which operands.
    """
    factors, failures = tuple(dict.fromkeys(order)), new_record(Failures)
    codes = np.array([[factors.index(loop) for loop in order]], np.uint8)
    table = factor_table(spatial, factors)
    orders, cuts = allocate_rows(flatten(spatial), table, codes, False, failures)
    if not len(orders):
        return MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures))
    return MappingBatch(spatial, factors, orders, cuts)
