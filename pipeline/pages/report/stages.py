"""Shows the pipeline of a run: its stages as a nested list, read from the stored JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getdoc
from typing import final

from nestmap.pipeline import stages
from nestmap.pipeline.util.atomic_files import Json


@final
@dataclass(frozen=True, slots=True)
class Option:
    """A chosen value and the name of its option."""

    name: str
    value: str


@final
@dataclass(frozen=True, slots=True)
class StageView:
    """A stage: its name, its output, its options, the inner stages that it runs on each item."""

    name: str
    purpose: str
    options: tuple[Option, ...]
    inner: tuple[StageView, ...]


def pipeline_stages(text: str) -> tuple[StageView, ...]:
    """The stages in sequence; ``text`` is the output of :func:`nestmap.pipeline.describe`."""
    return tuple(_stage(stage) for stage in _items(json.loads(text)))


def options_of(text: str) -> tuple[Option, ...]:
    """The fields of an object, nested ones by dotted names; ``text`` is JSON."""
    return tuple(_flat("", json.loads(text)))


def _stage(stage: Json) -> StageView:
    fields = stage if isinstance(stage, dict) else {}
    name = str(fields.get("stage", "stage"))
    return StageView(
        name=name,
        purpose=_purpose(name),
        options=options_of(str(fields.get("options", "{}"))),
        inner=tuple(_stage(inner) for inner in _items(fields.get("each"))),
    )


def _purpose(name: str) -> str:
    """The first sentence of the docstring of a nestmap stage; empty for user stages."""
    kind: object = getattr(stages, name, None)
    if not isinstance(kind, type):
        return ""
    first = (getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"\1", first).replace("`", "")


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _flat(name: str, value: Json) -> Iterator[Option]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _flat(f"{name}.{key}" if name else key, inner)
        case list():
            yield Option(name, ", ".join(map(_text, value)) or "none")
        case _:
            yield Option(name, _text(value))


def _text(value: Json) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
