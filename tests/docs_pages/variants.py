"""Examples of input files with a value changed, and what the parsers make of them."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import yaml

from nestmap.model import InputError, InputWarning
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, KEY, Field, Form, Part
from tests.docs_pages.input_formats import Format, Model

Tree = dict[str, "Tree"] | list["Tree"] | str | int | float | bool | None
Place = tuple[str | int, ...]
Change = Callable[[Tree], None]


class Case(NamedTuple):
    """A field, or a form, of a part of a format."""

    format: Format
    part: Part
    of: Field | Form

    def __str__(self) -> str:
        name = self.of.name if isinstance(self.of, Field) else self.of.written
        return f"{self.part.title}: {name}"


class Files:
    """Changed examples, and what their parsers make of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def parsed(self, format_: Format, tree: Tree) -> Model | InputError:
        """What a file with these values describes, or what is wrong with it."""
        return self.read(format_, yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False))

    def read(self, format_: Format, text: str) -> Model | InputError:
        """What a file with this text describes, or what is wrong with it."""
        file = self._folder / format_.example.name
        file.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # other parts may name what is changed
            try:
                return format_.parse(file)
            except InputError as error:
                return error


@cache
def example(format_: Format) -> Tree:
    """The values of the example of a format; who changes them changes a copy."""
    tree: Tree = yaml.safe_load(format_.example.read_text())
    return tree


def value(text: str) -> Tree:
    """A value as it stands in a file."""
    tree: Tree = yaml.safe_load(text)
    return tree


def places(tree: Tree, at: Sequence[str]) -> Iterator[Place]:
    """Where values stand that a path with wildcards means."""
    if not at:
        yield ()
    elif isinstance(tree, list) and at[0] == ITEM:
        yield from ((i, *rest) for i, item in enumerate(tree) for rest in places(item, at[1:]))
    elif isinstance(tree, dict):
        keys = [key for key in tree if at[0] in (KEY, key)]
        yield from ((key, *rest) for key in keys for rest in places(tree[key], at[1:]))


def everywhere(tree: Tree) -> Iterator[Place]:
    """Where values stand, but for the whole, and what numbers of cores lead to."""
    parts: dict[str | int, Tree] = {}
    if isinstance(tree, list):
        parts.update(enumerate(tree))
    elif isinstance(tree, dict):
        given = cast("dict[str | int, Tree]", tree)
        parts.update((name, part) for name, part in given.items() if isinstance(name, str))
    for step, part in parts.items():
        yield (step,)
        yield from ((step, *rest) for rest in everywhere(part))


def written(tree: Tree, place: Place, text: str) -> str:
    """The text of a file with the text of another value at a place."""
    copy, last = deepcopy(tree), place[-1]
    around = found(copy, place[:-1])
    if isinstance(around, list) and isinstance(last, int):
        around[last] = _MARK
    else:
        assert isinstance(around, dict)
        assert isinstance(last, str)
        around[last] = _MARK
    return yaml.dump(copy, Dumper=yaml.CSafeDumper, sort_keys=False).replace(_MARK, text)


_MARK: Final = "a value that no example has"


def found(tree: Tree, place: Place) -> Tree:
    """The value at a place."""
    for step in place:
        if isinstance(tree, list) and isinstance(step, int):
            tree = tree[step]
        else:
            assert isinstance(tree, dict)
            assert isinstance(step, str)
            tree = tree[step]
    return tree


def changed(tree: Tree, place: Place, change: Change) -> Tree:
    """The same, but for what ``change`` does to the value at a place."""
    copy = deepcopy(tree)
    change(found(copy, place))
    return copy


def setting(field: Field, text: str) -> Change:
    """Gives a field of a mapping that value."""

    def change(at: Tree) -> None:
        assert isinstance(at, dict)
        at[field.name] = value(text)

    return change


def removing(field: Field) -> Change:
    """Takes a field out of a mapping."""

    def change(at: Tree) -> None:
        assert isinstance(at, dict)
        at.pop(field.name, None)

    return change


def adding(form: Form) -> Change:
    """Adds an item to a list, or a pair to a mapping."""

    def change(at: Tree) -> None:
        added = value(form.written)
        if isinstance(at, dict):
            assert isinstance(added, dict)
            at.update(added)
        else:
            assert isinstance(at, list)
            at.append(added)

    return change


def replacing(form: Form) -> Change:
    """Puts an item in the place of a list's first, or a pair in the place of all of a mapping."""

    def change(at: Tree) -> None:
        added = value(form.written)
        if isinstance(at, list):
            at[0] = added
        else:
            assert isinstance(at, dict)
            assert isinstance(added, dict)
            at.clear()
            at.update(added)

    return change


def outcomes(files: Files, case: Case, change: Change) -> list[Model | InputError]:
    """What becomes of the example where one of the part's values is changed."""
    tree = example(case.format)
    return [
        files.parsed(case.format, changed(tree, place, change))
        for place in places(tree, case.part.at)
    ]


def accepted(outcomes: Sequence[Model | InputError]) -> list[Model]:
    """Those that are no errors."""
    return [outcome for outcome in outcomes if not isinstance(outcome, InputError)]


def refused(outcomes: Sequence[Model | InputError]) -> list[InputError]:
    """Those that are errors."""
    return [outcome for outcome in outcomes if isinstance(outcome, InputError)]
