"""The tables of the scheduling kernels, packed into two arrays to make calls cheap.

Each NumPy array adds seven machine words to a compiled call, so passing the thirty tables of a
schedule would cost more than most calls do. They are concatenated into one array of integers and
one of floats; a header gives the offset of each. Outside the kernels, arrays view the same memory.
"""

from collections.abc import Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.costmodel.kernel.jit import inlined
from nestmap.model.arrays import Floats, Ints
from nestmap.search.multicore.schedule import table_layout as t

HEADER: Final = 4
"""Header words per table: offset, stride of a row, stride of a plane, number of rows."""


class Job(NamedTuple):
    """The tables, the candidate rule, whether to follow Stream, and the off-chip core."""

    ints: Ints
    floats: Floats
    rule: int
    reference: bool
    offchip: int


@inlined
def get(job: Job, table: int, row: int, column: int) -> int:
    """A word of a table."""
    ints = job.ints
    place = ints[HEADER * table] + row * ints[HEADER * table + 1] + column
    return int(ints[place])


@inlined
def put(job: Job, table: int, row: int, column: int, value: int) -> None:
    """Sets a word of a table."""
    ints = job.ints
    ints[ints[HEADER * table] + row * ints[HEADER * table + 1] + column] = value


@inlined
def add(job: Job, table: int, row: int, column: int, value: int) -> None:
    """Adds to a word of a table."""
    ints = job.ints
    ints[ints[HEADER * table] + row * ints[HEADER * table + 1] + column] += value


@inlined
def rows(job: Job, table: int) -> int:
    """The number of rows of a table."""
    return int(job.ints[HEADER * table + 3])


@inlined
def plane_offset(job: Job, table: int, plane: int) -> int:
    """The offset of a plane of a table with three axes."""
    ints = job.ints
    return int(ints[HEADER * table] + plane * ints[HEADER * table + 1])


@inlined
def get3(job: Job, table: int, plane: int, row: int, column: int) -> int:
    """A word of a table with three axes."""
    ints = job.ints
    return int(ints[plane_offset(job, table, plane) + row * ints[HEADER * table + 2] + column])


@inlined
def getf(job: Job, table: int, row: int, column: int) -> float:
    """A number of a table of floats."""
    place = job.ints[HEADER * table] + row * job.ints[HEADER * table + 1] + column
    return float(job.floats[place])


@inlined
def get3f(job: Job, table: int, plane: int, row: int, column: int) -> float:
    """A number of a table of floats with three axes."""
    place = plane_offset(job, table, plane) + row * job.ints[HEADER * table + 2] + column
    return float(job.floats[place])


@inlined
def putf(job: Job, table: int, row: int, column: int, value: float) -> None:
    """Sets a number of a table of floats."""
    job.floats[job.ints[HEADER * table] + row * job.ints[HEADER * table + 1] + column] = value


@inlined
def addf(job: Job, table: int, row: int, column: int, value: float) -> None:
    """Adds to a number of a table of floats."""
    job.floats[job.ints[HEADER * table] + row * job.ints[HEADER * table + 1] + column] += value


@inlined
def count(job: Job, what: int) -> int:
    """A counter."""
    return get(job, t.COUNTS, what, 0)


@inlined
def set_count(job: Job, what: int, value: int) -> None:
    """Sets a counter."""
    put(job, t.COUNTS, what, 0, value)


@inlined
def count_up(job: Job, what: int, by: int) -> None:
    """Adds to a counter."""
    add(job, t.COUNTS, what, 0, by)


@inlined
def copy_word(job: Job, copy: int, column: int) -> int:
    """A word of a copy."""
    return get(job, t.COPIES, copy, column)


@inlined
def transfer_word(job: Job, transfer: int, column: int) -> int:
    """A word of a transfer."""
    return get(job, t.TRANSFERS, transfer, column)


@inlined
def transfer_cycles(job: Job, transfer: int) -> int:
    """The cycles that a transfer takes."""
    return transfer_word(job, transfer, t.END) - transfer_word(job, transfer, t.START)


@inlined
def bits_sent(job: Job, transfer: int) -> int:
    """The bits of a transfer's tensor."""
    return get(job, t.TENSORS, transfer_word(job, transfer, t.TENSOR), t.BITS)


@inlined
def bits_held(job: Job, copy: int) -> int:
    """The bits of a copy's tensor."""
    return get(job, t.TENSORS, copy_word(job, copy, t.TENSOR), t.BITS)


Shape = tuple[int, ...]


def pack_tables(
    integers: Sequence[Ints | Shape], numbers: Sequence[Floats | Shape]
) -> tuple[Ints, Floats, list[Ints], list[Floats]]:
    """Concatenates tables behind a header; also returns a view of each as an array.

    For a table that starts empty the shape suffices; its memory is not touched.
    """
    header = np.zeros((t.TABLES, HEADER), dtype=np.int64)
    ints, views = _concatenate(integers, header, 0, header.size)
    floats, float_views = _concatenate(numbers, header, len(integers), 0)
    ints[: header.size] = header.reshape(-1)
    return ints, floats.view(np.float64), views, [x.view(np.float64) for x in float_views]


def _concatenate(
    tables: Sequence[NDArray[np.generic] | Shape], header: Ints, first: int, at: int
) -> tuple[Ints, list[Ints]]:
    """Concatenates tables of words from an offset on, and writes their offsets into the header."""
    shapes = [x if isinstance(x, tuple) else x.shape for x in tables]
    starts = at + np.cumsum([0, *(prod(shape) for shape in shapes)])
    words = np.zeros(int(starts[-1]), dtype=np.int64)
    views: list[Ints] = []
    for place, (table, shape) in enumerate(zip(tables, shapes, strict=True)):
        start, stop = starts[place : place + 2].tolist()
        header[first + place] = start, prod(shape[1:]), prod(shape[2:]), shape[0]
        view = words[start:stop].reshape(shape)
        if not isinstance(table, tuple):
            view[...] = np.ascontiguousarray(table).view(np.int64)
        views.append(view)
    return words, views
