"""A pipeline as data: a tree of its stages, a graph to draw, JSON to keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Never, Protocol, TypeGuard, cast, runtime_checkable

import networkx as nx

from nestmap.model import Frozen
from nestmap.pipeline.stage import FunctionStage, Stage, Then, each
from nestmap.pipeline.stages import BoundedSearchStage, EachOnceStage, VectorStage
from nestmap.pipeline.util.json import Json


class StageDescription(Frozen, frozen=True):
    """One stage: its name, its options as JSON text, and the stages it runs on each item."""

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


@runtime_checkable
class _Sequence(Protocol):
    """What ``Then`` looks like whatever flows through it."""

    @property
    def first(self) -> Stage[Never, object]: ...
    @property
    def second(self) -> Stage[Never, object]: ...


@runtime_checkable
class _Vector(Protocol):
    """What ``VectorStage`` looks like whatever flows through it."""

    @property
    def inner(self) -> Stage[Never, object]: ...
    @property
    def counted(self) -> bool: ...


@runtime_checkable
class _Each(Protocol):
    """What ``each`` looks like whatever flows through it."""

    @property
    def inner(self) -> Stage[Never, object]: ...


def describe(pipeline: Stage[Never, object]) -> tuple[StageDescription, ...]:
    """The stages of a pipeline in sequence."""
    return _parts(pipeline)


def _parts(stage: object) -> tuple[StageDescription, ...]:
    match stage:
        case _Sequence() if type(stage) is Then:
            return (*_parts(stage.first), *_parts(stage.second))
        case _Each() if type(stage) in (each, EachOnceStage):
            return (_named(stage, inner=_parts(stage.inner)),)
        case BoundedSearchStage():
            options = json.dumps({"objective": stage.objective})
            return (_named(stage, options, _parts(stage.inner)),)
        case _Vector() if type(stage) is VectorStage:  # adds to what stands before it
            options = json.dumps({"counted": stage.counted})
            return (*_parts(stage.inner), _named(stage, options))
        case FunctionStage():
            return (StageDescription(name=stage.name),)
        case _:
            return (_named(stage, _options(stage), _inner(stage)),)


def _options(stage: object) -> str:
    """What models and choices a stage holds says how it works; the rest are who it works with."""
    if isinstance(stage, Frozen):
        return stage.model_dump_json()
    known = {name: value for name, value in _fields(stage) if not isinstance(value, Stage)}
    models = {name: x.model_dump(mode="json") for name, x in known.items() if _is_model(x)}
    choices = {name: x.value for name, x in known.items() if isinstance(x, StrEnum)}
    return json.dumps(models | choices)


def _is_model(value: object) -> TypeGuard[Frozen]:
    return isinstance(value, Frozen)


def _inner(stage: object) -> tuple[StageDescription, ...]:
    values = (value for _, value in _fields(stage) if _is_stage(value))
    return tuple(part for value in values for part in _parts(value))


def _is_stage(value: object) -> bool:
    return isinstance(value, Stage)


def _fields(stage: object) -> Iterator[tuple[str, object]]:
    if is_dataclass(stage):
        yield from (
            (each.name, cast("object", getattr(stage, each.name))) for each in fields(stage)
        )


def _named(
    stage: object, options: str = "{}", inner: tuple[StageDescription, ...] = ()
) -> StageDescription:
    return StageDescription(name=type(stage).__name__, options=options, inner=inner)


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
