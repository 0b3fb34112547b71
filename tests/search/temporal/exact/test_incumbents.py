"""The incumbent of a search is the mapping that reducers choose, and a front has it, too."""

from itertools import permutations

import numpy as np
import pytest

from nestmap.model import Objective
from nestmap.search.temporal.exact.incumbents import Costs, Incumbents

COSTS: tuple[Costs, ...] = ((4.0, 3.0), (5.0, 3.0), (3.0, 4.0), (3.0, 6.0), (2.0, 6.0))
BEST = {Objective.ENERGY: (2.0, 6.0), Objective.LATENCY: (4.0, 3.0), Objective.EDP: (2.0, 6.0)}


@pytest.mark.parametrize("objective", Objective)
def test_of_equals_the_one_with_the_least_energy_and_then_latency_stays(
    objective: Objective,
) -> None:
    for costs in permutations(COSTS):
        known = Incumbents(objective)
        for cost in costs:
            known = known.with_costs([cost])
        assert known == Incumbents(objective).with_costs(costs)
        assert known.costs == (BEST[objective],)
        assert not known.improved_by(*np.array([BEST[objective]]).T)


def test_of_equal_energies_the_least_latency_stays() -> None:
    known = Incumbents(Objective.ENERGY, ((2.0, 7.0),)).with_costs([(2.0, 6.0), (2.0, 8.0)])
    assert known.costs == ((2.0, 6.0),)
