"""Results of kernels: read from machine words."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Final, cast, final

import numpy as np

from nestmap.costmodel.kernel.words import WORDS_BEFORE_SHAPE, Array, address_of

Release = Callable[[int], None]
"""Gives up a reference to what a kernel has allocated, by its owner."""

Values = Iterator[int | float]


@final
@dataclass(frozen=True, slots=True)
class ScalarResult:
    """A number, a truth value or nothing: one word, by its letter in :mod:`struct`."""

    letter: str


@final
@dataclass(frozen=True, slots=True)
class ArrayResult:
    """An array, with words as in :mod:`nestmap.costmodel.kernel.words`."""

    dtype: str
    dimensions: int


@final
@dataclass(frozen=True, slots=True)
class TupleResult:
    """A tuple, or a named one: its class as ``module:name``."""

    name: str
    parts: tuple[Result, ...]


Result = ScalarResult | ArrayResult | TupleResult

NOTHING: Final = ScalarResult("x")


def result_formats(result: Result) -> str:
    """The words of a result, in the letters of :mod:`struct`."""
    match result:
        case ScalarResult("d"):
            return "d"
        case ScalarResult():
            return "q"
        case ArrayResult():
            return "q" * (WORDS_BEFORE_SHAPE + 2 * result.dimensions)
        case TupleResult():
            return "".join(result_formats(x) for x in result.parts)


def read_result(result: Result, values: Values, arrays: list[Array], release: Release) -> object:
    """The result that words stand for.

    What the kernel has allocated is released with the last array that needs it; ``arrays`` are
    those of its arguments, of which a result may be a part.
    """
    match result:
        case ScalarResult():
            return _read_scalar(result.letter, next(values))
        case ArrayResult():
            return _read_array(result, values, arrays, release)
        case TupleResult():
            parts = [read_result(x, values, arrays, release) for x in result.parts]
            return _make(result.name)(parts)


def _read_scalar(letter: str, value: float) -> object:
    if letter == "?":
        return bool(value)
    return None if letter == "x" else value


def _read_array(
    result: ArrayResult, values: Values, arrays: list[Array], release: Release
) -> Array:
    count = WORDS_BEFORE_SHAPE + 2 * result.dimensions
    words = [cast(int, next(values)) for _ in range(count)]
    owner, parent, size, item, address, *rest = words
    shape, strides = tuple(rest[: result.dimensions]), tuple(rest[result.dimensions :])
    if parent:
        return _part(next(x for x in arrays if id(x) == parent), address, shape, strides)
    block = (ctypes.c_char * (size * item)).from_address(address)
    vars(block)["owner"] = _Allocated(owner, release)  # lives as long as the array's memory
    return np.ndarray(shape, result.dtype, cast(bytearray, block), 0, strides)


@final
class _Allocated:
    """A reference to what a kernel has allocated."""

    __slots__ = ("_owner", "_release")

    def __init__(self, owner: int, release: Release) -> None:
        self._owner = owner
        self._release = release

    def __del__(self) -> None:
        self._release(self._owner)


def _part(whole: Array, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    start = address_of(whole)
    if (start, whole.shape, whole.strides) == (address, shape, strides):
        return whole
    return np.ndarray(shape, whole.dtype, whole, address - start, strides)


@lru_cache
def _make(name: str) -> Callable[[list[object]], object]:
    """What makes a tuple of its parts; the class is imported already, where kernels use it."""
    if not name:
        return tuple
    module, _, class_name = name.partition(":")
    made: Callable[[list[object]], object] = vars(import_module(module))[class_name]._make
    return made


def kind_to_json(result: Result) -> object:
    """The kind of a result as values that JSON has."""
    match result:
        case ScalarResult():
            return result.letter
        case ArrayResult():
            return [result.dtype, result.dimensions]
        case TupleResult():
            return {"class": result.name, "parts": [kind_to_json(x) for x in result.parts]}


def kind_of_json(found: object) -> Result:
    """The kind of a result from JSON.

    Raises:
        ValueError: if it is none.
    """
    match found:
        case str():
            return ScalarResult(found)
        case [str(dtype), int(dimensions)]:
            return ArrayResult(dtype, dimensions)
        case {"class": str(name), "parts": list()}:
            parts = cast(dict[str, list[object]], found)["parts"]
            return TupleResult(name, tuple(kind_of_json(x) for x in parts))
        case _:
            raise ValueError(f"not the kind of a result: {found!r}")
