"""Runs a sweep: explores the designs that are chosen, somewhere, and records them if asked to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final

from nestmap.model import InputError, Recording
from nestmap.model.design_space.space import Design, DesignSpace
from nestmap.pipeline.explore.choices import member_by_name
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.options import RecordedRuns, RunsName
from nestmap.pipeline.sweep.record.question import SweepJob, sweep_info
from nestmap.pipeline.sweep.result.result import SweepResult
from nestmap.pipeline.sweep.result.summary import Front, figures_of
from nestmap.pipeline.sweep.workers.local_workers import thread_explorer
from nestmap.pipeline.sweep.workers.place import LocalProcesses, Place, parse_place
from nestmap.search.parallel import available_workers

if TYPE_CHECKING:
    from nestmap.store import Store


class SweepProgress(Protocol):
    """Receives the progress of a sweep."""

    def start(self, designs: int) -> None:
        """The sweep of so many designs begins."""

    def explored(self, points: DesignPoints, front: int) -> None:
        """A design is explored; this many points are on the front now."""

    def recalled(self, points: DesignPoints, front: int) -> None:
        """A design was explored before, which the store knows; otherwise as :meth:`explored`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where a sweep runs and what it records; the fields are those of :func:`sweep`."""

    workers: int | None = None
    on: str | None = None
    store: Store | Path | str | None = None
    runs: RecordedRuns | RunsName = "front"
    recording: Recording | None = None

    @property
    def recorded_runs(self) -> RecordedRuns:
        """Of which designs runs are recorded.

        Raises:
            InputError: where there is no such choice.
        """
        return member_by_name(RecordedRuns, self.runs, "runs")

    @property
    def place(self) -> Place | None:
        """Where designs are explored, unless by this process.

        Raises:
            InputError: where ``on`` is invalid or excludes another argument.
        """
        if self.on is None:
            return None
        place = parse_place(self.on)
        if self.workers is not None:
            raise InputError.conflict("on", "workers", "it says how many designs at a time")
        if self.store is not None and self.recorded_runs is RecordedRuns.ALL:
            hint = "this process records runs, of the designs on the front after the sweep"
            raise InputError.conflict("on", "runs all", hint)
        return place


def run_sweep(
    job: SweepJob, execution: Execution, progress: SweepProgress | None = None
) -> SweepResult:
    """Explores the designs of a job.

    Raises:
        InputError: where ``on`` is invalid or excludes another argument, or its processes end.
        StoreError: where the store cannot be written.
    """
    observed = _Observed(job.method.checked.settings.space, progress)
    where, _ = execution.place, execution.recorded_runs
    if execution.store is not None:
        return _recorded(job, execution, observed)
    with _explorer(job, where, execution.workers) as explore:
        designs = job.choice.explored(observed.counting(explore))
        return sweep_result(job, observed(designs, job.choice.most))


def sweep_result(job: SweepJob, designs: Iterator[DesignPoints]) -> SweepResult:
    """The result of a job with these designs."""
    return SweepResult(
        space=job.method.checked.settings.space,
        base=job.method.checked.settings.base,
        mapped_for=job.method.mapped_for,
        points=tuple(chain.from_iterable(designs)),
        rejected=job.choice.rejected,
        static_energy=job.method.static_energy,
        is_reference=job.method.plan.is_reference,
    )


def _recorded(job: SweepJob, execution: Execution, observed: _Observed) -> SweepResult:
    from nestmap.pipeline.sweep.record.recorded_runs import (  # noqa: PLC0415 (the store takes long to import)
        record_missing_runs,
        run_recorder,
        without_unfinished_runs,
    )
    from nestmap.pipeline.sweep.record.recorder import SweepRecorder  # noqa: PLC0415 (as above)
    from nestmap.store import Store  # noqa: PLC0415 (as above)

    runs, info = execution.recorded_runs, sweep_info(job)
    borrowed = Store.borrow(execution.store or "")
    with borrowed as store, without_unfinished_runs(store, info.key):
        recording = run_recorder(job, info.key, store, execution.recording)
        one_by_one = nullcontext(recording)
        everywhere = _explorer(job, execution.place, execution.workers)
        with (
            one_by_one if runs is RecordedRuns.ALL else everywhere as explore,
            SweepRecorder(job.method.checked, store.start_sweep(info)) as recorder,
        ):
            rows = job.choice.explored(recorder.recording(observed.counting(explore)))
            found = sweep_result(job, observed(rows, job.choice.most))
            recorder.finish(job.choice.rejected)
        wanted = found.points if runs is RecordedRuns.ALL else found.front
        if runs is not RecordedRuns.NONE:
            record_missing_runs(wanted, job, info.key, store, execution.recording)
    return found


def _explorer(
    job: SweepJob, place: Place | None, workers: int | None
) -> AbstractContextManager[ExploreDesigns]:
    """Explores several designs at a time, each with one thread."""
    method = job.method.on_one_thread()
    if place is None:
        count = available_workers() if workers is None else workers
        return nullcontext(thread_explorer(method, count))
    method = method.without_store()
    if isinstance(place, LocalProcesses):
        from nestmap.pipeline.sweep.workers.local_workers import process_explorer  # noqa: PLC0415 (rarely used)

        return process_explorer(method, place.processes)
    from nestmap.pipeline.sweep.workers.dask_cluster import dask_explorer  # noqa: PLC0415 (rarely used)

    return dask_explorer(method, place)


@final
@dataclass(slots=True)
class _Observed:
    """Tells of designs, and whether they are explored now."""

    space: DesignSpace
    progress: SweepProgress | None
    explorations: int = 0

    def counting(self, explore: ExploreDesigns) -> ExploreDesigns:
        """Explores as ``explore``, and counts."""

        def counted(designs: Sequence[Design]) -> Iterator[DesignPoints]:
            for points in explore(designs):
                self.explorations += 1
                yield points

        return counted

    def __call__(self, designs: Iterator[DesignPoints], most: int) -> Iterator[DesignPoints]:
        """The same designs, each told when it is explored."""
        if self.progress is None:
            yield from designs
            return
        self.progress.start(most)
        front, before = Front(), 0
        for points in designs:
            for point in points:
                front.add(figures_of(point, self.space.objectives), 0)
            is_new, before = self.explorations > before, self.explorations
            tell = self.progress.explored if is_new else self.progress.recalled
            tell(points, len(front))
            yield points
