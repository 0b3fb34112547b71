"""How an exploration searches, and the pipelines that do it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from pydantic import ValidationError

from nestmap.costmodel import evaluate
from nestmap.model import (
    EvaluationBatch,
    Frozen,
    InputError,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    SpatialProblem,
)
from nestmap.model.base import replaced
from nestmap.pipeline.stage import Stage, each
from nestmap.pipeline.stages import (
    BoundedSearchStage,
    CostModelStage,
    EachOnceStage,
    FlattenStage,
    FrontSumStage,
    LomaStage,
    OrderedCandidatesStage,
    ParetoStage,
    PinnedTopLevelsStage,
    RankByBoundStage,
    RecallStage,
    RemoveUnusedMemoryStage,
    SalsaStage,
    SearchUnusedMemoryStage,
    SpatialMappingGeneratorStage,
    SumStage,
    VectorStage,
    WorkloadStage,
    minimal,
)
from nestmap.pipeline.stages.mapping.observe import Observer, ObserveStage
from nestmap.pipeline.stages.mapping.recall import Ledger
from nestmap.pipeline.stages.mapping.reduce import Costing
from nestmap.search.parallel import available_workers


class Rank(StrEnum):
    """Which spatial mappings are the most promising ones.

    ``utilization``: those that use most of the array, of these the ones that unroll more different
    dimensions, as in the reference. ``bound``: of the best fifty of them those that cost least
    at least.
    """

    UTILIZATION = "utilization"
    BOUND = "bound"


POOL = 50
"""Spatial mappings of which the ones with the least bounds are taken, if not more are asked for."""


class SearchPlan(Frozen, frozen=True):
    """How an exploration searches.

    ``objective``: what to make small, also for SALSA, whatever its stage says. ``search``: how to
    find temporal mappings. ``spatial``: which spatial mappings to try, of which ``rank`` says the
    most promising. ``locality``: where given, data stays on chip between layers as far as it finds
    room. With ``prune``, spatial mappings are searched in the order of what they cost at least,
    and those that cannot beat what was found are left out: the same result, sooner. With
    ``count_vector`` the totals include the vector operators.
    """

    objective: Objective = Objective.LATENCY
    search: LomaStage | SalsaStage = LomaStage()
    spatial: SpatialMappingGeneratorStage = SpatialMappingGeneratorStage()
    rank: Rank = Rank.UTILIZATION
    locality: SearchUnusedMemoryStage | None = None
    prune: bool = False
    count_vector: bool = False

    @property
    def effective_search(self) -> LomaStage | SalsaStage:
        """The search with the objective of the plan."""
        if isinstance(self.search, SalsaStage):
            return replaced(self.search, {"objective": self.objective})
        return self.search


def search_plan(  # noqa: PLR0913 (what a user may want to say about a search)
    *,
    objective: Objective | Literal["latency", "energy", "edp"] = Objective.LATENCY,
    search: Literal["loma", "salsa"] = "loma",
    lpf_limit: int | None = 6,
    mapping_type: MappingType | Literal["uneven", "even"] = MappingType.UNEVEN,
    spatial_mappings: int = 3,
    mixed: bool = False,
    rank: Rank | Literal["utilization", "bound"] = Rank.UTILIZATION,
    keep_on_chip: bool = False,
    prune: bool = False,
    count_vector: bool = False,
    seed: int = 0,
    workers: int | None = None,
) -> SearchPlan:
    """The plan out of the choices that :func:`~nestmap.pipeline.explore.api.explore` explains.

    Raises:
        InputError: where one of them is not possible.
    """
    threads = available_workers() if workers is None else workers
    try:
        return SearchPlan(
            objective=Objective(objective),
            search=_search(search, lpf_limit, MappingType(mapping_type), seed, threads),
            spatial=SpatialMappingGeneratorStage(max_mappings=spatial_mappings, mixed=mixed),
            rank=Rank(rank),
            locality=SearchUnusedMemoryStage() if keep_on_chip else None,
            prune=prune,
            count_vector=count_vector,
        )
    except ValidationError as error:
        raise InputError.of("search", error) from None


def _search(
    name: Literal["loma", "salsa"],
    lpf_limit: int | None,
    kind: MappingType,
    seed: int,
    workers: int,
) -> LomaStage | SalsaStage:
    match name:
        case "loma":
            return LomaStage(lpf_limit=lpf_limit, mapping_type=kind, workers=workers)
        case "salsa":
            return SalsaStage(mapping_type=kind, seed=seed, workers=workers)
        case _:  # no type checker has seen it
            raise InputError("search", repr(name), "loma or salsa")


def exploration_pipeline(
    plan: SearchPlan, observers: tuple[Observer, ...] = (), ledger: Ledger | None = None
) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main job: all candidates of every layer, the best of each, their sum.

    Vector operators, of which there is nothing to choose, are added at the end. What the ledger
    knows is not computed again.
    """
    best = evaluated(plan, observers, ledger) >> minimal(plan.objective)
    chosen: Stage[MappingProblem, EvaluationBatch]
    if plan.prune:
        chosen = candidates(plan) >> BoundedSearchStage(best, plan.objective)
    else:
        chosen = candidates(plan) >> each(best) >> minimal(plan.objective)
    total = _layers(plan) >> EachOnceStage(chosen) >> SumStage(costing(ledger))
    return VectorStage(total, plan.count_vector)


def front_pipeline(
    plan: SearchPlan, observers: tuple[Observer, ...] = (), ledger: Ledger | None = None
) -> Stage[NetworkProblem, NetworkFront]:
    """All candidates of every layer, and of each layer those between which one has to choose."""
    costs = candidates(plan) >> each(evaluated(plan, observers, ledger))
    front = costs >> FlattenStage[EvaluationBatch]() >> ParetoStage()
    fronts = _layers(plan) >> EachOnceStage(front) >> FrontSumStage(costing(ledger))
    return VectorStage(fronts, plan.count_vector)


def _layers(plan: SearchPlan) -> Stage[NetworkProblem, Iterator[MappingProblem]]:
    if plan.locality is None:
        return WorkloadStage() >> each(PinnedTopLevelsStage())
    on_chip = each(RemoveUnusedMemoryStage() >> PinnedTopLevelsStage())
    return plan.locality >> WorkloadStage() >> on_chip


def candidates(plan: SearchPlan) -> Stage[MappingProblem, Iterator[SpatialProblem]]:
    """The spatial mappings that a plan tries on a layer."""
    if plan.rank is Rank.UTILIZATION:
        return plan.spatial >> OrderedCandidatesStage()
    most = plan.spatial.max_mappings
    pool = replaced(plan.spatial, {"max_mappings": max(POOL, most)})
    ranked = RankByBoundStage(objective=plan.objective, most=most)
    return pool >> OrderedCandidatesStage() >> ranked


def evaluated(
    plan: SearchPlan, observers: tuple[Observer, ...], ledger: Ledger | None
) -> Stage[SpatialProblem, Iterator[EvaluationBatch]]:
    """All temporal mappings that the search looks at, with their costs, shown to the observers.

    Of a search that the ledger knows those that count.
    """
    observed = _searched(plan) >> ObserveStage(observers)
    return observed if ledger is None else RecallStage(observed, ledger)


def _searched(plan: SearchPlan) -> Stage[SpatialProblem, Iterator[EvaluationBatch]]:
    search = plan.effective_search
    if isinstance(search, SalsaStage):
        return search
    return search >> each(CostModelStage(), search.workers)


def costing(ledger: Ledger | None) -> Costing:
    """What says what a mapping costs: the cost model, unless a ledger knows."""
    return evaluate if ledger is None else ledger.cost
