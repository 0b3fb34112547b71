"""What kernels get and give: every kind of argument and result, and who owns its memory."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from threading import Thread
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model.arrays import Floats, Ints
from tests.properties.variants import examples


class Pair(NamedTuple):
    """A named tuple within a named tuple, as kernels pass them."""

    number: float
    values: Floats


class Mixed(NamedTuple):
    """Scalars, an array and a tuple."""

    flag: bool
    size: int
    pair: Pair


@kernel
def echo(flag: bool, count: int, number: float, values: Floats) -> Mixed:
    """All that it got; the array is that of the argument."""
    return Mixed(flag, count, Pair(number, values))


@kernel
def echo_tuple(mixed: Mixed) -> tuple[int, Floats]:
    """Parts of what it got."""
    return mixed.size, mixed.pair.values


@kernel
def squares(count: int) -> tuple[Ints, Floats]:
    """Two arrays that it allocates."""
    table = np.zeros((count, 2), np.int64)
    for n in range(count):
        table[n, 0], table[n, 1] = n, n * n
    return table, np.sqrt(table[:, 1] * 1.0)


@kernel
def tail(values: Floats, start: int) -> Floats:
    """A part of the argument."""
    return values[start:]


@kernel
def front(count: int) -> Floats:
    """The first half of what it allocates."""
    return np.arange(2.0 * count)[:count]


@kernel
def put(work: Work, place: int, value: float) -> None:
    """Changes a record."""
    work.factor[place] = value
    work.loops = place


@kernel
def double(values: Floats) -> None:
    """Changes an array."""
    for n in range(len(values)):
        values[n] *= 2.0


@kernel
def fill(count: int) -> Floats:
    """As much memory as it is asked for."""
    return np.ones(count)


finite = st.floats(allow_nan=False)
integers = st.integers(-(2**63), 2**63 - 1)


@examples
@given(st.booleans(), integers, finite, st.lists(finite, max_size=5))
def test_arguments_come_back_as_they_were(
    flag: bool, count: int, number: float, values: list[float]
) -> None:
    array = np.array(values, np.float64)
    found = echo(flag, count, number, array)
    assert type(found) is Mixed
    assert found[:2] == (flag, count)
    assert type(found.flag) is bool
    assert found.pair.number == number
    assert found.pair.values is array
    again = echo_tuple(found)
    assert again[0] == count
    assert again[1] is array


def test_numpy_scalars_are_those_of_python() -> None:
    values = np.zeros(1)
    found = echo(np.True_, np.int64(7), np.float64(0.5), values)  # type: ignore[arg-type]
    assert found == Mixed(flag=True, size=7, pair=Pair(0.5, values))
    assert type(found.size) is int


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_arrays_that_a_kernel_allocates_live_as_long_as_they_are_used(count: int) -> None:
    table, roots = squares(count)
    part = table[count // 2 :]
    expected = [[n, n * n] for n in range(count)]
    assert table.tolist() == expected
    assert roots.tolist() == list(range(count))
    del table
    gc.collect()
    for _ in range(50):
        squares(count)  # would use freed memory again
    assert part.tolist() == expected[count // 2 :]
    assert front(count).tolist() == list(range(count))


def test_what_kernels_allocate_is_released() -> None:
    def used() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    if not sys.platform.startswith("linux"):
        pytest.skip("reads the memory in use from /proc")
    fill(1_000_000)
    before = used()
    for _ in range(200):
        fill(1_000_000)  # 1.6 GB in total
    assert used() - before < 20_000, "pages"


def test_a_part_of_an_argument_is_a_view_of_it() -> None:
    values = np.arange(5.0)
    part = tail(values, 2)
    assert np.shares_memory(part, values)
    part[0] = 20.0
    assert values.tolist() == [0, 1, 20, 3, 4]


def test_records_and_arrays_are_changed_in_place() -> None:
    work = new_record(Work)
    put(work, 3, 1.5)
    copy = copy_record(work)
    put(copy, 4, 2.5)
    assert (work.loops, work.factor[3], work.factor[4]) == (3, 1.5, 0.0)
    assert (copy.loops, copy.factor[3], copy.factor[4]) == (4, 1.5, 2.5)


def test_arrays_that_are_not_contiguous_are_taken_as_they_are() -> None:
    table = np.arange(6.0).reshape(3, 2)
    double(table[:, 1])
    assert table.tolist() == [[0, 2], [2, 6], [4, 10]]
    values = np.arange(3.0)
    values.flags.writeable = False
    assert tail(values, 1).tolist() == [1, 2]


@pytest.mark.parametrize("argument", ["text", None, [1.0], {}])
def test_what_kernels_cannot_take_is_an_error(argument: object) -> None:
    call: Callable[[object], object] = double  # type: ignore[assignment]  # the wrong argument
    with pytest.raises(TypeError, match=f"kernels take no {type(argument).__name__}"):
        call(argument)


def test_too_little_memory_is_an_error() -> None:
    with pytest.raises(MemoryError):
        fill(2**55)


def test_threads_may_call_one_kernel_for_the_first_time_at_once() -> None:
    results: list[float] = []

    @kernel
    def total(values: Floats) -> float:
        found = 0.0
        for value in values:
            found += value
        return found

    threads = [Thread(target=lambda: results.append(total(np.arange(10.0)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [45.0] * 8
