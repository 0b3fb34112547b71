"""The bound of the exact search is below everything that any other search finds."""

from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import MappingType, Objective, SpatialProblem
from nestmap.search import loma
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.salsa import Annealing, salsa
from tests.properties.variants import few_examples
from tests.search.temporal.exact.oracle import least
from tests.strategies import spatial_problems

ROUNDING = 1 + 1e-9
LIMITS = (6, 7)
SHORT = Annealing(chains=2, iterations=200)


@few_examples
@given(
    spatial_problems(2**12),
    st.sampled_from(Objective),
    st.sampled_from(MappingType),
    st.sampled_from((1, 20, 2_000_000)),
)
def test_no_search_finds_less_than_the_bound(
    spatial: SpatialProblem, objective: Objective, mapping_type: MappingType, labels: int
) -> None:
    options = ExactOptions(mapping_type=mapping_type, labels=labels)
    batches = list(exact(SearchTask(spatial), objective, options))
    others = [evaluate_batch(x) for n in LIMITS for x in loma(spatial, n, mapping_type)]
    others += salsa(spatial, objective, SHORT, mapping_type, workers=1)
    found = min(least(batch, objective) for batch in batches)
    theirs = min(least(batch, objective) for batch in others)
    bounds, unproven = batches[-1].statistics.bounds, batches[-1].statistics.unproven
    if bounds is not None:
        assert bounds.of(objective) <= min(found, theirs) * ROUNDING
    assert unproven or found <= theirs
