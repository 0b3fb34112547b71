"""Which stages run, by their names, and which stages a stored pipeline names."""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import pytest

from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.util.atomic_files import Json


@runtime_checkable
class _Named(Protocol):
    def stage_name(self) -> str: ...


class RecordedStages(NamedTuple):
    """The names of the stages that ran, and of those that the store has of the run."""

    ran: frozenset[str]
    named: frozenset[str]


def watch_stages(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all stages that run from now on, whatever pipeline they are in."""
    ran: set[str] = set()
    for kind in _kinds(Stage):
        if "__call__" in vars(kind):
            monkeypatch.setattr(kind, "__call__", _noting(ran, vars(kind)["__call__"]))
    return ran


def stored_names(pipeline: str) -> frozenset[str]:
    """The names of all stages of a pipeline as a store keeps it."""
    return frozenset(_names(json.loads(pipeline)))


def _kinds(kind: type[object]) -> Iterator[type[object]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _kinds(sub)


def _noting(
    ran: set[str], call: Callable[[object, object], object]
) -> Callable[[object, object], object]:
    def noted(stage: object, item: object) -> object:
        # a sequence has no entry of its own in a description
        if isinstance(stage, _Named) and stage.stage_name() != "Then":
            ran.add(stage.stage_name())
        return call(stage, item)

    return noted


def _names(described: Json) -> Iterator[str]:
    assert isinstance(described, list)
    for entry in described:
        assert isinstance(entry, dict)
        yield str(entry["stage"])
        yield from _names(entry.get("each", []))
