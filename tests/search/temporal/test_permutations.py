"""Orders of a multiset: all, different, in order, whatever the chunks."""

from collections import Counter
from itertools import permutations as all_orders
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Loop
from nestmap.search.temporal.permutations import count_permutations, encode, permutations
from tests.costmodel.machines import loops
from tests.properties.variants import examples

Rows = list[tuple[int, ...]]


def rows(codes: list[int], inner: int = 0, outer: int = 0, chunk: int = 1000) -> Rows:
    chunks = permutations(np.array(codes, np.uint8), inner=inner, outer=outer, chunk=chunk)
    return [tuple(row) for rows in chunks for row in rows.tolist()]


multisets = st.lists(st.integers(0, 3), min_size=1, max_size=7)


@examples
@given(multisets)
def test_all_orders_in_lexicographic_order(codes: list[int]) -> None:
    assert rows(codes) == sorted(set(all_orders(codes)))


@examples
@given(multisets, st.integers(1, 50))
def test_chunks_do_not_matter(codes: list[int], chunk: int) -> None:
    assert rows(codes, chunk=chunk) == rows(codes)
    sizes = [len(x) for x in permutations(np.array(codes, np.uint8), chunk=chunk)]
    assert all(size == chunk for size in sizes[:-1])
    assert 0 < sizes[-1] <= chunk


@examples
@given(multisets, st.data())
def test_pinned_loops_stay(codes: list[int], data: st.DataObject) -> None:
    inner = data.draw(st.integers(0, len(codes)))
    outer = data.draw(st.integers(0, len(codes) - inner))
    end = len(codes) - outer
    head, free, tail = tuple(codes[:inner]), codes[inner:end], tuple(codes[end:])
    expected = [head + middle + tail for middle in sorted(set(all_orders(free)))]
    assert rows(codes, inner, outer) == expected


@examples
@given(multisets)
def test_count_is_the_multinomial(codes: list[int]) -> None:
    given = [Loop(dimension=f"D{code}", size=code + 1) for code in codes]
    assert count_permutations(given) == len(rows(codes))


def test_chunks_are_not_overwritten() -> None:
    chunks = list(permutations(np.arange(4, dtype=np.uint8), chunk=5))
    assert len(np.unique(np.concatenate(chunks), axis=0)) == factorial(4)


def test_orders_are_made_when_asked_for() -> None:
    # 20! of them: only a lazy generator gives the first ones
    chunks = permutations(np.arange(20, dtype=np.uint8), chunk=3)
    assert next(chunks)[:, -2:].tolist() == [[18, 19], [19, 18], [17, 19]]
    assert next(chunks)[0, -3:].tolist() == [18, 19, 17]


def test_nothing_has_one_order() -> None:
    assert rows([]) == [()]


@pytest.mark.parametrize(
    ("text", "factors", "codes"),
    [
        ("K 2 K 2 C 3", "K 2 C 3", [0, 0, 1]),
        ("C 3 K 2 C 3", "C 3 K 2", [0, 1, 0]),
        ("K 2 K 4 K 2", "K 2 K 4", [0, 1, 0]),  # a dimension has several factors
    ],
)
def test_codes(text: str, factors: str, codes: list[int]) -> None:
    different, encoded = encode(loops(text))
    assert different == loops(factors)
    assert encoded.tolist() == codes


def test_equal_loops_are_one_factor() -> None:
    different, encoded = encode(loops("K 2 C 2 K 2 K 2"))
    orders = rows(encoded.tolist())
    assert len(orders) == 4
    named = [tuple(str(different[code]) for code in order) for order in orders]
    assert all(Counter(order) == {"K 2": 3, "C 2": 1} for order in named)
