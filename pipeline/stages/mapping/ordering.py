"""The stages that make a user's temporal ordering explicit for a layer, or say why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nestmap.model import Frozen, InputError, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.temporal.ordering import explicit_ordering
from nestmap.search.temporal.pinned import pinned_mapping


class TemporalOrderingConversionStage(Frozen, Stage[SpatialProblem, SpatialProblem], frozen=True):
    """The problem with the user's ordering as this layer has to meet it.

    Items that are met by themselves, because nothing is left of their dimension to iterate in
    time, are left out, and memory levels count the others.

    Raises:
        InputError: where an item of the ordering, or a memory level, cannot hold: which, and why.
    """

    def __call__(self, spatial: SpatialProblem, /) -> SpatialProblem:
        return make_ordering_explicit(spatial)


def make_ordering_explicit(spatial: SpatialProblem) -> SpatialProblem:
    """The problem with the user's ordering as its layer has to meet it.

    Raises:
        InputError: where an item of the ordering, or a memory level, cannot hold: which, and why.
    """
    pinned_mapping(spatial)
    constraints = explicit_ordering(spatial)
    if constraints == spatial.problem.constraints:
        return spatial
    problem = copy_with(spatial.problem, {"constraints": constraints})
    return copy_with(spatial, {"problem": problem})


class OrderedCandidatesStage(
    Frozen, Stage[Iterable[SpatialProblem], Iterator[SpatialProblem]], frozen=True
):
    """Of several spatial mappings of a layer those under which the user's ordering can hold.

    Raises:
        InputError: where it can hold under none of them: why not under the first.
    """

    def __call__(self, candidates: Iterable[SpatialProblem], /) -> Iterator[SpatialProblem]:
        refused, held = list[InputError](), 0
        for spatial in candidates:
            try:
                converted = make_ordering_explicit(spatial)
            except InputError as error:
                refused.append(error)
                continue
            held += 1
            yield converted
        if refused and not held:
            raise refused[0]
