"""Parses a temporal mapping on the command line: an order of loops, and cuts per operand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

from pydantic import ValidationError

from nestmap.costmodel.kernel.record import LOOPS
from nestmap.model import Cuts, InfeasibleError, InputError, Loop, SpatialProblem, TemporalMapping
from nestmap.model.errors import suggestion
from nestmap.search.temporal.loop_factors import temporal_sizes
from nestmap.search.temporal.pinned import place_pinned_levels
from nestmap.search.temporal.pinned_order import allocate_order

_LOOP: Final = re.compile(r"([A-Za-z]\w{0,31})\s*[ =]\s*([0-9]{1,10})", re.ASCII)
_CUTS: Final = re.compile(r"\s*([A-Za-z]\w{0,31})\s*=\s*([0-9]{1,4}(?:\s*,\s*[0-9]{1,4})*)\s*")


def temporal_mapping(spatial: SpatialProblem, order: str, cuts: Sequence[str]) -> TemporalMapping:
    """The mapping for ``"C 2, FY 3"`` and ``["O=1,2", ...]``; without cuts, LOMA allocates.

    Raises:
        InputError: where the texts cannot be parsed, or the loops do not cover the layer.
        InfeasibleError: where the mapping does not fit the memories.
    """
    loops = parse_order(order)
    check_order(spatial, loops)
    if not cuts:
        return allocate_memories(spatial, loops)
    given = parse_cuts(spatial, cuts)
    try:
        mapping = TemporalMapping(order=loops, cuts=given)
    except ValidationError as error:
        raise InputError.of("--cut", error) from None
    check_fit(spatial, mapping)
    return mapping


def parse_order(text: str) -> tuple[Loop, ...]:
    """The loops of ``"C 2, FY 3, OX 56"``, innermost first.

    Raises:
        InputError: where the text cannot be parsed.
    """
    items = [item.strip() for item in text.split(",")]
    if len(items) > LOOPS:
        raise InputError("--order", f"{len(items)} loops", f"at most {LOOPS}")
    return tuple(_loop(item) for item in items)


def _loop(item: str) -> Loop:
    match = _LOOP.fullmatch(item)
    if match is None or not 0 < int(match[2]) < 2**31:
        raise InputError("--order", repr(item), 'a dimension and a size, as in "C 2, FY 3, OX 56"')
    return Loop(dimension=match[1].upper(), size=int(match[2]))


def check_order(spatial: SpatialProblem, order: Sequence[Loop]) -> None:
    """Checks that the loops cover exactly the iterations that the spatial mapping leaves.

    Raises:
        InputError: for a dimension that the layer lacks, or too few or too many iterations.
    """
    sizes, left = spatial.layer.sizes, temporal_sizes(spatial)
    for loop in order:
        if loop.dimension not in sizes:
            expected = f"a dimension of the layer: {suggestion(loop.dimension, tuple(sizes))}"
            raise InputError("--order", f"dimension {loop.dimension}", expected)
    for dimension, size in sizes.items():
        found = prod(loop.size for loop in order if loop.dimension == dimension)
        if found != left.get(dimension, 1):
            unrolled = spatial.spatial_mapping.factor_of(dimension)
            raise InputError(
                "--order",
                f"{found} iterations of {dimension}",
                f"{left.get(dimension, 1)} ({dimension} has size {size} and is unrolled "
                f"{unrolled} times). Remaining loops: {_listed(left)}",
            )


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{dimension} {size}" for dimension, size in sizes.items()) or "nothing"


def parse_cuts(spatial: SpatialProblem, texts: Sequence[str]) -> tuple[Cuts, ...]:
    """The cuts of ``["O=1,3,3", ...]``, one for each operand of the layer.

    Raises:
        InputError: where a text cannot be parsed, or an operand or a memory is unknown or missing.
    """
    given = [_cuts(text) for text in texts]
    names = [operand.name for operand in spatial.layer.operands]
    for name, times in Counter(cuts.operand for cuts in given).items():
        if name not in names:
            raise InputError("--cut", f"operand {name}", suggestion(name, names))
        if times > 1:
            raise InputError("--cut", f"{times} cuts of operand {name}", "one for each operand")
    by_name = {cuts.operand: cuts for cuts in given}
    missing = [name for name in names if name not in by_name]
    if missing:
        found = f"cuts of {', '.join(by_name)} only"
        raise InputError("--cut", found, f"cuts of {' and '.join(missing)} as well")
    for cuts in given:
        _check_levels(spatial, cuts)
    return tuple(by_name[name] for name in names)


def _cuts(text: str) -> Cuts:
    match = _CUTS.fullmatch(text)
    if match is None:
        raise InputError("--cut", repr(text), "an operand and numbers of loops, as in O=1,3,3")
    positions = tuple(int(number) for number in match[2].split(","))
    try:
        return Cuts(operand=match[1], positions=positions)
    except ValidationError as error:
        raise InputError.of("--cut", error) from None


def _check_levels(spatial: SpatialProblem, cuts: Cuts) -> None:
    memories = [level.name for level in spatial.problem.levels(cuts.operand)]
    if len(cuts.positions) != len(memories):
        raise InputError(
            "--cut",
            f"{cuts.operand}={','.join(map(str, cuts.positions))}",
            f"a number for each memory of {cuts.operand}: {', '.join(memories)}",
        )


def allocate_memories(spatial: SpatialProblem, order: Sequence[Loop]) -> TemporalMapping:
    """The order of loops with the memory allocation that LOMA finds.

    Raises:
        InfeasibleError: where the memories cannot hold it; it names the one that is too small.
    """
    batch = allocate_order(spatial, order)
    for reason in batch.statistics.infeasible:
        raise InfeasibleError(f"--order: {reason.reason}")
    return batch.row(0)


def check_fit(spatial: SpatialProblem, mapping: TemporalMapping) -> None:
    """Checks the capacity of the memories that the cuts allocate, as the search does.

    Raises:
        InfeasibleError: for the first memory that is too small; it gives both sizes.
    """
    for reason in place_pinned_levels(spatial, mapping).statistics.infeasible:
        raise InfeasibleError(f"--cut: {reason.reason}")
