"""A pipeline as data: a tree of its stages, a graph to draw, JSON to keep."""

from __future__ import annotations

from typing import Never

import networkx as nx

from nestmap.model import Frozen
from nestmap.pipeline.report.json import Json
from nestmap.pipeline.stage import FunctionStage, Stage, Then, each


class StageDescription(Frozen, frozen=True):
    """One stage: its name, its options as JSON text, and the stages it runs on each item."""

    name: str
    options: str = "{}"
    inner: tuple[StageDescription, ...] = ()

    def as_json(self) -> Json:
        """The description as nested lists and dictionaries."""
        inner: list[Json] = [stage.as_json() for stage in self.inner]
        return {"stage": self.name, "options": self.options} | ({"each": inner} if inner else {})


def describe(pipeline: Stage[Never, object]) -> tuple[StageDescription, ...]:
    """The stages of a pipeline in sequence."""
    match pipeline:
        case Then(first=first, second=second):
            return (*describe(first), *describe(second))
        case each(inner=inner):
            return (StageDescription(name="each", inner=describe(inner)),)
        case FunctionStage(function=function):
            return (StageDescription(name=function.__name__),)
        case Frozen():
            return (_with_options(type(pipeline).__name__, pipeline),)
        case _:
            return (StageDescription(name=type(pipeline).__name__),)


def _with_options(name: str, options: Frozen) -> StageDescription:
    return StageDescription(name=name, options=options.model_dump_json())


def pipeline_graph(pipeline: Stage[Never, object]) -> nx.DiGraph[str]:
    """The stages as nodes ``0``, ``1``, ``1.0``, ...; edges follow the items."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    _add(graph, describe(pipeline), "")
    return graph


def _add(graph: nx.DiGraph[str], stages: tuple[StageDescription, ...], prefix: str) -> None:
    previous: str | None = None
    for position, stage in enumerate(stages):
        node = f"{prefix}{position}"
        graph.add_node(node, stage=stage.name, options=stage.options)
        if previous is not None:
            graph.add_edge(previous, node)
        if stage.inner:
            _add(graph, stage.inner, f"{node}.")
            graph.add_edge(node, f"{node}.0")
        previous = node
