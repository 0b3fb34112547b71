"""Batches survive the way through columns."""

from random import Random
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import EvaluationBatch
from nestmap.store.rows.codes import code_bits, pack, unpack
from nestmap.store.rows.evaluations import (
    ListArray,
    MappingCoding,
    from_arrow,
    levels_of,
    list_items,
    to_arrow,
)
from tests.store.builders import accelerator, batch, batches, layer, rows_of, spatial_problem


@settings(deadline=None)
@given(batches())
def test_columns_and_back_is_the_identity(given_batch: EvaluationBatch) -> None:
    mappings = given_batch.mappings
    table = to_arrow(given_batch, 5, np.arange(len(given_batch)))
    (back,) = from_arrow(
        table,
        mappings.problem,
        MappingCoding(mappings.factors, code_bits(mappings.problem)),
        given_batch.ideal_cycles,
        given_batch.statistics,
    )
    assert rows_of(back) == rows_of(given_batch)
    if len(given_batch):
        assert back.mappings.factors == mappings.factors
        np.testing.assert_array_equal(back.mappings.orders, mappings.orders)
        np.testing.assert_array_equal(back.mappings.cuts, mappings.cuts)


def test_levels_that_an_operand_does_not_have_are_left_out() -> None:
    problem = spatial_problem(layer(), accelerator())
    table = to_arrow(batch(problem, 3), 5, np.arange(3))
    assert levels_of(problem) == (2, 3, 1)  # O, W, I
    assert pc.list_value_length(table.column("cuts")).to_pylist() == [1, 1, 1]
    bits = code_bits(problem)
    words = np.array(table.column("cuts").to_pylist(), np.uint64)
    assert (unpack(words, bits)[:, 6:] == (1 << bits) - 1).all()


@given(st.integers(4, 8), st.integers(0, 40), st.integers(0, 5), st.randoms())
def test_codes_are_packed_and_unpacked(bits: int, length: int, rows: int, random: Random) -> None:
    highest = (1 << bits) - 2
    values = [[random.randint(0, highest) for _ in range(length)] for _ in range(rows)]
    codes = np.array(values, np.uint8).reshape(rows, length)
    words = pack(codes, bits)
    assert words.shape == (rows, -(-length // (64 // bits)))
    back = unpack(words, bits)
    np.testing.assert_array_equal(back[:, :length], codes)
    assert (back[:, length:] == highest + 1).all()


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=6), st.data())
def test_the_items_of_a_part_of_lists(lists: list[list[int]], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lists)))
    length = data.draw(st.integers(0, len(lists) - first))
    part = pa.array(lists, pa.list_(pa.int64())).slice(first, length)
    items = [x.as_py() for x in list_items(cast("ListArray", part))]
    assert items == [x for entry in lists[first : first + length] for x in entry]


def test_codes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="code 15 does not fit 4 bits; expected below 15"):
        pack(np.array([[3, 15]], np.uint8), 4)


def test_rows_have_the_numbers_that_are_given() -> None:
    problem = spatial_problem(layer(), accelerator())
    table = to_arrow(batch(problem, 3), 5, np.array([720, 725, 721]))
    assert table.column("search").to_pylist() == [5, 5, 5]
    assert table.column("number").to_pylist() == [720, 725, 721]
