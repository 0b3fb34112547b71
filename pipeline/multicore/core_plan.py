"""How computation nodes are mapped onto single cores, out of the choices of a search plan."""

from __future__ import annotations

import json
from typing import Final

from nestmap.model import EvaluationBatch, InputError
from nestmap.model.mapping.problem import CoreProblem
from nestmap.pipeline.explore.keys import search_options
from nestmap.pipeline.explore.plan import (
    SearchPlan,
    candidates_stage,
    cost_function,
    evaluation_stage,
)
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.bounds import BoundedSearchStage
from nestmap.pipeline.stages.mapping.observe import Observer
from nestmap.pipeline.stages.mapping.recall import Ledger
from nestmap.pipeline.stages.mapping.reduce import minimal
from nestmap.pipeline.stages.mapping.spatial import SpatialMappingGeneratorStage
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger
from nestmap.pipeline.stages.multicore.dataflows import CustomSpatialMappingGeneratorStage
from nestmap.pipeline.stages.multicore.intra_core import CoreCostStage, CostProgress, KeyedCosts

CORE_PLAN: Final = SearchPlan(spatial=SpatialMappingGeneratorStage(max_mappings=10), prune=True)
"""The plan for parts of layers: they are small, so that more spatial mappings take little time."""


def core_cost_stage(
    plan: SearchPlan = CORE_PLAN,
    observers: tuple[Observer, ...] = (),
    ledger: Ledger | None = None,
    costs: CostLedger | None = None,
    watcher: CostProgress | None = None,
) -> CoreCostStage:
    """The stage that finds what computation nodes cost on cores, searching as a plan says.

    Args:
        plan: the objective, which spatial mappings to try, how to find temporal ones. What it says
            of vector operators does not matter: on cores they are layers.
        observers: who sees every evaluation.
        ledger: who knows single searches of before.
        costs: who knows what nodes cost on cores, so that nothing has to be searched.
        watcher: who wants to know how far it is.

    Raises:
        InputError: where the plan keeps data on chip between layers: that is for a schedule to say.
    """
    if plan.locality is not None:
        hint = "the schedule decides where data is kept"
        raise InputError.conflict("keep_on_chip", "several cores", hint)
    return CoreCostStage(
        search=core_search(plan, observers, ledger),
        cost=cost_function(ledger),
        remembered=None if costs is None else KeyedCosts(costs, _options(plan)),
        watcher=watcher,
    )


def core_search(
    plan: SearchPlan, observers: tuple[Observer, ...] = (), ledger: Ledger | None = None
) -> Stage[CoreProblem, EvaluationBatch]:
    """The best mapping of a layer on a core: over its dataflows, else as the plan says."""
    best = evaluation_stage(plan, observers, ledger) >> minimal(plan.objective)
    mappings = CustomSpatialMappingGeneratorStage(candidates_stage(plan))
    if plan.prune:
        return mappings >> BoundedSearchStage(best, plan.objective)
    return mappings >> each(best) >> minimal(plan.objective)


def _options(plan: SearchPlan) -> str:
    """All of a plan that decides what is found."""
    search = search_options(plan.effective_search)
    return json.dumps([plan.objective, search, plan.spatial.model_dump_json(), plan.rank])
