"""The plan of an exploration, and the pipelines that implement it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate
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
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages import (
    BoundedSearchStage,
    CostModelStage,
    EachOnceStage,
    FlattenStage,
    FrontSumStage,
    LomaStage,
    OrderedCandidatesStage,
    PaddingStage,
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

Choice = TypeVar("Choice", bound=StrEnum)


class Rank(StrEnum):
    """How spatial mappings are ranked.

    ``utilization``: by the share of the array in use, then by the number of different dimensions
    unrolled, as in the reference. ``bound``: the best fifty of these, by the lower bound of their
    cost.
    """

    UTILIZATION = "utilization"
    BOUND = "bound"


CANDIDATE_POOL = 50
"""The number of spatial mappings that are ranked by bound, unless the user asks for more."""


class SearchPlan(Frozen, frozen=True):
    """How an exploration searches.

    ``objective``: what to minimize; it overrides the objective of a SALSA stage. ``search``: how
    to find temporal mappings. ``spatial``: which spatial mappings to try, ranked by ``rank``.
    ``padding``: if given, padded layers are tried, too. ``locality``: if given, data stays on chip
    between layers where capacity allows. With ``prune``, spatial mappings are searched in the order
    of their lower bounds, and those whose bound exceeds the best result are skipped: the same
    result in less time. With ``count_vector``, the totals include the vector operators. Commonly
    changed options are in :class:`~nestmap.pipeline.explore.options.SearchOptions`.
    """

    objective: Objective = Objective.LATENCY
    search: LomaStage | SalsaStage = LomaStage()
    spatial: SpatialMappingGeneratorStage = SpatialMappingGeneratorStage()
    rank: Rank = Rank.UTILIZATION
    padding: PaddingStage | None = None
    locality: SearchUnusedMemoryStage | None = None
    prune: bool = False
    count_vector: bool = False

    @classmethod
    def of(cls, options: SearchOptions) -> SearchPlan:
        """The plan with these options; by default it has one worker per core.

        Raises:
            InputError: where an option is invalid.
        """
        workers = available_workers() if options.workers is None else options.workers
        return cls().with_options(replace(options, workers=workers))

    def with_options(self, options: SearchOptions) -> SearchPlan:
        """This plan, with the given options changed.

        Raises:
            InputError: where an option is invalid.
        """
        spatial = {"max_mappings": options.spatial_mappings, "mixed": options.mixed}
        changes = {
            "objective": _named(Objective, options.objective, "objective"),
            "rank": _named(Rank, options.rank, "rank"),
            "prune": options.prune,
            "count_vector": options.count_vector,
        }
        try:
            fixed = {
                "search": _search(self.search, options),
                "spatial": copy_with(self.spatial, _given(spatial)),
                "padding": _padding(self.padding, options.pad),
                "locality": _locality(self.locality, options.keep_on_chip),
            }
            return copy_with(self, _given(changes) | fixed)
        except ValidationError as error:
            raise InputError.of("search", error) from None

    @property
    def effective_search(self) -> LomaStage | SalsaStage:
        """The search with the objective of the plan."""
        if isinstance(self.search, SalsaStage):
            return copy_with(self.search, {"objective": self.objective})
        return self.search


def member_by_name(kind: type[Choice], name: str, where: str) -> Choice:
    """The member of an enumeration with this name.

    Raises:
        InputError: where there is none; ``where`` is the name of the option.
    """
    try:
        return kind(name)
    except ValueError:
        names = ", ".join(x.value for x in kind)
        raise InputError(where, repr(name), f"one of {names}") from None


def _named(kind: type[Choice], name: str | None, where: str) -> Choice | None:
    return None if name is None else member_by_name(kind, name, where)


def _given(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def _search(search: LomaStage | SalsaStage, options: SearchOptions) -> LomaStage | SalsaStage:
    """The search of the kind that the options name, with the options that apply to it."""
    kind = _named(MappingType, options.mapping_type, "mapping_type")
    common = _given({"mapping_type": kind, "workers": options.workers})
    inherited: dict[str, object] = {"mapping_type": search.mapping_type, "workers": search.workers}
    usual = "salsa" if isinstance(search, SalsaStage) else "loma"
    match options.search or usual:
        case "loma":
            loma = search if isinstance(search, LomaStage) else copy_with(LomaStage(), inherited)
            limit = {} if options.lpf_limit is ... else {"lpf_limit": options.lpf_limit}
            return copy_with(loma, common | limit)
        case "salsa":
            salsa = search if isinstance(search, SalsaStage) else copy_with(SalsaStage(), inherited)
            return copy_with(salsa, common | _given({"seed": options.seed}))
        case _:  # from code that is not type-checked
            raise InputError("search", repr(options.search), "loma or salsa")


def _locality(
    present: SearchUnusedMemoryStage | None, keep: bool | None
) -> SearchUnusedMemoryStage | None:
    if keep is None:
        return present
    return present or SearchUnusedMemoryStage() if keep else None


def _padding(present: PaddingStage | None, percent: float | None) -> PaddingStage | None:
    return present if percent is None else PaddingStage(percent=percent)


def exploration_pipeline(
    plan: SearchPlan, observers: tuple[Observer, ...] = (), ledger: Ledger | None = None
) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main pipeline: all candidates of every layer, the best of each, and their sum.

    Vector operators have only one implementation and are added at the end. Results in the ledger
    are not computed again.
    """
    best = evaluation_stage(plan, observers, ledger) >> minimal(plan.objective)
    chosen: Stage[MappingProblem, EvaluationBatch]
    if plan.prune:
        chosen = candidates_stage(plan) >> BoundedSearchStage(best, plan.objective)
    else:
        chosen = candidates_stage(plan) >> each(best) >> minimal(plan.objective)
    summed = SumStage(cost_function(ledger), plan.objective)
    total = _layers(plan) >> EachOnceStage(chosen) >> summed
    return VectorStage(total, plan.count_vector)


def front_pipeline(
    plan: SearchPlan, observers: tuple[Observer, ...] = (), ledger: Ledger | None = None
) -> Stage[NetworkProblem, NetworkFront]:
    """The pipeline for Pareto fronts: all candidates of every layer, and the front of each."""
    costs = candidates_stage(plan) >> each(evaluation_stage(plan, observers, ledger))
    front = costs >> FlattenStage[EvaluationBatch]() >> ParetoStage()
    fronts = _layers(plan) >> EachOnceStage(front) >> FrontSumStage(cost_function(ledger))
    return VectorStage(fronts, plan.count_vector)


def _layers(plan: SearchPlan) -> Stage[NetworkProblem, Iterator[MappingProblem]]:
    if plan.locality is None:
        return WorkloadStage() >> each(PinnedTopLevelsStage())
    on_chip = each(RemoveUnusedMemoryStage() >> PinnedTopLevelsStage())
    return plan.locality >> WorkloadStage() >> on_chip


def candidates_stage(plan: SearchPlan) -> Stage[MappingProblem, Iterator[SpatialProblem]]:
    """The spatial mappings that a plan tries on a layer, and on its padded forms."""
    if plan.padding is None:
        return _ranked_candidates(plan)
    return plan.padding >> each(_ranked_candidates(plan)) >> FlattenStage[SpatialProblem]()


def _ranked_candidates(plan: SearchPlan) -> Stage[MappingProblem, Iterator[SpatialProblem]]:
    if plan.rank is Rank.UTILIZATION:
        return plan.spatial >> OrderedCandidatesStage()
    most = plan.spatial.max_mappings
    pool = copy_with(plan.spatial, {"max_mappings": max(CANDIDATE_POOL, most)})
    ranked = RankByBoundStage(objective=plan.objective, most=most)
    return pool >> OrderedCandidatesStage() >> ranked


def evaluation_stage(
    plan: SearchPlan, observers: tuple[Observer, ...], ledger: Ledger | None
) -> Stage[SpatialProblem, Iterator[EvaluationBatch]]:
    """The search for temporal mappings with the evaluation of each; observers receive all of them.

    For a search that the ledger holds, only its Pareto front.
    """
    return RecallStage(_search_stage(plan) >> ObserveStage(observers), ledger)


def _search_stage(plan: SearchPlan) -> Stage[SpatialProblem, Iterator[EvaluationBatch]]:
    search = plan.effective_search
    if isinstance(search, SalsaStage):
        return search
    return search >> each(CostModelStage(), search.workers)


def cost_function(ledger: Ledger | None) -> Costing:
    """The function that evaluates a mapping: the ledger if there is one, else the cost model."""
    return evaluate if ledger is None else ledger.cost
