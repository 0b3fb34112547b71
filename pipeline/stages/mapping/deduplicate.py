"""The stage that explores layers which are the same but for their names only once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, final

from nestmap.model import Layer, MappingProblem
from nestmap.model.mapping.problem import ProblemContent
from nestmap.pipeline.stage_graph import Stage


class OfLayer(Protocol):
    """What was found for a layer, and can be handed to another one that is the same."""

    def for_layer(self, layer: Layer) -> Self:
        """The same for that layer, for which nothing was searched."""
        ...


R = TypeVar("R", bound=OfLayer)


@final
@dataclass(frozen=True, slots=True)
class EachOnceStage(Stage[Iterable[MappingProblem], Iterator[R]], Generic[R]):
    """``inner`` on every layer of a stream, in order; on layers of the same content only once.

    The same are layers that differ in nothing but their names and those of the layers they read
    from, on the same accelerator under the same constraints: the blocks of a transformer, say. What
    was found for the first is handed to the others, with statistics that count nothing.
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
