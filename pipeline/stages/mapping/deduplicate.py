"""The stage that explores layers of equal content only once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, final

from nestmap.model import Layer, MappingProblem
from nestmap.model.mapping.problem import ProblemContent
from nestmap.pipeline.stage_graph import Stage


class OfLayer(Protocol):
    """A result that can be transferred to another layer of equal content."""

    def for_layer(self, layer: Layer) -> Self:
        """The result for another layer: its bounds hold there too, but nothing is counted twice."""
        ...


R = TypeVar("R", bound=OfLayer)


@final
@dataclass(frozen=True, slots=True)
class EachOnceStage(Stage[Iterable[MappingProblem], Iterator[R]], Generic[R]):
    """Runs ``inner`` on every layer of a stream, in order, but only once per content.

    Layers have equal content if they differ only in their names and the names of the layers that
    they read from, with the same accelerator and constraints, as in the blocks of a transformer.
    The others reuse the result and the bounds of the first one; their statistics count nothing.
    """

    inner: Stage[MappingProblem, R]

    def __call__(self, problems: Iterable[MappingProblem], /) -> Iterator[R]:
        found: dict[ProblemContent, R] = {}
        for problem in problems:
            content = problem.content
            if content in found:
                yield found[content].for_layer(problem.layer)
            else:
                found[content] = self.inner(problem)
                yield found[content]
