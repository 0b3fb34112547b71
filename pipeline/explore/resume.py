"""Resuming interrupted explorations."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from nestmap.pipeline.explore.api import (
    Exploration,
    FrontExploration,
    run_exploration,
    run_front_exploration,
)
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import read_plan, resume_run
from nestmap.pipeline.explore.run import Job, Progress
from nestmap.search.parallel import available_workers
from nestmap.store import RunInfo, Store


def resume(
    run: UUID,
    store: Store | Path | str,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Exploration | FrontExploration:
    """Resumes a run that was interrupted or has failed.

    Completed searches (of a layer with one spatial mapping) are not repeated; the result equals
    that of an uninterrupted run. ``workers`` is the number of threads (``None``: one per core).

    Raises:
        StoreError: where there is no such run, it is done, or it cannot be resumed.
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no layer has a mapping that fits.
    """
    with Store.borrow(store) as target:
        job = _job(run, target.info(run), workers)
        with resume_run(run, job, target, progress) as resumed:
            if progress is not None:
                progress.start(job.network)
            return (run_front_exploration if job.pareto else run_exploration)(
                job, resumed, progress
            )


def _job(run: UUID, info: RunInfo, workers: int | None) -> Job:
    plan = read_plan(SearchPlan, run, info.options)
    threads = available_workers() if workers is None else workers
    return Job(info.network, plan.with_options({"workers": threads}), info.pareto)
