"""Paths of fields in the description of an accelerator: found, read and replaced."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from nestmap.model.errors import shortened, suggestion
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, KEY, Need, Section
from nestmap.pipeline.sweep.space.base_format import sections_of

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool | None"
"""A value of a description."""

Steps: TypeAlias = tuple[str | int, ...]
"""A path: names of fields and places in lists."""

_ITEM: Final = re.compile(r"\[(0|[1-9][0-9]{0,5})\]")
_WORD: Final = re.compile(r"[^.\[]*")
_UNUSED: Final = (Need.IGNORED, Need.REFUSED)


class PathError(Exception):
    """A path leads to no field that can be set."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(f"{found}; expected {expected}")


def find_field(tree: dict[str, Tree], path: str) -> Steps:
    """The steps of a path such as ``memories.sram.ports[0].bandwidth_max``.

    The keys of a mapping by number are texts: ``cores.0.technology``. The field need not be there
    if descriptions may have it at this place. Names with dots are matched as a whole.

    Raises:
        PathError: if there is no such field, or it is a list or a mapping.
    """
    steps: list[str | int] = []
    at: tuple[str, ...] = ()
    sections = sections_of(tree)
    value: Tree = tree
    rest = path
    while rest:
        step, rest = _step(value, rest, path, _fields_at(at, sections))
        steps.append(step)
        at = (*at, step if isinstance(step, str) else ITEM)
        value = _child(value, step)
        if value is None and rest:
            raise PathError(f"{path}, of which the base has no {_text(steps)}", "a field it has")
    if isinstance(value, dict | list):
        found = "has fields" if isinstance(value, dict) else "is a list"
        inside = value if isinstance(value, dict) else [f"[{n}]" for n in range(len(value))]
        raise PathError(f"{path}, which {found}", f"a part of it: {', '.join(map(str, inside))}")
    return tuple(steps)


def value_at(tree: Tree, steps: Steps) -> Tree:
    """The value of a field that :func:`find_field` has found; ``None`` if it is left out."""
    for step in steps:
        tree = _child(tree, step)
    return tree


def put_value(tree: Tree, steps: Steps, value: Tree) -> None:
    """Gives a field that :func:`find_field` has found another value."""
    match value_at(tree, steps[:-1]), steps[-1]:
        case list() as items, int() as place:
            items[place] = value
        case dict() as fields, str() as name:
            fields[name] = value
        case _:
            raise AssertionError(steps)


def remove_value(tree: Tree, steps: Steps) -> None:
    """Removes a field of a mapping that has it."""
    match value_at(tree, steps[:-1]), steps[-1]:
        case dict() as fields, str() as name:
            del fields[name]
        case _:
            raise AssertionError(steps)


def _step(value: Tree, rest: str, path: str, fields: Sequence[str]) -> tuple[str | int, str]:
    """The next step of a path, and what is left of it; ``fields`` may be at this place."""
    if isinstance(value, list):
        match = _ITEM.match(rest)
        if match is None or int(match[1]) >= len(value):
            found = f"{shortened(rest)} of a list of {len(value)}"
            raise PathError(found, f"[0] to [{len(value) - 1}]")
        return int(match[1]), _after(rest[match.end() :], path)
    if not isinstance(value, dict):
        raise PathError(f"{path}, which goes on after a value", path[: -len(rest) - 1])
    known = dict.fromkeys((*value, *fields))
    fitting = [name for name in known if re.match(re.escape(name) + r"($|[.\[])", rest)]
    if not fitting:
        word = cast("re.Match[str]", _WORD.match(rest))[0]
        raise PathError(f"the unknown field {shortened(repr(word))}", suggestion(word, known))
    name = max(fitting, key=len)
    return name, _after(rest[len(name) :], path)


def _after(rest: str, path: str) -> str:
    """What is left of a path after a step, without the dot; a place in a list has none."""
    if rest and rest[0] not in ".[":
        raise PathError(repr(path), "names with dots between them, and places in lists as [0]")
    if rest == ".":
        raise PathError(repr(path), "a name after the last dot")
    return rest.removeprefix(".")


def _child(value: Tree, step: str | int) -> Tree:
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    return value.get(step) if isinstance(value, dict) and isinstance(step, str) else None


def _fields_at(at: tuple[str, ...], sections: Sequence[Section]) -> list[str]:
    """The fields that descriptions may have at a place."""
    return [
        field.name
        for section in sections
        if _matches(section.at, at)
        for field in section.fields
        if field.need not in _UNUSED
    ]


def _matches(pattern: Sequence[str], at: Sequence[str]) -> bool:
    pairs = zip(pattern, at, strict=False)
    return len(pattern) == len(at) and all(x in (KEY, y) for x, y in pairs)


def _text(steps: Sequence[str | int]) -> str:
    parts = (f"[{x}]" if isinstance(x, int) else f".{x}" for x in steps)
    return "".join(parts).removeprefix(".")


def copied(values: Mapping[str, object]) -> dict[str, Tree]:
    """The values as a tree that may be changed; a value that stands twice becomes two."""
    return {name: _copied(value) for name, value in values.items()}


def _copied(value: object) -> Tree:
    if isinstance(value, Mapping):
        return copied(cast("Mapping[str, object]", value))
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[object]", value)]
    return cast("Tree", value)
