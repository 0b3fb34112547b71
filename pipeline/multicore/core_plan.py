"""The mapping of computation nodes onto single cores, according to a search plan."""

import json
from typing import Final

from nestmap.model import EvaluationBatch, InputError, Objective
from nestmap.model.mapping.problem import CoreProblem
from nestmap.pipeline.explore.plan import SearchPlan, candidates_stage, ranked_stage, temporal_stage
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.bounds import BoundedSearchStage
from nestmap.pipeline.stages.mapping.exact import ExactStage
from nestmap.pipeline.stages.mapping.recall import UNCONNECTED
from nestmap.pipeline.stages.mapping.reduce import minimal
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.pipeline.stages.multicore.intra_core import (
    CoreCostStage,
    CostLedger,
    CostProgress,
    CustomSpatialMappingGeneratorStage,
    KeyedCosts,
    RankedDataflowsStage,
)

NODE_LABELS = 100_000
"""Labels of all spatial mappings of a node: a tenth of a layer's, as there are many kinds."""

CORE_PLAN: Final = SearchPlan(objective=Objective.EDP, search=ExactStage(layer_labels=NODE_LABELS))
"""The plan for computation nodes: the optimum for energy and latency together, or close to it."""


def core_cost_stage(
    plan: SearchPlan = CORE_PLAN,
    costs: CostLedger | None = None,
    watcher: CostProgress | None = None,
) -> CoreCostStage:
    """The stage that finds the costs of computation nodes on cores, according to a plan.

    Args:
        plan: the objective, which spatial mappings to try, and how to find temporal mappings. Its
            options for vector operators have no effect: on cores these operators are layers.
        costs: records costs of nodes on cores, and returns those of earlier explorations.
        watcher: receives progress updates.

    Raises:
        InputError: where the plan keeps data on chip between layers: the schedule decides this.
    """
    for name, given in {"keep_on_chip": plan.keep_on_chip, "fuse": plan.fuse}.items():
        if given:
            hint = "the schedule decides where data is kept"
            raise InputError.conflict(name, "several cores", hint)
    return CoreCostStage(
        search=core_search(plan),
        remembered=None if costs is None or plan.is_timed else KeyedCosts(costs, _options(plan)),
        watcher=watcher,
    )


def core_search(plan: SearchPlan) -> Stage[CoreProblem, EvaluationBatch]:
    """The search for the best mapping of a layer on a core.

    It tries the core's dataflows if the core has any, else the spatial mappings of the plan.
    """
    walk = plan.effective_search.walk(UNCONNECTED)
    if walk is not None:
        ranked = RankedDataflowsStage(ranked_stage(plan, plan.objective), plan.objective)
        return ranked >> walk >> minimal(plan.objective)
    mappings = CustomSpatialMappingGeneratorStage(candidates_stage(plan))
    best = temporal_stage(plan, UNCONNECTED) >> minimal(plan.objective)
    if plan.prune:
        return mappings >> BoundedSearchStage(best, plan.objective)
    return mappings >> each(best) >> minimal(plan.objective)


def _options(plan: SearchPlan) -> str:
    """The options of a plan that determine the result."""
    search, rank = plan.effective_search.options_json, plan.effective_rank
    chosen = (
        "bound of all" if rank is Rank.BOUND else rank
    )  # "bound" alone: of fifty, in old stores
    return json.dumps([plan.objective, search, plan.generator.model_dump_json(), chosen])
