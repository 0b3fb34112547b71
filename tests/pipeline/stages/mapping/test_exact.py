"""The exact search of a layer over several spatial mappings."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Final, final

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    MappingType,
    Objective,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages import (
    AllSpatialMappingsStage,
    ExactStage,
    ExactWalkStage,
    RankCandidatesStage,
    WorkloadStage,
)
from nestmap.pipeline.stages.mapping.candidates import STARTS, RankedCandidates
from nestmap.pipeline.stages.mapping.exact import LAYER_LABELS
from nestmap.pipeline.stages.mapping.recall import Choose, Explore, Ports
from nestmap.search import Shortlist, best_of, parallel, pareto_front
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.temporal.exact import effort
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from tests.costmodel.machines import machine, memory
from tests.pipeline.networks import PROBLEM
from tests.pipeline.stages.kinds import LARGE
from tests.search.temporal.exact.problems import Kind, seeded_problem

LAYERS: Final = (next(iter(WorkloadStage()(PROBLEM))), next(iter(WorkloadStage()(LARGE))))


def one_by_one(problem: MappingProblem, objective: Objective) -> float:
    """The optimum over all spatial mappings, each searched on its own."""
    candidates = AllSpatialMappingsStage()(problem)
    batches = [
        batch
        for rank in range(len(candidates))
        for batch in exact(SearchTask(candidates[rank]), objective, ExactOptions())
    ]
    return float(best_of(batches, objective).values(objective)[0])


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("problem", LAYERS)
def test_the_walk_finds_the_optimum_over_all_spatial_mappings(
    problem: MappingProblem, objective: Objective
) -> None:
    best = best_stage(SearchPlan(objective=objective))(problem)
    assert best.values(objective)[0] == one_by_one(problem, objective)
    assert best.statistics.unproven == 0
    assert best.statistics.bounds is not None
    assert best.statistics.bounds.of(objective) == pytest.approx(
        best.values(objective)[0], rel=1e-9
    )


@pytest.mark.parametrize("objective", Objective)
def test_few_labels_prove_even_mappings_too(objective: Objective) -> None:
    # they took several hundred thousand where others took some thousands, and were unproven
    network = read_network("light:squeezenet", "edge_tpu_like")
    problem = next(x for x in WorkloadStage()(network) if x.layer.name == "n37")
    uneven, even = (
        best_stage(SearchPlan(objective=objective, search=search))(problem).statistics
        for search in (ExactStage(labels=3_000, mapping_type=x) for x in MappingType)
    )
    assert (uneven.unproven, even.unproven) == (0, 0)
    assert uneven.bounds is not None
    assert even.bounds is not None
    assert even.bounds.of(objective) >= uneven.bounds.of(objective)


@pytest.mark.parametrize("objective", [*Objective, None])
def test_candidates_come_in_the_order_of_their_bounds(objective: Objective | None) -> None:
    candidates = AllSpatialMappingsStage(objective=objective)(LAYERS[1])
    again = [candidates[rank] for rank in range(len(candidates))]
    ranked = RankCandidatesStage(objective=objective)(again)
    assert len(candidates) == len(ranked) > 1
    starts = candidates.starts
    assert starts == STARTS
    for mine, others in ((candidates.energy, ranked.energy), (candidates.latency, ranked.latency)):
        assert sorted(mine.tolist()) == sorted(others.tolist())
        assert mine[0] == others[0]
    values = (objective or Objective.EDP).value_of(candidates.energy, candidates.latency).tolist()
    assert values[:starts] == sorted(values[:starts])
    assert values[starts:] == sorted(values[starts:])


@pytest.mark.parametrize("limit", [{"time_limit": 1e-9}, {"layer_labels": 1}])
def test_when_a_limit_is_reached_the_rest_is_left_out_with_its_bounds(
    limit: dict[str, object],
) -> None:
    notes = Notes()
    candidates = AllSpatialMappingsStage(objective=Objective.ENERGY)(LAYERS[1])
    search = copy_with(ExactStage(objective=Objective.ENERGY), limit)
    best = best_of(ExactWalkStage(search, Ports(ledger=notes))([candidates]), Objective.ENERGY)
    found = best.statistics
    assert len(notes.searched) == 1
    assert found.unproven + found.pruned == len(candidates) - 1
    assert found.unproven > 0
    assert found.cut == (found.unproven if "time_limit" in limit else 0)
    assert found.bounds is not None
    assert min(candidates.energy.tolist()) <= found.bounds.energy
    assert found.bounds.energy <= one_by_one(LAYERS[1], Objective.ENERGY)


@pytest.mark.parametrize("percent", [1, 10, 50])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("problem", LAYERS)
def test_with_a_gap_the_optimum_is_at_most_that_much_lower(
    problem: MappingProblem, objective: Objective, percent: int
) -> None:
    options = SearchOptions(objective=objective, workers=1)
    least = best_stage(SearchPlan.of(options))(problem)
    best = best_stage(SearchPlan.of({**options, "gap": percent}))(problem)
    optimum, value = float(least.values(objective)[0]), float(best.values(objective)[0])
    bounds, share = best.statistics.bounds, 1 - percent / 100
    assert bounds is not None
    assert value * share * (1 - 1e-9) <= bounds.of(objective) <= optimum * (1 + 1e-9)
    assert optimum <= value * (1 + 1e-9)
    assert best.statistics.unproven == 0
    assert best.statistics.labels <= least.statistics.labels


@pytest.mark.parametrize("problem", LAYERS)
def test_with_a_gap_no_point_of_the_front_is_much_better_than_those_found(
    problem: MappingProblem,
) -> None:
    share = 0.9
    every, few = (costs_of(front_of(problem, ExactStage(gap=x))) for x in (0, 10))
    for energy, latency in every:
        assert any(e * share <= energy and c * share <= latency for e, c in few)


@pytest.mark.parametrize("objective", [*Objective, None])
def test_without_a_limit_of_time_no_result_depends_on_the_clock(
    objective: Objective | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = copy_with(ExactStage(objective=objective), {"layer_labels": 20_000})
    usual = walked(search)
    hours: Iterator[int] = count(0, 3600)
    monkeypatch.setattr(effort, "monotonic", lambda: float(next(hours)))
    assert walked(search) == usual
    assert walked(copy_with(search, {"workers": 3})) == usual


@pytest.mark.parametrize("objective", Objective)
def test_a_limit_of_time_loses_proofs_but_nothing_that_loma_finds(objective: Objective) -> None:
    for problem in LAYERS:
        usual = SearchPlan.of(SearchOptions(objective=objective.value, search="loma"))
        timed = SearchPlan.of(SearchOptions(objective=objective.value, time_limit=1e-9))
        found = best_stage(timed)(problem)
        loma = best_stage(usual)(problem)
        assert found.values(objective)[0] <= loma.values(objective)[0]
        assert found.statistics.cut > 0
        assert found.statistics.bounds is not None
        optimum = best_stage(SearchPlan(objective=objective))(problem).values(objective)[0]
        assert found.statistics.bounds.of(objective) <= optimum <= found.values(objective)[0]


def test_compiling_does_not_count_as_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    compiled = [0.0]
    monkeypatch.setattr(effort, "monotonic", lambda: now[0])
    monkeypatch.setattr(effort, "seconds_compiling", lambda: compiled[0])
    clock = effort.SearchClock(5.0)
    now[0], compiled[0] = 140.0, 38.0
    assert not clock.is_late
    assert clock.left == pytest.approx(3.0)
    now[0] = 143.5
    assert clock.is_late


def test_each_search_gets_the_best_costs_of_those_before() -> None:
    notes = Notes()
    candidates = AllSpatialMappingsStage(objective=Objective.LATENCY)(LAYERS[1])
    none = candidates.energy * 0
    every = RankedCandidates(none, none, candidates.rows, candidates.make, candidates.starts)
    stage = ExactWalkStage(ExactStage(objective=Objective.LATENCY), Ports(ledger=notes))
    best = best_of(stage([every]), Objective.LATENCY)
    seen = [json.loads(options)["task"]["incumbents"] for _, options in notes.searched]
    assert len(seen) == len(candidates)
    assert not seen[0]
    latencies = [costs[0][1] for costs in seen[1:]]
    assert latencies == sorted(latencies, reverse=True)
    assert latencies[-1] >= best.latency2[0]


@pytest.mark.parametrize("objective", Objective)
def test_what_is_proven_first_is_not_searched_again(objective: Objective) -> None:
    """The walk of a table with one spatial mapping makes no labels after its search."""
    every = all_spatial_mappings(LAYERS[1], mixed=True)
    rows = np.arange(1)
    one = SpatialCandidates(every.problem, every.table.take(rows))
    candidates = RankedCandidates(*one.bounds, rows, one.spatial, 1, one)
    search = ExactStage(objective=objective)
    alone = list(exact(SearchTask(one.spatial(0)), objective, search.options))
    assert alone[-1].statistics.labels > 0
    assert not alone[-1].statistics.unproven
    found = list(ExactWalkStage(search)([candidates]))
    assert sum(x.statistics.labels for x in found) == alone[-1].statistics.labels


@pytest.mark.parametrize("problem", LAYERS)
def test_for_energy_only_spatial_mappings_that_may_be_best_are_searched(
    problem: MappingProblem,
) -> None:
    notes = Notes()
    table = AllSpatialMappingsStage(objective=Objective.ENERGY)(problem)
    some = [table[rank] for rank in range(min(12, len(table)))]
    every = RankCandidatesStage(objective=Objective.ENERGY)(some)
    walk = ExactWalkStage(ExactStage(objective=Objective.ENERGY), Ports(ledger=notes))
    found = list(walk([every]))
    alone = [best_alone(x) for x in some]
    least = min(float(x.energy[0]) for x in alone)
    best = best_of(found, Objective.ENERGY)
    assert best.energy[0] == least
    assert best.latency2[0] == min(x.latency2[0] for x in alone if x.energy[0] == least)
    as_low = [x for x, one in zip(some, alone, strict=True) if one.energy[0] <= least * (1 + 1e-9)]
    assert len(notes.searched) <= len(as_low) < len(some)
    assert best.statistics.pruned == len(some) - len(notes.searched)
    assert best.statistics.bounds is not None
    assert best.statistics.bounds.energy == pytest.approx(least, rel=1e-9)
    assert best.statistics.bounds.energy <= least


@final
class Notes:
    """A ledger that knows nothing, and notes which searches it is asked for."""

    def __init__(self) -> None:
        self.searched: list[tuple[SpatialProblem, str]] = []

    def recall(self, spatial: SpatialProblem, options: str) -> None:
        self.searched.append((spatial, options))

    @contextmanager
    def searching(self, spatial: SpatialProblem, options: str) -> Generator[Notes]:
        assert self.searched[-1] == (spatial, options)
        yield self

    def record(self, batch: EvaluationBatch) -> None:
        del batch

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        return evaluate(spatial, mapping)

    def explored(
        self, problem: MappingProblem, options: str, explore: Explore, choose: Choose
    ) -> EvaluationBatch:
        raise AssertionError(problem, options, explore, choose)


def test_what_a_search_knows_of_others_is_recorded_with_its_options() -> None:
    notes = Notes()
    spatial = AllSpatialMappingsStage(objective=Objective.ENERGY)(LAYERS[0])[0]
    search: Stage[SearchTask, Iterator[EvaluationBatch]] = Ports(ledger=notes).connect(
        ExactStage(), ExactStage().options_json
    )
    tasks = (
        SearchTask(spatial),
        SearchTask(spatial, ((1e9, 1e9),)),
        SearchTask(spatial, start=False),
        SearchTask(spatial, labels=500),
    )
    for task in (*tasks, SearchTask(spatial, seconds=1e9)):
        list(search(task))
    *different, timed = [options for _, options in notes.searched]
    assert len(set(different)) == len(tasks)
    assert timed == different[0]


def best_alone(spatial: SpatialProblem) -> EvaluationBatch:
    return best_of(exact(SearchTask(spatial), Objective.ENERGY, ExactOptions()), Objective.ENERGY)


def test_the_walk_for_energy_counts_the_candidates_that_it_leaves_out_before() -> None:
    every = AllSpatialMappingsStage(objective=Objective.ENERGY)(LAYERS[0])
    far = replace(every, energy=every.energy + 1e12)
    stage = ExactWalkStage(ExactStage(objective=Objective.ENERGY))
    once = best_of(stage([every]), Objective.ENERGY).statistics.pruned
    assert len(every) > STARTS
    assert best_of(stage([every, far]), Objective.ENERGY).statistics.pruned == (once + len(far))


@pytest.mark.parametrize("objective", [*Objective, None])
def test_where_nothing_fits_a_few_spatial_mappings_tell_why(objective: Objective | None) -> None:
    problem = too_narrow()
    candidates = AllSpatialMappingsStage(objective=objective)(problem)
    assert len(all_spatial_mappings(problem, mixed=True)) > len(candidates) == STARTS
    found = list(ExactWalkStage(ExactStage(objective=objective))([candidates]))
    infeasible = [reason for batch in found for reason in batch.statistics.infeasible]
    assert not any(map(len, found))
    assert {x.reason for x in infeasible} == {
        "narrow too small for O: needs at least 16 bit (sums of 16 bit: --sum-bits), has 8"
    }


def test_the_walk_for_energy_finds_nothing_where_nothing_fits() -> None:
    every = all_spatial_mappings(too_narrow(), mixed=True)
    bounds = every.bounds
    rows = np.arange(len(every))
    candidates = RankedCandidates(bounds.energy, bounds.latency, rows, every.spatial, STARTS, every)
    stage = ExactWalkStage(ExactStage(objective=Objective.ENERGY))
    found = best_of(stage([candidates]), Objective.ENERGY)
    assert (len(found), found.statistics.pruned) == (0, len(candidates) - STARTS)
    assert found.statistics.bounds == candidates.bounds_of(range(len(candidates)))


@pytest.mark.parametrize("labels", [1, 20_000, LAYER_LABELS])
@pytest.mark.parametrize("problem", LAYERS)
def test_a_front_has_the_optimum_of_each_objective(problem: MappingProblem, labels: int) -> None:
    search = copy_with(ExactStage(), {"layer_labels": labels})
    front = front_of(problem, search)
    costs, bounds = costs_of(front), front.statistics.bounds
    assert bounds is not None
    for objective in Objective:
        best = best_stage(SearchPlan(objective=objective, search=search))(problem)
        values = [float(objective.value_of(*np.array([x]).T)[0]) for x in costs]
        assert min(values) <= float(best.values(objective)[0])
        assert best.statistics.bounds is not None
        assert bounds.of(objective) == best.statistics.bounds.of(objective)


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.LEAKING, Kind.IMC, Kind.EVEN])
@pytest.mark.parametrize("labels", [1, 3_000, LAYER_LABELS])
def test_points_of_a_front_are_off_by_its_gap_at_most(kind: Kind, labels: int) -> None:
    for seed in range(6):
        small = seeded_problem(kind, seed, 300)
        problem = small.spatial.problem
        search = ExactStage(mapping_type=small.mapping_type)
        whole = front_of(problem, search)
        cut = front_of(problem, copy_with(search, {"layer_labels": labels}))
        gap = cut.statistics.front_gap
        assert gap is not None
        assert whole.statistics.front_gap == 0
        assert labels < LAYER_LABELS or gap == 0
        points, share = costs_of(cut), (1 - gap) / (1 + 1e-9)
        for energy, latency in costs_of(whole):
            assert any(e * share <= energy and c * share <= latency for e, c in points)


def front_of(problem: MappingProblem, search: ExactStage) -> Shortlist:
    candidates = AllSpatialMappingsStage()(problem)
    stage = ExactWalkStage(search.for_fronts(Objective.ENERGY))
    return pareto_front(stage([candidates]))


def costs_of(front: Shortlist) -> list[tuple[float, float]]:
    return [(float(x.energy[0]), float(x.latency2[0])) for x in front.rows]


def too_narrow() -> MappingProblem:
    """A layer with many spatial mappings; its partial sums do not fit the innermost memory."""
    narrow = memory("narrow", size=8, operands="O", served="D2")
    top = memory("top", served="D1 D2", width=64)
    tiny = machine(
        memory("register", operands="I2", width=64), narrow, top, sides={"D1": 4, "D2": 2}
    )
    return copy_with(LAYERS[0], {"accelerator": tiny})


@pytest.mark.parametrize("objective", [*Objective, None])
def test_the_workers_change_nothing_but_the_time(
    objective: Objective | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []

    def pool(workers: int) -> ThreadPoolExecutor:
        pools.append(workers)
        return ThreadPoolExecutor(workers)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", pool)
    one = walked(ExactStage(objective=objective))
    assert not pools
    assert walked(ExactStage(objective=objective, workers=3)) == one
    assert set(pools) == {3}


def walked(search: ExactStage) -> list[tuple[list[float], list[float], SearchStatistics]]:
    """The costs of all evaluations of a layer, with their statistics."""
    candidates = AllSpatialMappingsStage(objective=search.objective)(LAYERS[0])
    batches = ExactWalkStage(search)([candidates])
    return [(x.energy.tolist(), x.latency2.tolist(), x.statistics) for x in batches]
