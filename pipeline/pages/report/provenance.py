"""Provenance of a run: command, time, host, versions, and commands to repeat it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import NetworkProblem
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.pages.report.stages import Option, options_of
from nestmap.store import RunInfo, RunRecord, RunStatus

_TIME: Final = "%Y-%m-%d %H:%M:%S UTC"


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a run; ``again`` are commands."""

    run: tuple[Option, ...]
    versions: tuple[Option, ...]
    options: tuple[Option, ...]
    hashes: tuple[Option, ...]
    again: tuple[str, ...]


def facts(run: ReportedRun) -> Facts:
    """The facts of a run."""
    return Facts(
        run=tuple(_of_run(run.record, run.info)),
        versions=(Option("nestmap", run.info.version), *options_of(run.info.versions)),
        options=options_of(run.info.options),
        hashes=tuple(_hashes(run.network)),
        again=tuple(again(run.record, complete=run.complete)),
    )


def status_text(record: RunRecord) -> str:
    """The status of a run and its reason."""
    return f"{record.status}: {record.reason}" if record.reason else record.status.value


def unfinished(run: ReportedRun) -> str:
    """A note on an incomplete run; empty for a complete one."""
    if run.complete:
        return ""
    found, layers = len(run.evaluation.layers), len(run.network.workload.layers)
    return (
        f"{state_text(run.record)} The figures are the best that it has recorded so far, of "
        f"{count(found)} of {count(layers)} layers; they are not its result."
    )


def state_text(record: RunRecord) -> str:
    """Why a run has no results, in a sentence or two."""
    state = {
        RunStatus.RUNNING: "This run is not done: it is still running, or its machine has stopped.",
        RunStatus.FAILED: "This run has failed.",
        RunStatus.INTERRUPTED: "This run was interrupted.",
    }[record.status]
    return state + (f" Reason: {record.reason}." if record.reason else "")


def hosted(record: RunRecord) -> Iterator[Option]:
    """The time, the host and the command of a run."""
    yield Option("Run", str(record.id))
    if record.label.name is not None:
        yield Option("Name", record.label.name)
    if record.label.tags:
        yield Option("Tags", ", ".join(record.label.tags))
    yield Option("Status", status_text(record))
    yield Option("Command", record.command)
    yield Option("Started", record.started.strftime(_TIME))
    if record.ended is not None:
        seconds = (record.ended - record.started).total_seconds()
        yield Option("Ended", f"{record.ended.strftime(_TIME)} ({seconds:,.1f} s later)")
    if record.cpu_seconds is not None:
        yield Option("CPU time", f"{record.cpu_seconds:,.1f} s, all threads")
    if record.resumed:
        yield Option("Continued", f"{count(record.resumed)} times")
    yield Option("Host", record.host)


def _of_run(record: RunRecord, info: RunInfo) -> Iterator[Option]:
    yield from hosted(record)
    yield Option("Objective", record.objective.value)
    yield Option("Looks for", "fronts of energy and latency" if info.pareto else "the best")
    seed = "none: nothing is drawn at random" if info.seed is None else str(info.seed)
    yield Option("Seed", seed)
    yield Option("Kept evaluations", _kept(info))


def _kept(info: RunInfo) -> str:
    limit = info.recording.limit
    most = f", at most {count(limit)}, then the best" if limit is not None else ""
    return f"{info.recording.record}{most}"


def _hashes(network: NetworkProblem) -> Iterator[Option]:
    """The content hashes of the inputs, which identify them in the store."""
    yield Option(f"Workload {network.workload.name}", network.workload.content_hash)
    yield Option(f"Accelerator {network.accelerator.name}", network.accelerator.content_hash)
    yield Option("Mapping constraints", network.constraints.content_hash)
    yield Option("All of the problem", network.content_hash)


def again(record: RunRecord, *, complete: bool) -> Iterator[str]:
    """The commands to repeat or resume a run."""
    if not complete:
        yield f"nestmap resume {record.id}"
    if words_of(record.command)[:1] == ["nestmap"]:
        yield f"pip install nestmap=={record.version}"
        yield record.command


def words_of(command: str) -> list[str]:
    """The words of a command; none if it is not a shell command."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
