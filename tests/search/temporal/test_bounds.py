"""Every search reports lower bounds, once, and no mapping that it finds costs less."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, MappingType, Objective, SpatialProblem
from nestmap.search import loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.salsa import Annealing, salsa
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.properties.variants import few_examples
from tests.search.temporal.orderings import with_ordering
from tests.strategies import spatial_problems

PLAIN = mapped(
    matmul(k=4, c=6),
    machine(memory("rf", size=64, operands="I2", served="D1"), memory("dram", served="D1")),
)
SHORT = Annealing(chains=2, iterations=20)


def check(spatial: SpatialProblem, batches: Sequence[EvaluationBatch]) -> None:
    """The last batch alone has bounds, and they hold for every row."""
    *others, last = batches
    bounds = last.statistics.bounds
    assert bounds is not None
    assert bounds == lower_bounds(spatial)
    assert all(batch.statistics.bounds is None for batch in others)
    for batch in batches:
        for objective in Objective:
            assert (batch.values(objective) >= bounds.of(objective) * (1 - 1e-9)).all()


@few_examples
@given(spatial_problems(2**10), st.sampled_from(MappingType))
def test_loma_finds_nothing_below_its_bounds(spatial: SpatialProblem, kind: MappingType) -> None:
    check(spatial, list(map(evaluate_batch, loma(spatial, 4, kind))))


@few_examples
@given(spatial_problems(2**10), st.sampled_from(Objective), st.sampled_from(MappingType))
def test_salsa_finds_nothing_below_its_bounds(
    spatial: SpatialProblem, objective: Objective, kind: MappingType
) -> None:
    """Annealed, and where there are few orders, all of them."""
    for search in (SHORT, Annealing()):
        check(spatial, list(salsa(spatial, objective, search, kind, workers=1)))


@pytest.mark.parametrize("levels", [1, 2])
def test_a_pinned_mapping_has_bounds_too(levels: int) -> None:
    both = {"dram": 2}
    pinned = with_ordering(
        PLAIN, "C 6 K 4", {"O": both, "W": {"rf": levels - 1, "dram": 2}, "I": both}
    )
    check(pinned, list(map(evaluate_batch, loma(pinned, None, MappingType.UNEVEN))))
