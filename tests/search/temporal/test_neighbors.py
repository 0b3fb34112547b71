"""The allocation and the costs of an order do not depend on the orders before it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch, factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import MappingBatch, SpatialProblem
from nestmap.model.arrays import Codes
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows
from nestmap.search.temporal.permutations import encode
from tests.properties.variants import examples
from tests.strategies import cut_positions, spatial_problems

MOST_ORDERS = 12


def drawn_orders(data: st.DataObject, codes: Codes) -> Codes:
    """Some orders; most share inner loops with the one before, as lexicographic neighbors do."""
    order, orders = codes, [codes]
    for _ in range(data.draw(st.integers(1, MOST_ORDERS - 1))):
        inner = data.draw(st.integers(0, len(codes)))
        outer = data.draw(st.permutations(order[inner:].tolist()))
        order = np.array([*order[:inner], *outer], np.uint8)
        orders.append(order)
    return np.array(orders)


@examples
@given(spatial_problems(2**20), st.booleans(), st.data())
def test_an_allocation_does_not_depend_on_the_order_before(
    spatial: SpatialProblem, even: bool, data: st.DataObject
) -> None:
    factors, codes = encode(loop_factors(spatial, 8))
    orders = drawn_orders(data, codes)
    problem, table = flatten(spatial), factor_table(spatial, factors)
    together, apart = new_record(Failures), new_record(Failures)
    found = allocate_rows(problem, table, orders.copy(), even, together)
    single = [allocate_rows(problem, table, row[None].copy(), even, apart) for row in orders]
    for side in range(2):
        assert found[side].tolist() == [row for one in single for row in one[side].tolist()]
    assert together.orders.tolist() == apart.orders.tolist()
    assert together.need.tolist() == apart.need.tolist()


@examples
@given(spatial_problems(2**20), st.data())
def test_costs_do_not_depend_on_the_mapping_before(
    spatial: SpatialProblem, data: st.DataObject
) -> None:
    factors, codes = encode(loop_factors(spatial, 8))
    orders = drawn_orders(data, codes)
    depth = max(len(spatial.problem.levels(x.name)) for x in spatial.layer.operands)
    cuts = np.full((len(orders), len(spatial.layer.operands), depth), len(codes), np.uint8)
    for row in range(len(orders)):
        for x, operand in enumerate(spatial.layer.operands):
            if row == 0 or data.draw(st.booleans()):
                positions = data.draw(cut_positions(spatial, operand.name, len(codes)))
                cuts[row, x, : len(positions)] = positions
            else:
                cuts[row, x] = cuts[row - 1, x]
    together = evaluate_batch(MappingBatch(spatial, factors, orders, cuts))
    for row in range(len(orders)):
        rows = slice(row, row + 1)
        alone = evaluate_batch(MappingBatch(spatial, factors, orders[rows], cuts[rows]))
        assert alone.energy[0] == together.energy[row]
        assert alone.latency0[0] == together.latency0[row]
        assert alone.latency1[0] == together.latency1[row]
        assert alone.latency2[0] == together.latency2[row]
