"""Dataflows in the temporal mapping: what the innermost memories have to hold."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import (
    Dataflow,
    LayerConstraints,
    MappingBatch,
    MappingType,
    Objective,
    SpatialProblem,
)
from nestmap.search.temporal.loma import feasible_orders
from nestmap.search.temporal.memory_allocation import Failures, fits_rows
from nestmap.search.temporal.pinned import place_pinned_levels
from nestmap.search.temporal.salsa import Annealing, salsa
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.search.temporal.exact.oracle import all_mappings
from tests.search.temporal.exact.problems import Kind, Small, draw_problem
from tests.search.temporal.orderings import constrained
from tests.search.temporal.stationary import has_dataflow


@st.composite
def problems(draw: st.DrawFn) -> Small:
    """Small problems with a dataflow."""
    return draw_problem(draw(st.randoms(use_true_random=False)), Kind.DATAFLOW, 2000)


def wanted(spatial: SpatialProblem) -> Dataflow:
    """The dataflow of the constraints."""
    dataflow = spatial.problem.constraints.dataflow
    assert dataflow is not None
    return dataflow


def fitting(batch: MappingBatch, spatial: SpatialProblem) -> list[bool]:
    """Which rows fit by the rules of a problem."""
    table = factor_table(spatial, batch.factors)
    rows = fits_rows(flatten(spatial), table, batch.orders, batch.cuts, new_record(Failures))
    return [bool(x) for x in rows]


@examples
@given(problems())
def test_what_fits_is_what_fits_without_and_has_the_dataflow(small: Small) -> None:
    spatial = small.spatial
    free = constrained(spatial, LayerConstraints())
    for batch in all_mappings(spatial):
        expected = [
            fits and has_dataflow(spatial, batch.row(row), wanted(spatial))
            for row, fits in enumerate(fitting(batch, free))
        ]
        assert fitting(batch, spatial) == expected


@examples
@given(problems(), st.sampled_from(MappingType))
def test_loma_and_salsa_find_such_mappings_only(small: Small, mapping_type: MappingType) -> None:
    spatial, short = small.spatial, Annealing(chains=2, iterations=20)
    batches = [
        *feasible_orders(spatial, None, mapping_type),
        *(x.mappings for x in salsa(spatial, Objective.EDP, short, mapping_type, 1)),
    ]
    for batch in batches:
        for row in range(len(batch)):
            assert has_dataflow(spatial, batch.row(row), wanted(spatial))


@examples
@given(problems())
def test_loma_keeps_what_has_the_dataflow_anyway(small: Small) -> None:
    spatial = small.spatial
    dataflow = wanted(spatial)
    free = constrained(spatial, LayerConstraints())
    found = {
        (mapping.order, mapping.cuts)
        for batch in feasible_orders(spatial, None, MappingType.UNEVEN)
        for mapping in (batch.row(row) for row in range(len(batch)))
    }
    for batch in feasible_orders(free, None, MappingType.UNEVEN):
        for mapping in (batch.row(row) for row in range(len(batch))):
            if has_dataflow(free, mapping, dataflow):
                assert (mapping.order, mapping.cuts) in found


SMALL: Final = memory("small", size=8, operands="I2", served="D1")
"""Room for one weight."""

TOP: Final = memory("top", served="D1")


@pytest.mark.parametrize(
    ("dataflow", "order", "holds"),
    [
        (Dataflow.WEIGHT_STATIONARY, "B 3 K 4 C 6", True),
        (Dataflow.WEIGHT_STATIONARY, "K 4 B 3 C 6", False),
        (Dataflow.INPUT_STATIONARY, "K 4 B 3 C 6", True),  # its only memory holds all
        (None, "K 4 B 3 C 6", True),
    ],
)
def test_weights_stay_while_the_batch_runs(
    dataflow: Dataflow | None, order: str, holds: bool
) -> None:
    spatial = mapped(matmul(k=4, c=6, b=3), machine(SMALL, TOP))
    spatial = constrained(spatial, LayerConstraints(dataflow=dataflow))
    rows = (
        batch.row(row).order
        for batch in feasible_orders(spatial, None, MappingType.UNEVEN)
        for row in range(len(batch))
    )
    order_in_primes = loops(order.replace("K 4", "K 2 K 2").replace("C 6", "C 2 C 3"))
    assert (order_in_primes in set(rows)) is holds


def test_a_mapping_that_does_not_have_it_is_refused_with_the_reason() -> None:
    spatial = mapped(matmul(k=4, c=6, b=3), machine(SMALL, TOP))
    free = next(iter(feasible_orders(spatial, None, MappingType.UNEVEN)))
    rows = (free.row(row) for row in range(len(free)))
    mapping = next(x for x in rows if not has_dataflow(spatial, x, Dataflow.WEIGHT_STATIONARY))
    spatial = constrained(spatial, LayerConstraints(dataflow=Dataflow.WEIGHT_STATIONARY))
    (reason,) = place_pinned_levels(spatial, mapping).statistics.infeasible
    assert reason.reason == "small does not hold the loops that weight_stationary keeps in it"


def test_too_small_a_memory_is_named_with_the_dataflow() -> None:
    spatial = mapped(matmul(k=4, c=6, b=3), machine(memory("sums", size=16, operands="O"), TOP))
    spatial = constrained(spatial, LayerConstraints(dataflow=Dataflow.OUTPUT_STATIONARY))
    *_, last = feasible_orders(spatial, None, MappingType.UNEVEN)
    assert {x.reason for x in last.statistics.infeasible} == {
        "sums too small for O with output_stationary: needs at least 32 bit, has 16"
    }


def test_a_layer_without_temporal_loops_has_nothing_to_hold() -> None:
    wide = machine(SMALL, TOP, sides={"D1": 3})
    spatial = mapped(matmul(k=1, c=1, b=3), wide, {"D1": "B 3"})
    spatial = constrained(spatial, LayerConstraints(dataflow=Dataflow.WEIGHT_STATIONARY))
    (batch,) = all_mappings(spatial)
    assert all(fitting(batch, spatial))
