"""The least energy under a limit of latency, and the other way round, over all layers together."""

from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

import nestmap
from nestmap.model import (
    CostLimit,
    InfeasibleError,
    InputError,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.fastest import contrast_with_fastest
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.text.gap import contrast_note, gap_note
from nestmap.pipeline.stages import ExactStage
from nestmap.store import Store
from tests.costmodel.machines import machine, matmul, memory
from tests.loma import with_loma
from tests.pipeline.sweep.spaces import write_space

PROBLEM = NetworkProblem(
    workload=Workload.of(
        copy_with(matmul(k=8, c=12, b=2), {"name": "first"}),
        copy_with(matmul(k=6, c=10), {"name": "second"}),
        copy_with(matmul(k=16, c=4, b=3), {"name": "third"}),
        name="net",
    ),
    accelerator=machine(
        memory("register", size=64, operands="I2", width=64),
        memory("buffer", size=512, served="D1 D2", width=16),
        memory("top", served="D1 D2", width=64),
        sides={"D1": 4, "D2": 2},
    ),
)
PLANS = {
    "exact": SearchPlan(),
    "loma": SearchPlan.of(SearchOptions(search="loma", spatial_mappings=8)),
    "cut": SearchPlan(search=copy_with(ExactStage(), {"layer_labels": 1})),
}
LATENCY, ENERGY = Objective.LATENCY, Objective.ENERGY


def within(limit: str, plan: SearchPlan = PLANS["exact"]) -> NetworkEvaluation:
    return explore_network(PROBLEM, plan.with_options({"at_most": limit})).total


def cost(objective: Objective, total: NetworkEvaluation) -> float:
    return objective.value_of(total.energy, float(total.latency))


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("quantity", [LATENCY, ENERGY])
@pytest.mark.parametrize("factor", [1.0, 1.02, 1.1, 1.5, 9.0])
def test_it_is_the_best_selection_from_the_fronts(
    plan: SearchPlan, quantity: Objective, factor: float
) -> None:
    found = within(f"{quantity}={factor}x", plan)
    front = explore_front(PROBLEM, plan).front
    other = ENERGY if quantity is LATENCY else LATENCY
    least = cost(quantity, front.best(quantity))
    best = min(
        sum(other.of(cme) for cme in chosen)
        for chosen in product(*(layer.cmes for layer in front.layers))
        if sum(quantity.of(cme) for cme in chosen) <= factor * least * (1 + 1e-12)
    )
    assert cost(other, found) == pytest.approx(best, rel=1e-12)
    assert cost(quantity, found) <= factor * least * (1 + 1e-12)
    assert found.limited is not None
    assert found.limited.least == least
    assert found.limited.value == pytest.approx(factor * least)


def test_fronts_leave_a_choice() -> None:
    """Otherwise the other tests show nothing."""
    energies = [within(f"latency={factor}x").energy for factor in (1.0, 1.02, 1.1, 9.0)]
    assert energies == sorted(energies, reverse=True)
    assert len(set(energies)) > 2


def test_a_complete_front_proves_the_optimum() -> None:
    found = within("latency=1.1x")
    assert found.gap == 0.0
    assert [x.bound for x in found.layers] == [None, None, None]
    assert "the energy under this limit is proven to be the least" in gap_note(found)


def test_a_front_that_was_cut_leaves_a_bound_below_the_optimum() -> None:
    for limit in ("latency=1.02x", "latency=1.1x", "energy=1.1x"):
        cut, whole = within(limit, PLANS["cut"]), within(limit)
        assert cut.limited is not None
        whole_within = within(f"{cut.limited.limit.quantity}={cut.limited.value:.17g}")
        assert cut.bound is not None
        assert cut.bound.value <= cost(cut.bound.objective, whole_within) * (1 + 1e-12)
        assert cut.gap
        assert "at most" in gap_note(cut)
        assert whole.gap == 0.0


def test_without_a_bound_of_the_fronts_there_is_none() -> None:
    found = within("latency=1.1x", PLANS["loma"])
    assert (found.bound, found.gap) == (None, None)
    assert gap_note(found).endswith("no bound is known of the energy under this limit.")


def test_the_limit_counts_vector_operators_that_are_counted() -> None:
    limit = CostLimit.parse("latency=1.05x")
    plan = SearchPlan.of(with_loma(lpf_limit=3, count_vector=True))
    limited = plan.with_options({"at_most": limit})
    found = nestmap.explore("light:squeezenet", "tpu_like", plan=limited).total
    fastest = nestmap.explore("light:squeezenet", "tpu_like", plan=plan).total
    assert found.vector_latency > 0
    assert found.limited is not None
    assert found.limited.least == fastest.latency
    assert found.latency <= 1.05 * fastest.latency


def test_a_front_is_not_limited() -> None:
    limited = PLANS["loma"].with_options({"at_most": "latency=1.1x"})
    with pytest.raises(InputError, match="at_most cannot be combined with a search for fronts"):
        explore_front(PROBLEM, limited)


def test_no_mappings_within_the_limit_say_what_the_best_take() -> None:
    least = within("latency=1x").latency
    with pytest.raises(InfeasibleError, match=f"at_most latency=5.*latency={least:.15g}, which"):
        within("latency=5")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at_most": "latency"}, "latency=1.1x, latency=CYCLES"),
        ({"at_most": cast(Any, 250_000)}, "found 250000; expected a text or a CostLimit"),
        ({"at_most": "edp=1.1x"}, "latency=1.1x, latency=CYCLES"),
        ({"at_most": "latency=0.9x"}, "a factor of 1 or more"),
        ({"at_most": "latency=0"}, "a factor of 1 or more"),
        ({"at_most": "latency=1e999"}, "a factor of 1 or more"),
        ({"at_most": "latency=1.1x", "objective": "latency"}, "expected the objective energy"),
        ({"at_most": "energy=1.1x", "objective": "edp"}, "expected the objective latency"),
        ({"at_most": "energy=1.1x", "prune": True, "search": "loma"}, "expected one of both"),
    ],
)
def test_what_is_no_limit_is_refused(options: SearchOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SearchPlan.of(options)


def test_a_recorded_run_has_the_selection_and_is_reused(tmp_path: Path) -> None:
    plan = SearchPlan().with_options({"at_most": "latency=1.1x"})
    with Store.open(tmp_path / "s.duckdb") as store:
        first = explore_network(PROBLEM, plan, store=store)
        again = explore_network(PROBLEM, plan, store=store)
        recorded = store.best(first.run)
        assert '"at_most"' in store.info(first.run).options
    assert again.total == first.total
    assert [x.cme for x in recorded.layers] == [x.cme for x in first.total.layers]


def test_each_design_of_a_sweep_is_limited(tmp_path: Path) -> None:
    found = nestmap.sweep(write_space(tmp_path), at_most="latency=1x")
    fastest = nestmap.sweep(write_space(tmp_path), objective="latency")
    assert found.mapped_for == (ENERGY,)
    assert len(found.points) == len(fastest.points)
    for limited, free in zip(found.points, fastest.points, strict=True):
        assert limited.latency == free.latency
        if limited.energy is not None and free.energy is not None:
            assert limited.energy <= free.energy
    assert any(x.energy for x in found.points)


def test_an_exploration_for_energy_says_what_the_fastest_mapping_takes() -> None:
    plan = SearchPlan(objective=ENERGY)
    total = explore_network(PROBLEM, plan).total
    contrast = contrast_with_fastest(PROBLEM, plan, total)
    assert contrast is not None
    fastest = explore_network(PROBLEM, SearchPlan()).total
    layer = next(x.cme for x in fastest.layers if x.cme.layer == contrast.chosen.layer)
    assert (contrast.energy, contrast.latency) == (layer.energy, layer.latency)
    assert contrast.chosen.layer in contrast_note(*contrast)
    assert contrast_with_fastest(PROBLEM, SearchPlan(), fastest) is None
