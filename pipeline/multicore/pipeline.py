"""The pipeline that maps a network onto several cores: split, cost, allocate, schedule."""

from nestmap.model import InputError
from nestmap.model.errors import suggestion
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import AllocationSearch, ScheduleProblem
from nestmap.pipeline.multicore.core_plan import core_cost_stage
from nestmap.pipeline.multicore.plan import Engine, StreamPlan
from nestmap.pipeline.multicore.run import StreamJob, StreamPorts
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.multicore.constraint import (
    ConstraintAllocationStage,
    ConstraintFrontStage,
    SeededInterCoreMappingStage,
)
from nestmap.pipeline.stages.multicore.inter_core import (
    BestAllocationStage,
    InterCoreMappingStage,
    ScheduledSearch,
    ScheduledSearchStage,
)
from nestmap.pipeline.stages.multicore.intra_core import CostLedger, IntraCoreMappingStage
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage


def stream_pipeline(
    job: StreamJob, ports: StreamPorts | None = None
) -> Stage[StreamProblem, ScheduledSearch]:
    """The whole pipeline: split, costs, search for allocations, schedule of the best one.

    Results in the ledger of the ports are not computed again. The ports change neither results
    nor the description of the pipeline.
    """
    connected = StreamPorts() if ports is None else ports
    best = BestAllocationStage(job.plan.objective)
    return (
        splitting_stage(job.plan)
        >> _costing(job.plan, connected, job.workers)
        >> _allocation(job, connected)
        >> ScheduledSearchStage(best)
    )


def splitting_stage(plan: StreamPlan) -> Stage[StreamProblem, SplitProblem]:
    """The stage that splits layers into computation nodes."""
    return GenerateCNWorkloadHybridStage(options=plan.split)


def split_network(plan: StreamPlan, problem: StreamProblem) -> SplitProblem:
    """Splits the network of a problem and checks that the plan suits it.

    Raises:
        InputError: where the network cannot be split this way, or an operand to prefetch is not a
            constant.
    """
    split = splitting_stage(plan)(problem)
    known = {x.operand for layer in split.nodes.layers for x in layer.nest.constants}
    for name in plan.schedule.prefetch:
        if name not in known:
            found = f"operand {name}, which is not a constant of any layer"
            raise InputError("prefetch", found, suggestion(name, sorted(known)))
    return split


def rebuild_problem(job: StreamJob, ledger: CostLedger) -> ScheduleProblem:
    """The problem that a recorded run scheduled: its split network and recorded costs."""
    costs = core_cost_stage(job.plan.core, costs=ledger)
    stage = splitting_stage(job.plan) >> IntraCoreMappingStage(costs, job.plan.schedule)
    return stage(job.problem)


def _costing(
    plan: StreamPlan, ports: StreamPorts, workers: int
) -> Stage[SplitProblem, ScheduleProblem]:
    watcher = None if ports.progress is None else ports.progress.costed
    core = plan.core.with_options({"workers": workers})
    costs = core_cost_stage(core, costs=ports.ledger, watcher=watcher)
    return IntraCoreMappingStage(costs=costs, options=plan.schedule, ledger=ports.ledger)


def _allocation(job: StreamJob, ports: StreamPorts) -> Stage[ScheduleProblem, AllocationSearch]:
    """The search for allocations with the engine of the plan."""
    genetic = InterCoreMappingStage(
        options=job.plan.genetic, workers=job.workers, ledger=ports.ledger, observer=ports.progress
    )
    if job.plan.engine is Engine.GENETIC:
        return genetic
    constraint = ConstraintAllocationStage(
        options=job.plan.constraint,
        workers=job.workers,
        ledger=ports.ledger,
        observer=ports.progress,
    )
    if job.plan.engine is Engine.CONSTRAINT:
        return constraint >> ConstraintFrontStage()
    return constraint >> SeededInterCoreMappingStage(genetic)
