"""Batches survive the way through columns."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from hypothesis import given, settings

from nestmap.model import EvaluationBatch
from nestmap.store.columns import from_arrow, levels_of, to_arrow
from tests.store.builders import accelerator, batch, batches, layer, rows_of, spatial_problem


@settings(deadline=None)
@given(batches())
def test_columns_and_back_is_the_identity(given_batch: EvaluationBatch) -> None:
    mappings = given_batch.mappings
    table = to_arrow(given_batch, 5, np.arange(len(given_batch)))
    (back,) = from_arrow(
        table,
        mappings.problem,
        mappings.factors,
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
    assert pc.list_value_length(table.column("cuts")).to_pylist() == [6, 6, 6]


def test_rows_have_the_numbers_that_are_given() -> None:
    problem = spatial_problem(layer(), accelerator())
    table = to_arrow(batch(problem, 3), 5, np.array([720, 725, 721]))
    assert table.column("search").to_pylist() == [5, 5, 5]
    assert table.column("number").to_pylist() == [720, 725, 721]
