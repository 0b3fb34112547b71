"""Searches by plan: the workers change nothing, pruning changes nothing but the time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, cast, final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    EvaluationBatch,
    InputError,
    MappingConstraints,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialProblem,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import Stage, each
from nestmap.pipeline.explore.api import explore, explore_network
from nestmap.pipeline.explore.options import SearchName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import (
    AllSpatialMappingsStage,
    BoundedSearchStage,
    CostModelStage,
    ExactStage,
    LomaStage,
    SalsaStage,
    SpatialMappingGeneratorStage,
    minimal,
)
from nestmap.search.parallel import available_workers
from nestmap.store import Store
from tests.bundled import bundled_network
from tests.costmodel.machines import machine, matmul, memory
from tests.loma import with_loma
from tests.pipeline.networks import PROBLEM
from tests.properties.variants import examples
from tests.strategies import mapping_problems

# 20,160 orders and more: several chunks of LOMA, and more than all chains of SALSA look at. The
# outlet has room for eight finished sums (8 bit) and not for as many partial ones (16 bit).
LARGE = NetworkProblem(
    workload=Workload.of(copy_with(matmul(k=120, c=84, b=10), {"name": "large"}), name="net"),
    accelerator=machine(
        memory("cell", size=16, operands="O", width=16),
        memory("outlet", size=64, operands="O", served="D1 D2", width=64),
        memory("buffer", size=2**14, served="D1 D2", width=64),
        memory("top", served="D1 D2", width=64),
        sides={"D1": 4, "D2": 2},
    ),
)


@final
@dataclass(frozen=True)
class Recorded:
    """What a search found, and all that it recorded on the way, in order."""

    total: NetworkEvaluation
    batches: tuple[object, ...]


def recorded(search: Literal["loma", "salsa"], workers: int) -> Recorded:
    """A search of the large layer."""
    plan = SearchPlan.of(
        SearchOptions(
            search=search, spatial_mappings=3, lpf_limit=None, workers=workers, objective="edp"
        )
    )
    with Store.open(None) as store:
        found = explore_network(LARGE, plan, store=store)
        batches = store.evaluations(found.run, "large")
    return Recorded(found.total, tuple(map(content, batches)))


def content(batch: EvaluationBatch) -> object:
    """All that a batch holds, comparable."""
    mappings = batch.mappings
    columns = (mappings.orders, mappings.cuts, batch.energy, batch.latency0, batch.latency2)
    return (
        mappings.problem,
        mappings.factors,
        tuple(column.tobytes() for column in columns),
        batch.statistics,
    )


@pytest.mark.parametrize("search", ["loma", "salsa"])
def test_results_and_records_do_not_depend_on_the_workers(search: Literal["loma", "salsa"]) -> None:
    alone = recorded(search, 1)
    (layer,) = alone.total.layers
    assert layer.statistics.infeasible
    assert layer.statistics.evaluations > 3 * 8192  # the size of a chunk
    assert len(alone.batches) >= 3  # spatial mappings
    for workers in (2, 5):
        assert recorded(search, workers) == alone


def test_the_seed_decides_what_annealing_looks_at() -> None:
    def orders(seed: int) -> list[bytes]:
        plan = SearchPlan.of(SearchOptions(search="salsa", seed=seed, spatial_mappings=1))
        with Store.open(None) as store:
            run = explore_network(LARGE, plan, store=store).run
            return [x.energy.tobytes() for x in store.evaluations(run, "large")]

    assert orders(1) == orders(1) != orders(2)


@pytest.mark.parametrize("objective", Objective)
def test_annealing_looks_for_the_objective_of_the_plan(objective: Objective) -> None:
    # the stage's own objective is that of the stage alone
    plan = SearchPlan(
        objective=objective,
        search=SalsaStage(objective=Objective.ENERGY),
        spatial=SpatialMappingGeneratorStage(max_mappings=3),
    )
    assert (
        explore_network(LARGE, plan).total
        == explore_network(
            LARGE, copy_with(plan, {"search": SalsaStage(objective=Objective.LATENCY)})
        ).total
    )


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize(
    ("network", "machine"), [("light:alexnet", "tpu_like"), ("light:squeezenet", "meta_prototype")]
)
def test_pruning_changes_no_result(network: str, machine: str, objective: Objective) -> None:
    whole, pruned = (
        explore(
            bundled_network(network),
            machine,
            MappingConstraints(),  # nothing fixed, so that there is something to choose
            search="loma",
            objective=objective,
            lpf_limit=3,
            spatial_mappings=8,
            prune=prune,
        )
        for prune in (False, True)
    )
    assert [x.cme for x in pruned.layers] == [x.cme for x in whole.layers]
    left_out = [x.statistics.pruned for x in pruned.layers]
    assert max(left_out) <= 7
    assert not any(x.statistics.pruned for x in whole.layers)
    for one, other in zip(pruned.layers, whole.layers, strict=True):
        fewer = one.statistics.evaluations < other.statistics.evaluations
        assert fewer is (one.statistics.pruned > 0)


def test_pruning_leaves_something_out() -> None:
    plan = SearchPlan.of(SearchOptions(search="loma", spatial_mappings=20, prune=True))
    pruned = explore_network(PROBLEM, plan).total
    whole = explore_network(PROBLEM, copy_with(plan, {"prune": False})).total
    assert sum(x.statistics.pruned for x in pruned.layers) > 0
    assert pruned.evaluations < whole.evaluations


@final
@dataclass(frozen=True)
class Noting(Stage[SpatialProblem, EvaluationBatch]):
    """The best mapping, noting of what."""

    inner: Stage[SpatialProblem, EvaluationBatch]
    seen: list[SpatialProblem]

    def __call__(self, item: SpatialProblem, /) -> EvaluationBatch:
        self.seen.append(item)
        return self.inner(item)


@examples
@given(mapping_problems(2**10), st.sampled_from(Objective), st.integers(1, 6))
def test_bounds_change_no_result(problem: MappingProblem, objective: Objective, most: int) -> None:
    candidates = list(SpatialMappingGeneratorStage(max_mappings=most)(problem))
    best = LomaStage(lpf_limit=3) >> each(CostModelStage()) >> minimal(objective)
    seen = list[SpatialProblem]()
    bounded = BoundedSearchStage(Noting(best, seen), objective)(iter(candidates))
    whole = (each(best) >> minimal(objective))(candidates)
    assert figures([bounded]) == figures([whole])
    assert bounded.statistics.pruned == len(candidates) - len(seen)
    assert len(set(seen)) == len(seen)
    looked_at = [best(x).statistics for x in candidates if x in seen]
    assert bounded.statistics.evaluations == sum(x.evaluations for x in looked_at)
    if len(seen) == len(candidates):
        assert bounded.statistics == whole.statistics


def figures(batches: Iterable[EvaluationBatch]) -> list[tuple[str, float, float]]:
    """The mappings of batches with their costs."""
    return [
        (f"{x.mappings.problem.spatial_mapping} {x.mappings.row(i)}", x.energy[i], x.latency2[i])
        for x in batches
        for i in range(len(x))
    ]


def test_bounds_need_a_candidate() -> None:
    best = LomaStage() >> each(CostModelStage()) >> minimal(Objective.ENERGY)
    with pytest.raises(ValueError, match="no batch"):
        BoundedSearchStage(best, Objective.ENERGY)(())


def test_every_candidate_is_searched_where_none_fits() -> None:
    inner = memory("inner", size=2**10, served="D1", width=64)
    small = machine(inner, memory("top", size=7, served="D1"), sides={"D1": 4})
    problem = MappingProblem(layer=matmul(k=8, c=12), accelerator=small)
    candidates = tuple(SpatialMappingGeneratorStage(max_mappings=4)(problem))
    best = LomaStage() >> each(CostModelStage()) >> minimal(Objective.ENERGY)
    found = BoundedSearchStage(best, Objective.ENERGY)(candidates)
    assert (len(found), found.statistics.pruned) == (0, 0)
    assert sum(x.count for x in found.statistics.infeasible) > len(candidates) > 1


def test_options_change_only_what_is_given() -> None:
    plan = SearchPlan(
        objective=Objective.EDP,
        search=SalsaStage(chains=3, seed=5, mapping_type=MappingType.EVEN),
        spatial=SpatialMappingGeneratorStage(max_mappings=9, weight_diagonal=True),
        prune=True,
    )
    assert plan.with_options(SearchOptions()) == plan
    changed = plan.with_options(SearchOptions(seed=6, mixed=True, prune=False, objective="energy"))
    assert changed == copy_with(
        plan,
        {
            "objective": Objective.ENERGY,
            "search": copy_with(plan.search, {"seed": 6}),
            "spatial": copy_with(plan.generator, {"mixed": True}),
            "prune": False,
        },
    )
    other = plan.with_options(with_loma(lpf_limit=None)).search
    assert other == LomaStage(lpf_limit=None, mapping_type=MappingType.EVEN)


def test_data_is_kept_on_chip_as_asked() -> None:
    kept = SearchPlan.of(with_loma(keep_on_chip=True))
    assert kept.keep_on_chip
    assert kept.with_options(SearchOptions()) == kept
    assert not kept.with_options(SearchOptions(keep_on_chip=False)).keep_on_chip


def test_keywords_override_the_plan() -> None:
    plan = SearchPlan.of(SearchOptions(search="loma", objective="energy", spatial_mappings=2))
    network, accelerator = PROBLEM.workload, PROBLEM.accelerator
    given = explore(network, accelerator, plan=plan, objective="latency", lpf_limit=2)
    alone = explore(network, accelerator, search="loma", spatial_mappings=2, lpf_limit=2)
    assert (given.objective, given.total) == (Objective.LATENCY, alone.total)


def test_without_workers_all_cores_are_used() -> None:
    every = available_workers()
    assert SearchPlan.of(SearchOptions()) == SearchPlan(search=ExactStage(workers=every))
    loma = SearchPlan.of(SearchOptions(search="loma"))
    assert loma == SearchPlan(search=LomaStage(workers=every))
    assert SearchPlan.of(SearchOptions(search="salsa")).search.workers == every >= 1


@pytest.mark.parametrize("search", get_args(SearchName))
def test_every_search_has_the_workers_that_the_user_wants(search: SearchName) -> None:
    plan = SearchPlan.of(SearchOptions(search=search, workers=3))
    assert plan.search.workers == plan.with_options(SearchOptions()).search.workers == 3
    assert plan.with_options(SearchOptions(search="loma")).search.workers == 3
    assert plan.with_options(SearchOptions(search="exact")).search.workers == 3


def test_the_default_is_the_exact_search_over_all_spatial_mappings() -> None:
    plan = SearchPlan.of(SearchOptions(workers=1))
    assert plan == SearchPlan.of(SearchOptions(mixed=False, workers=1)) == SearchPlan()
    assert isinstance(SearchPlan().search, ExactStage)
    assert SearchPlan.of(SearchOptions(spatial_mappings="all")).spatial == AllSpatialMappingsStage()


def test_all_spatial_mappings_are_for_the_exact_search() -> None:
    with pytest.raises(InputError, match="a number, or search exact"):
        SearchPlan.of(SearchOptions(search="loma", spatial_mappings="all"))


def test_a_time_limit_is_positive() -> None:
    plan = SearchPlan.of(SearchOptions(time_limit=2.5))
    assert isinstance(plan.search, ExactStage)
    assert plan.search.time_limit == 2.5
    with pytest.raises(InputError, match="time_limit"):
        SearchPlan.of(SearchOptions(time_limit=0))


def test_a_gap_is_in_percent() -> None:
    plan = SearchPlan.of(SearchOptions(gap=12.5))
    assert isinstance(plan.search, ExactStage)
    assert plan.search.gap == 12.5


@pytest.mark.parametrize(
    ("planned", "found"),
    [
        (lambda: SearchPlan.of(SearchOptions(gap=-1)), "-1 as gap"),
        (lambda: SearchPlan.of(SearchOptions(gap=100)), "100 as gap"),
        (lambda: SearchPlan.of(SearchOptions(gap=cast("float", "x"))), "'x' as gap"),
        (lambda: SearchPlan.of(with_loma(workers=0)), "0 as workers"),
        (lambda: SearchPlan.of(with_loma(workers=-1)), "-1 as workers"),
        (lambda: SearchPlan.of(with_loma(lpf_limit=0)), "0 as lpf_limit"),
        (
            lambda: SearchPlan.of(SearchOptions(search="loma", spatial_mappings=0)),
            "0 as max_mappings",
        ),
        (lambda: SearchPlan.of(SearchOptions(search="salsa", seed=-1)), "-1 as seed"),
        (
            lambda: SearchPlan.of(SearchOptions(search=cast("Literal['loma']", "random"))),
            "'random'",
        ),
    ],
)
def test_choices_that_are_not_possible_are_wrong_input(
    planned: Callable[[], SearchPlan], found: str
) -> None:
    with pytest.raises(InputError) as caught:
        planned()
    assert caught.value.where == "search"
    assert caught.value.found == found
