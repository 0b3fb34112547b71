"""Provenance of a run on several cores: inputs, time, host, commands to repeat it."""

from __future__ import annotations

from collections.abc import Iterator

from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.pages.report.multicore.reported_run import RecordedRun, ReportedStream
from nestmap.pipeline.pages.report.provenance import Facts, again, hosted, state_text
from nestmap.pipeline.pages.report.stages import Option, options_of
from nestmap.pipeline.render.charts.schedule.front import allocation_text


def stream_facts(run: ReportedStream) -> Facts:
    """The facts of a run; for a schedule without a recorded run, those of its inputs."""
    known = run.run
    return Facts(
        run=(*(_of_run(known) if known else ()), *_of_search(run)),
        versions=_versions(known) if known else (),
        options=_options(known) if known else (),
        hashes=tuple(_hashes(run)),
        again=tuple(again(known.record, complete=run.complete)) if known else (),
    )


def _of_run(known: RecordedRun) -> Iterator[Option]:
    yield from hosted(known.record)
    yield Option("Objective", known.record.objective.value)
    seed = known.info.seed
    yield Option("Seed", "none: nothing is drawn at random" if seed is None else str(seed))


def _of_search(run: ReportedStream) -> Iterator[Option]:
    schedule = run.schedule
    if run.generations:
        last = run.generations[-1]
        yield Option("Generations", count(last.number + 1))
        yield Option("Allocations scheduled", count(last.evaluations))
        yield Option("Last better front", f"generation {last.improved}")
    yield Option("Allocation", allocation_text(schedule.allocation, schedule.problem.space))


def _versions(known: RecordedRun) -> tuple[Option, ...]:
    return (Option("nestmap", known.info.version), *options_of(known.info.versions))


def _options(known: RecordedRun) -> tuple[Option, ...]:
    return options_of(known.info.options)


def _hashes(run: ReportedStream) -> Iterator[Option]:
    problem = run.schedule.problem
    yield Option(f"Nodes of {problem.nodes.name}", problem.nodes.content_hash)
    yield Option(f"Accelerator {problem.accelerator.name}", problem.accelerator.content_hash)
    if run.run is not None:
        yield Option("Workload", run.run.info.workload.content_hash)
        yield Option("Core mapping", run.run.info.mapping.content_hash)


def unfinished_stream(run: ReportedStream) -> str:
    """A note on an incomplete run; empty for a complete one."""
    if run.complete or run.run is None:
        return ""
    number = run.generations[-1].number if run.generations else 0
    return (
        f"{state_text(run.run.record)} The schedule is the best that it has recorded so far, up to "
        f"generation {count(number)}; it is not its result."
    )
