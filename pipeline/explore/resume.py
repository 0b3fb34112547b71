"""Explorations that were interrupted, taken up where they were."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from nestmap.model import StoreError
from nestmap.model.base import replaced
from nestmap.pipeline.explore.api import Exploration, FrontExploration, carry_out, carry_out_front
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import kept, opened
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
    """Goes on with a run that was interrupted or has failed, and ends it.

    What it has searched to the end (a layer under one spatial mapping) is not searched again; the
    result is that of a run that was not interrupted. ``workers`` are threads (``None``: one for
    each core).

    Raises:
        StoreError: where there is no such run, it is done, or cannot be gone on with.
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no mapping of a layer fits.
    """
    with opened(store) as target:
        job = _job(run, target.info(run), workers)
        with target.resume_run(run) as going_on:
            if progress is not None:
                progress.start(job.network)
            again = kept(going_on, job.plan, progress)
            return (carry_out_front if job.pareto else carry_out)(job, again, progress)


def _job(run: UUID, info: RunInfo, workers: int | None) -> Job:
    try:
        plan = SearchPlan.model_validate_json(info.options)
    except ValidationError:
        raise StoreError(
            f"run {run}: found no plan that nestmap of today can follow; expected a run of this "
            "version: explore again"
        ) from None
    threads = available_workers() if workers is None else workers
    search = replaced(plan.search, {"workers": threads})
    return Job(info.network, replaced(plan, {"search": search}), info.pareto)
