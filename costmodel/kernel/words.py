"""Arguments of kernels as machine words: scalars, arrays, records and tuples of these."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from ctypes import addressof, c_char
from typing import Final, NamedTuple, cast, final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Kinds = tuple[Hashable, ...]
"""What the compiled code of a kernel depends on: the kind of each argument."""

WORDS_BEFORE_SHAPE: Final = 5
"""The words of an array before its shape: owner, parent, elements, bytes of one, address.

Its shape and its strides follow. Source: ``ArrayModel`` in numba/core/datamodel/models.py.
"""


class ArrayKind(NamedTuple):
    """What the code of a kernel depends on of an array."""

    dtype: np.dtype[np.generic]
    dimensions: int
    is_contiguous: bool
    is_writable: bool


@final
class Words:
    """The arguments of one call: their values word by word, their kinds, and all arrays."""

    __slots__ = ("arrays", "kinds", "values")

    def __init__(self, arguments: tuple[object, ...]) -> None:
        """Flattens the arguments.

        Raises:
            TypeError: if kernels cannot take an argument.
        """
        self.values: list[int | float] = []
        self.arrays: list[Array] = []
        self.kinds: Kinds = tuple([_add(self, x) for x in arguments])


def _add(words: Words, value: object) -> Hashable:
    """Adds the words of a value; its kind."""
    add = _ADDERS.get(type(value))
    if add is not None:
        return add(words, value)
    if isinstance(value, tuple):
        parts = cast(tuple[object, ...], value)
        return (type(parts), *[_add(words, x) for x in parts])
    raise TypeError(f"kernels take no {type(value).__name__}: {value!r}")


def _add_int(words: Words, value: object) -> Hashable:
    words.values.append(int(cast(int, value)))
    return "q"


def _add_float(words: Words, value: object) -> Hashable:
    words.values.append(float(cast(float, value)))
    return "d"


def _add_bool(words: Words, value: object) -> Hashable:
    words.values.append(bool(value))
    return "?"


def _add_array(words: Words, value: object) -> Hashable:
    array = cast(Array, value)
    found = (0, id(array), array.size, array.itemsize, address_of(array))
    words.values += [*found, *array.shape, *array.strides]
    words.arrays.append(array)
    flags = array.flags
    return ArrayKind(array.dtype, array.ndim, flags.c_contiguous, flags.writeable)


def _add_record(words: Words, value: object) -> Hashable:
    whole = cast(Array, _BASE.__get__(value))
    words.values.append(whole.ctypes.data)
    return whole.dtype


_BASE: Final = vars(np.void)["base"]
"""The array that a record is the only element of; ``np.record`` looks for a field first."""

_ADDERS: Final[dict[type, Callable[[Words, object], Hashable]]] = {
    int: _add_int,
    np.int64: _add_int,
    float: _add_float,
    np.float64: _add_float,
    bool: _add_bool,
    np.bool_: _add_bool,
    np.ndarray: _add_array,
    np.record: _add_record,
}


def address_of(array: Array) -> int:
    """Where the data of an array is in memory."""
    try:
        return addressof(c_char.from_buffer(cast(bytearray, array)))
    except (TypeError, ValueError):  # it is read-only, or empty
        return array.ctypes.data


def word_formats(kinds: Hashable) -> str:
    """The words of arguments of these kinds, in the letters of :mod:`struct`."""
    if isinstance(kinds, ArrayKind):
        return "q" * (WORDS_BEFORE_SHAPE + 2 * kinds.dimensions)
    if isinstance(kinds, tuple):
        parts = cast(tuple[Hashable, ...], kinds)
        return "".join(word_formats(x) for x in parts if not isinstance(x, type))
    return "d" if kinds == "d" else "q"
