"""Records: typed structures of fixed capacity that kernels get as one pointer.

A structure of 40 separate arrays costs a compiled call more than the work it does, so what
kernels share lives in one NumPy record. A class with annotations only declares it: scalars as
``int`` or ``float``, arrays as ``Annotated[Floats, (rows, columns)]`` with their largest shape.
"""

from collections.abc import Hashable
from functools import lru_cache
from typing import Annotated, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from nestmap.costmodel.kernel.jit import inlined
from nestmap.model import MOVEMENTS, InputError
from nestmap.model.arrays import Codes, Floats, Ints

# Copies rows of arrays in kernels, by loops: assignments between slices also compile errors


@inlined
def copy_row(target: Floats | Ints | Codes, source: Floats | Ints | Codes) -> None:
    """Copies ``source`` [n] to the first n values of ``target``."""
    for n in range(len(source)):
        target[n] = source[n]


# --- the meaning of the rows and columns of the cost model's arrays ---

OUT = 0
"""The row of the output in every array over operands."""

RD_LOW, WR_LOW, RD_HIGH, WR_HIGH = range(4)
"""The columns of the four movements, in the order of :data:`nestmap.model.MOVEMENTS`."""

FRACTIONAL, INTEGER = 0, 1
"""The two views of a spatial mapping: energy uses the first, latency the second."""


R = TypeVar("R")

OPERANDS = 3
LEVELS = 9  # the array and 8 memory levels
DIMENSIONS = 24
LOOPS = 128
MEMORIES = 32
PORTS = 96
TRANSFERS = 96
LINK_TRANSFERS = len(MOVEMENTS)  # two at each of its ends
INDICES = 24
SIDES = 32
UNROLLINGS = 64
VIEWS = 2


def new_record(declaration: type[R]) -> R:
    """A record of the declared layout, all zero."""
    return cast(R, np.zeros(1, _layout(cast(Hashable, declaration)))[0])


def copy_record(record: R) -> R:
    """Another record with the same content."""
    whole = cast(npt.NDArray[np.record], cast(np.record, record).base)
    return cast(R, whole.copy()[0])


def fill_corner(target: Ints | Floats, values: npt.ArrayLike, what: str) -> None:
    """Copies values into the front corner of a record's array.

    Raises:
        InputError: if there are more of ``what`` than a record can hold.
    """
    source = np.asarray(values)
    for given, capacity in zip(source.shape, target.shape, strict=True):
        if given > capacity:
            raise InputError(what, f"{given} of them", f"at most {capacity}")
    target[tuple(slice(n) for n in source.shape)] = source


def check_loops(loops: int) -> None:
    """Checks that a loop order fits into a record.

    Raises:
        InputError: if there are more than ``LOOPS``.
    """
    if loops > LOOPS:
        raise InputError("loop order", f"{loops} loops", f"at most {LOOPS}")


@lru_cache
def _layout(declaration: Hashable) -> np.dtype[np.void]:
    hints = get_type_hints(declaration, include_extras=True)
    fields = np.dtype([_field(name, hint) for name, hint in hints.items()], align=True)
    return np.dtype((np.record, fields))


def _field(name: str, hint: object) -> tuple[str, str, tuple[int, ...]]:
    assert not hasattr(np.void, name), f"{name} already means something to NumPy"
    if get_origin(hint) is Annotated:
        array, shape = get_args(hint)
        return name, "i8" if array == Ints else "f8", shape
    return name, "i8" if hint is int else "f8", ()
