"""Which stages run, by their names, and which stages a stored pipeline names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pytest

from nestmap.pipeline.stage_graph import Stage, Then
from nestmap.pipeline.util.json import Json

Given = TypeVar("Given")
Made = TypeVar("Made")


def watch_stages(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all stages that run from now on, whatever pipeline they are in."""
    ran: set[str] = set()
    for kind in _kinds(Stage.__subclasses__()):
        if "__call__" in vars(kind):
            monkeypatch.setattr(kind, "__call__", _noting(ran, vars(kind)["__call__"]))
    return ran


def stored_names(pipeline: str) -> set[str]:
    """The names of all stages of a pipeline as a store keeps it."""
    return set(_names(json.loads(pipeline)))


def _kinds(kinds: Iterable[type[object]]) -> Iterator[type[object]]:
    for kind in kinds:
        yield kind
        yield from _kinds(kind.__subclasses__())


def _noting(
    ran: set[str], call: Callable[[Stage[Given, Made], Given], Made]
) -> Callable[[Stage[Given, Made], Given], Made]:
    def noted(self: Stage[Given, Made], item: Given, /) -> Made:
        if type(self) is not Then:  # a sequence is not a stage of its own in a description
            ran.add(self.stage_name())
        return call(self, item)

    return noted


def _names(described: Json) -> Iterator[str]:
    assert isinstance(described, list)
    for entry in described:
        assert isinstance(entry, dict)
        yield str(entry["stage"])
        yield from _names(entry.get("each", []))
