"""Models with one field changed: every field of every model inside, one after the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import (
    Annotated,
    Final,
    Generic,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ValidationError

from nestmap.model import Frozen, InputError
from nestmap.model.base import copy_with

T = TypeVar("T", covariant=True)
M = TypeVar("M", bound=Frozen)

Field = tuple[type[Frozen], str]
"""A field of a model."""

Way = tuple[Field, ...]
"""The fields that lead to a value, outermost first."""


@dataclass(frozen=True)
class Changed(Generic[T]):
    """A valid value that differs from what it is made of in one place; ``way`` leads there."""

    way: Way
    value: T


def _texts(old: str) -> tuple[object, ...]:
    return (f"{old}x", "Q9", "OTHER")


def _numbers(old: int) -> tuple[object, ...]:
    return (old + 1, old - 1, 2 * old, 1)


def _floats(old: float) -> tuple[object, ...]:
    return (old / 2, old + 1.0, old * (1 + 2**-52))


def _members(old: Enum) -> tuple[object, ...]:
    return tuple(x for x in type(old) if x is not old)


def _flipped(old: bool) -> tuple[object, ...]:
    return (not old,)


ALTERNATIVES: Final = cast(
    "dict[type, Callable[[object], tuple[object, ...]]]",
    {str: _texts, int: _numbers, float: _floats, bool: _flipped},
)
"""What else a value of that type may be; one of them has to be valid where it stands."""


def changed(model: M) -> Iterator[Changed[M]]:
    """All valid copies of a model in which one thing is another one.

    A leaf has another value, a tuple lacks an item or has two the other way round, or something
    optional is not there. What is valid nowhere by itself is left out: see :func:`untouched`.

    Raises:
        KeyError: where there is a leaf for whose type :data:`ALTERNATIVES` has none.
    """
    hints = get_type_hints(type(model), include_extras=True)
    for name in type(model).model_fields:
        value: object = getattr(model, name)
        for part in (*_of(value), *_nothing(value, hints[name])):
            yield from _valid(model, name, part)


def _valid(model: M, name: str, part: Changed[object]) -> Iterator[Changed[M]]:
    try:
        copy = copy_with(model, {name: part.value})
    except (ValidationError, InputError):
        return
    if copy != model:
        yield Changed(((type(model), name), *part.way), copy)


def _of(value: object) -> Iterator[Changed[object]]:
    if isinstance(value, Frozen):
        yield from changed(value)
    elif isinstance(value, tuple):
        yield from _tuples(cast("tuple[object, ...]", value))
    elif isinstance(value, Enum):
        yield from (Changed((), x) for x in _members(value))
    elif value is not None:
        yield from (Changed((), x) for x in ALTERNATIVES[type(value)](value))


def _tuples(items: tuple[object, ...]) -> Iterator[Changed[object]]:
    for i, item in enumerate(items):
        before, after = items[:i], items[i + 1 :]
        for part in _of(item):
            yield Changed(part.way, (*before, part.value, *after))
        yield Changed((), (*before, *after))
        if after:
            yield Changed((), (*before, after[0], item, *after[1:]))


def _nothing(value: object, hint: object) -> Iterator[Changed[object]]:
    if value is not None and type(None) in get_args(hint):
        yield Changed((), None)


def untouched(model: Frozen, ways: list[Way]) -> set[Field]:
    """The fields of a model's class, and of all classes inside, that no change has touched."""
    return _fields(type(model)) - {field for way in ways for field in way}


def _fields(kind: type[Frozen]) -> set[Field]:
    found: set[Field] = set()
    waiting, seen = [kind], set[type[Frozen]]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        hints = get_type_hints(one, include_extras=True)
        for name, field in one.model_fields.items():
            if field.exclude:  # no content
                continue
            found.add((one, name))
            waiting += _models_in(hints[name])
    return found


def _models_in(hint: object) -> Iterator[type[Frozen]]:
    if isinstance(hint, type) and issubclass(hint, Frozen):
        yield hint
    elif get_origin(hint) in (Annotated, Union, UnionType, tuple):
        for part in get_args(hint):
            yield from _models_in(part)
