"""One cost model: a row of a batch costs what the mapping costs alone, whenever it is asked."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingBatch,
    MappingType,
    Objective,
    SpatialProblem,
)
from nestmap.search import best_of, loma
from tests.in_memory import imc_cases
from tests.leaking import leaking
from tests.properties.variants import examples, with_accelerator
from tests.strategies import spatial_problems


def first_batch(spatial: SpatialProblem) -> MappingBatch:
    """Some mappings: those that a small search finds first (none where nothing fits)."""
    return next(loma(spatial, 4, MappingType.UNEVEN))


@st.composite
def leaking_problems(draw: st.DrawFn) -> SpatialProblem:
    """A spatial problem on a machine that leaks."""
    spatial = draw(spatial_problems(2**10))
    return with_accelerator(spatial, draw(leaking(spatial.accelerator)))


@st.composite
def imc_problems(draw: st.DrawFn) -> SpatialProblem:
    """A spatial problem on an array that computes in memory."""
    return draw(imc_cases(2**10)).spatial


def same_row(batch: EvaluationBatch, row: int, cme: CostModelEvaluation) -> bool:
    return (
        batch.energy[row] == cme.energy
        and batch.latency0[row] == cme.latency0
        and batch.latency1[row] == cme.latency1
        and batch.latency2[row] == cme.latency2
        and batch.ideal_cycles == cme.ideal_cycles
    )


@examples
@given(spatial_problems(2**10) | leaking_problems() | imc_problems())
def test_a_row_of_a_batch_is_a_single_evaluation(spatial: SpatialProblem) -> None:
    batch = evaluate_batch(first_batch(spatial))
    assert batch.statistics.evaluations == len(batch)
    for row in range(len(batch)):
        assert same_row(batch, row, evaluate(spatial, batch.mappings.row(row)))


@examples
@given(spatial_problems(2**10))
def test_a_mapping_survives_the_way_through_a_batch(spatial: SpatialProblem) -> None:
    batch = first_batch(spatial)
    for row in range(len(batch)):
        mapping = batch.row(row)
        assert MappingBatch.of(spatial, mapping).row(0) == mapping


@examples
@given(spatial_problems(2**10), st.randoms(use_true_random=False))
def test_neighbours_do_not_matter(spatial: SpatialProblem, random: Random) -> None:
    batch = first_batch(spatial)
    rows = list(range(len(batch))) * 2
    random.shuffle(rows)
    shuffled = evaluate_batch(batch.take(np.array(rows, np.intp)))
    expected = evaluate_batch(batch).take(np.array(rows, np.intp))
    assert (shuffled.energy == expected.energy).all()
    assert (shuffled.latency0 == expected.latency0).all()
    assert (shuffled.latency1 == expected.latency1).all()
    assert (shuffled.latency2 == expected.latency2).all()


@examples
@given(spatial_problems(2**10), st.sampled_from(Objective), st.sampled_from(MappingType))
def test_a_search_gives_the_same_result_every_time(
    spatial: SpatialProblem, objective: Objective, mapping_type: MappingType
) -> None:
    def search() -> EvaluationBatch:
        return best_of(map(evaluate_batch, loma(spatial, 5, mapping_type)), objective)

    one, other = search(), search()
    assert one.statistics == other.statistics
    assert len(one) == len(other)
    for row in range(len(one)):
        assert one.mappings.row(row) == other.mappings.row(row)
        assert same_row(one, row, evaluate(spatial, other.mappings.row(row)))
