"""The stage that pads layers to sizes that map better."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from nestmap.model import Frozen, MappingProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.spatial.padding import padded_sizes


class PaddingStage(Frozen, Stage[MappingProblem, Iterator[MappingProblem]], frozen=True):
    """A layer, and the same layer with loops enlarged by at most ``percent`` each.

    The padded layers do more work on more data, and all of their costs are those of this work. See
    :func:`~nestmap.search.spatial.padding.padded_sizes` for the sizes.
    """

    percent: float = Field(gt=0, le=100)

    def __call__(self, problem: MappingProblem, /) -> Iterator[MappingProblem]:
        yield problem
        for sizes in padded_sizes(problem, self.percent):
            yield copy_with(problem, {"layer": problem.layer.padded(sizes)})
