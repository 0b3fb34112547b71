"""Rows that take the cost of an earlier row have that cost, to the last bit."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch, factor_table
from nestmap.costmodel.evaluate_rows import FEW, Columns, Scratch, evaluate_orders, new_scratch
from nestmap.costmodel.flatten import flatten
from nestmap.model import Loop, MappingBatch, MappingType, SpatialProblem
from nestmap.model.arrays import Codes
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.permutations import encode
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.strategies import spatial_problems


class Rows(NamedTuple):
    """Orders of the same loops, each with cuts."""

    spatial: SpatialProblem
    factors: tuple[Loop, ...]
    orders: Codes
    cuts: Codes

    def columns(self) -> Columns:
        """The costs, evaluated as one batch."""
        batch = evaluate_batch(MappingBatch(*self))
        return Columns(batch.energy, batch.latency0, batch.latency1, batch.latency2)

    def row(self, row: int) -> Rows:
        """One of the rows."""
        rows = slice(row, row + 1)
        return Rows(self.spatial, self.factors, self.orders[rows], self.cuts[rows])


def drawn_rows(spatial: SpatialProblem, seed: int, rows: int = FEW) -> Rows:
    """Random orders with few different cuts; most of them move loops between the same cuts only."""
    random = np.random.default_rng(seed)
    factors, codes = encode(loop_factors(spatial, 8))
    depths = [len(spatial.problem.levels(x.name)) for x in spatial.layer.operands]
    some = np.full((3, len(depths), max(depths)), len(codes), np.uint8)
    for cuts in some:
        for x, depth in enumerate(depths):
            cuts[x, : depth - 1] = np.sort(random.integers(0, len(codes) + 1, depth - 1))
    chosen, orders = some[random.integers(0, len(some), rows)], list[Codes]()
    for cuts in chosen:
        moves_far = random.integers(0, 4) == 0
        parts = [codes] if moves_far else np.split(codes, np.unique(cuts))
        orders.append(np.concatenate([random.permutation(part) for part in parts]))
    return Rows(spatial, factors, np.array(orders), chosen)


def check_rows(rows: Rows) -> None:
    """Asserts that rows cost in the batch what they cost alone: every third one, to save time."""
    together = rows.columns()
    for row in range(0, len(rows.orders), 3):
        alone = rows.row(row).columns()
        for of_all, of_one in zip(together, alone, strict=True):
            assert of_all[row].hex() == of_one[0].hex()


@examples
@given(spatial_problems(2**20), st.integers(0, 2**32))
def test_a_row_costs_in_a_batch_what_it_costs_alone(spatial: SpatialProblem, seed: int) -> None:
    check_rows(drawn_rows(spatial, seed))


def alike(unrolled: str, relation: str, capacity: int, reuses: bool) -> SpatialProblem:
    """A convolution whose dimensions have the same factors, which only their meaning tells apart.

    The memory in the middle holds much of what it could, so that it does not always double-buffer.
    """
    middle = memory("middle", size=capacity, served="D1", width=2)
    middle = copy_with(middle, {"instance": copy_with(middle.instance, {"window_reuse": reuses})})
    memories = memory("register", operands="I1 O"), middle, memory("top", served="D1")
    layer = convolution({"K": 6, "C": 5, "OX": 14, "FX": 6}, relation)
    return mapped(layer, machine(*memories, sides={"D1": 4}), {"D1": unrolled})


@pytest.mark.parametrize("reuses", [False, True])
@pytest.mark.parametrize("capacity", [256, 1024, 4096])
@pytest.mark.parametrize("relation", ["ix=1*ox+1*fx", "ix=2*ox+1*fx", "ix=2*ox+3*fx"])
@pytest.mark.parametrize("unrolled", ["K 2", "OX 3", "OX 4", "C 4", "FX 4"])
def test_factors_of_one_size_are_told_apart(
    unrolled: str, relation: str, capacity: int, reuses: bool
) -> None:
    check_rows(drawn_rows(alike(unrolled, relation, capacity, reuses), seed=capacity))


@pytest.mark.parametrize(
    ("unrolled", "counts"), [("C 1", False), ("OX 4", False), ("OX 3", True), ("C 4", True)]
)
def test_the_order_counts_where_growth_is_rounded(unrolled: str, counts: bool) -> None:
    scratch, _ = evaluated(drawn_rows(alike(unrolled, "ix=1*ox+1*fx", 1024, False), 0))
    digits = [scratch.structure.digits[x] > 1 for x in range(3)]
    assert digits == [False, False, counts]


def test_windows_tell_rows_of_a_structure_apart() -> None:
    """All loops of a product change places below one cut, so that few structures differ."""
    middle = memory("middle", size=64, width=64)
    spatial = mapped(matmul(k=4, c=4, b=4), machine(middle, memory("top", width=1)))
    factors, codes = encode(loop_factors(spatial, 8))
    orders = np.array(3 * [*permutations(codes[:5].tolist())], np.uint8)
    orders = np.hstack([orders, np.full((len(orders), 1), codes[5], np.uint8)])
    cuts = np.full((len(orders), 3, 2), len(codes), np.uint8)
    cuts[:, :, 0] = len(codes) - 1
    rows = Rows(spatial, factors, orders, cuts)
    check_rows(rows)
    scratch, _ = evaluated(rows)
    assert 1 < int(scratch.known.structures) < int(scratch.known.rows)


def test_most_orders_have_no_effect() -> None:
    spatial = alike("K 2", "ix=1*ox+1*fx", 4096, reuses=False)
    (batch, _) = loma(spatial, None, MappingType.UNEVEN)
    rows = Rows(spatial, batch.factors, batch.orders, batch.cuts)
    scratch, columns = evaluated(rows)
    assert 10 * int(scratch.known.rows) < len(rows.orders)
    assert columns.energy.tolist() == rows.columns().energy.tolist()


def evaluated(rows: Rows) -> tuple[Scratch, Columns]:
    """The records after the evaluation of rows, and their costs."""
    scratch, columns = new_scratch(len(rows.orders)), Columns(*np.zeros((4, len(rows.orders))))
    table = factor_table(rows.spatial, rows.factors)
    evaluate_orders(flatten(rows.spatial), scratch, table, rows.orders, rows.cuts, columns)
    return scratch, columns
