"""No mapping costs less than the lower bounds of its spatial problem."""

from hypothesis import given

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Objective
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.in_memory import imc_cases
from tests.leaking import leaking_cases
from tests.properties.variants import examples
from tests.strategies import Case, evaluated_cases

ROUNDING = 1e-9


@examples
@given(evaluated_cases() | leaking_cases() | imc_cases())
def test_no_mapping_is_below_the_bounds(case: Case) -> None:
    bounds, cme = lower_bounds(case.spatial), evaluate(case.spatial, case.temporal)
    assert bounds.energy <= cme.energy * (1 + ROUNDING)
    assert bounds.latency <= cme.latency * (1 + ROUNDING)
    assert bounds.of(Objective.EDP) == bounds.energy * bounds.latency
