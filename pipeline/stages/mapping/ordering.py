"""Stages that apply a user's temporal ordering to a layer."""

from collections.abc import Iterable, Iterator

from nestmap.model import Frozen, InputError, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.temporal.ordering import explicit_ordering
from nestmap.search.temporal.pinned import pinned_mapping


class TemporalOrderingConversionStage(Frozen, Stage[SpatialProblem, SpatialProblem], frozen=True):
    """The problem with the user's ordering, adapted to this layer.

    Items whose dimension has no iterations left in time are removed, and the memory levels refer
    to the remaining items.

    Raises:
        InputError: where an item of the ordering, or a memory level, cannot be satisfied; it names
            the item and the reason.
    """

    def __call__(self, spatial: SpatialProblem, /) -> SpatialProblem:
        return make_ordering_explicit(spatial)


def make_ordering_explicit(spatial: SpatialProblem) -> SpatialProblem:
    """Adapts the user's ordering to the layer of a problem.

    Raises:
        InputError: where an item of the ordering, or a memory level, cannot be satisfied; it names
            the item and the reason.
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
    """Keeps the spatial mappings of a layer with which the user's ordering can be satisfied.

    Raises:
        InputError: where it cannot be satisfied with any of them; it gives the reason for the
            first.
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
