"""Descriptions of pipelines: as a tree of stages, as a graph, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Never

from nestmap.model import Frozen
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.util.atomic_files import Json

if TYPE_CHECKING:
    import networkx as nx


class StageDescription(Frozen, frozen=True):
    """One stage: its name, its options as JSON text, and the stages that it runs on each item."""

    name: str
    options: str = "{}"
    inner: tuple[StageDescription, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """The description as nested lists and dictionaries."""
        own: dict[str, Json] = {"stage": self.name, "options": self.options}
        inner: list[Json] = [stage.as_json() for stage in self.inner]
        if inner:
            own["each"] = inner
        return own


def describe(pipeline: Stage[Never, object]) -> tuple[StageDescription, ...]:
    """The stages of a pipeline in sequence."""
    return tuple(_description(stage) for stage in pipeline.stage_sequence())


def stages_json(pipeline: Stage[Never, object]) -> str:
    """The stages of a pipeline as JSON, as stores record them."""
    return json.dumps([stage.as_json() for stage in describe(pipeline)])


def _description(stage: Stage[Never, object]) -> StageDescription:
    inner = tuple(part for each in stage.inner_stages() for part in describe(each))
    return StageDescription(name=stage.stage_name(), options=stage.stage_options(), inner=inner)


def pipeline_graph(pipeline: Stage[Never, object]) -> nx.DiGraph[str]:
    """The stages as nodes ``0``, ``1``, ``1.0``, ...; edges follow the items."""
    import networkx as nx  # noqa: PLC0415 (takes long to import)

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
