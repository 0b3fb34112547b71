"""Work on several threads: in order, a few items ahead, errors at their turn, no thread left."""

import gc
import threading
from collections.abc import Iterator
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.search.parallel import PREFETCH_PER_WORKER, map_in_order
from tests.properties.variants import examples

WORKERS = [1, 2, 5]


class BrokenError(Exception):
    """What goes wrong in these tests."""


def square(number: int) -> int:
    return number * number


@examples
@given(st.lists(st.integers(), max_size=30), st.integers(1, 6))
def test_results_come_in_the_order_of_the_items(numbers: list[int], workers: int) -> None:
    assert list(map_in_order(square, numbers, workers)) == [square(x) for x in numbers]


def test_the_order_does_not_depend_on_who_is_ready_first() -> None:
    second_is_done = threading.Event()

    def run(number: int) -> int:
        if number == 0:
            assert second_is_done.wait(60)
        if number == 1:
            second_is_done.set()
        return number

    assert list(map_in_order(run, range(2), 2)) == [0, 1]


def test_workers_run_at_the_same_time() -> None:
    together = threading.Barrier(3)

    def run(number: int) -> int:
        together.wait(60)  # ends only when three of them are there
        return threading.get_ident()

    assert threading.get_ident() not in list(map_in_order(run, range(3), 3))


def test_one_worker_is_no_thread() -> None:
    def run(number: int) -> int:
        return threading.get_ident()

    assert list(map_in_order(run, range(2), 1)) == [threading.get_ident()] * 2


def noted(taken: list[int]) -> Iterator[int]:
    """An endless stream that notes what was taken from it."""
    for number in count():
        taken.append(number)
        yield number


@pytest.mark.parametrize("workers", WORKERS)
def test_only_a_few_items_are_taken_ahead(workers: int) -> None:
    taken = list[int]()
    results = map_in_order(square, noted(taken), workers)
    assert taken == []
    for asked in range(1, 20):
        assert next(results) == square(asked - 1)
        ahead = 0 if workers == 1 else PREFETCH_PER_WORKER * workers
        assert len(taken) == asked + ahead


def fails_at(position: int) -> Iterator[int]:
    """A stream that breaks after so many items."""
    yield from range(position)
    raise BrokenError(f"no item {position}")


def explode(number: int) -> int:
    if number == 5:
        raise BrokenError("item 5")
    return number


@pytest.mark.parametrize("workers", WORKERS)
def test_an_error_comes_up_when_it_is_its_turn(workers: int) -> None:
    results = map_in_order(explode, range(100), workers)
    assert list(islice(results, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(BrokenError, match="item 5"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("position", [0, 1, 3, 30])
def test_an_error_of_the_stream_comes_up_when_it_is_its_turn(workers: int, position: int) -> None:
    results = map_in_order(square, fails_at(position), workers)
    assert list(islice(results, position)) == [square(x) for x in range(position)]
    with pytest.raises(BrokenError, match=f"no item {position}"):
        next(results)


@pytest.mark.parametrize("workers", WORKERS)
def test_ctrl_c_in_the_stream_does_not_wait_for_its_turn(workers: int) -> None:
    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(square, interrupted(), workers))


@pytest.mark.parametrize("workers", WORKERS)
def test_the_first_of_several_errors_comes_up(workers: int) -> None:
    def run(number: int) -> int:
        raise BrokenError(f"item {number}")

    with pytest.raises(BrokenError, match="item 0"):
        list(map_in_order(run, range(10), workers))


def test_what_was_not_begun_before_an_error_never_is() -> None:
    begun = list[int]()

    def run(number: int) -> int:
        begun.append(number)
        return explode(number)

    with pytest.raises(BrokenError):
        list(map_in_order(run, range(1000), 2))
    assert max(begun) < 5 + 2 * PREFETCH_PER_WORKER + 1


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize("asked", [0, 1, 7])
def test_closed_early_it_leaves_no_threads(workers: int, asked: int) -> None:
    before = set(threading.enumerate())
    results = map_in_order(square, count(), workers)
    assert len(list(islice(results, asked))) == asked
    assert (set(threading.enumerate()) > before) is (asked > 0)
    del results
    gc.collect(1)  # what the test made is young; older objects take long to look through
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("workers", [2, 5])
def test_at_the_end_it_leaves_no_threads(workers: int) -> None:
    before = set(threading.enumerate())
    assert len(list(map_in_order(square, range(20), workers))) == 20
    with pytest.raises(BrokenError):
        list(map_in_order(explode, range(20), workers))
    assert set(threading.enumerate()) <= before


def test_one_in_another_leaves_no_threads() -> None:
    before = set(threading.enumerate())
    results = map_in_order(square, map_in_order(square, count(), 2), 3)
    assert next(results) == 0
    del results
    gc.collect(1)  # what the test made is young; older objects take long to look through
    assert set(threading.enumerate()) <= before
