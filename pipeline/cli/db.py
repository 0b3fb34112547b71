"""The implementation of ``nestmap db``."""

from pathlib import Path

import typer

from nestmap.model import InputError
from nestmap.pipeline.cli.error_handling import WRONG_INPUT
from nestmap.pipeline.cli.options.store import CheckOptions, MergeOptions, PruneOptions
from nestmap.pipeline.cli.printing import show_text
from nestmap.store.maintenance.check import CheckReport, check_store
from nestmap.store.maintenance.merge import MergeCounts, merge_stores
from nestmap.store.maintenance.prune import (
    PruneReport,
    PruneSelection,
    find_runs,
    find_sweeps,
    prune,
)


def run_check(options: CheckOptions) -> None:
    """Checks a store and prints its problems.

    Raises:
        typer.Exit: if there are any.
        StoreError: if the store cannot be read.
    """
    store = options.store
    report = check_store(store, options.recompute)
    show_text(_checked(report))
    show_text(f"problem: {problem}" for problem in report.problems)
    wrong = len(report.problems)
    show_text([f"{store}: {wrong} problem{'s' * (wrong != 1)}" if wrong else f"{store}: sound"])
    if not report.is_sound:
        raise typer.Exit(WRONG_INPUT)


def _checked(report: CheckReport) -> list[str]:
    widest = max(len(table) for table, _ in report.tables)
    counts = [f"{table:{widest}}  {rows:>13,}" for table, rows in report.tables]
    lines = [f"schema version {report.schema_version}", *counts]
    if report.unfinished_runs:
        lines.append(f"{_many(report.unfinished_runs, 'run')} not done")
    if report.incomplete_searches:
        lines.append(f"{_many(report.incomplete_searches, 'incomplete search', 'es')}")
    lines.append(
        f"{_many(report.recomputed, 'evaluation')} computed again, of {report.recomputable:,} that "
        "were recorded with this cost model"
    )
    return lines


def run_merge(options: MergeOptions) -> None:
    """Merges stores, and prints how much was new.

    Raises:
        StoreError: if one of them cannot be read or written.
    """
    show_text([_told(options.into, merge_stores(options.into, options.sources))])


def _told(store: Path, merged: MergeCounts) -> str:
    sweeps = f"{_many(merged.sweeps, 'sweep')}, " if merged.sweeps else ""
    return (
        f"{store}: {sweeps}{_many(merged.runs, 'run')}, {_many(merged.searches, 'search', 'es')} "
        f"and {_many(merged.evaluations, 'evaluation')} new or updated"
    )


def run_prune(options: PruneOptions) -> None:
    """Prunes a store, and prints how much was removed.

    Raises:
        InputError: if nothing is to be removed.
        StoreError: if there is no such store or run, or it cannot be written.
    """
    if not (options.runs or options.sweeps or options.keep_best):
        expected = "some of --run RUN, --sweep NAME and --keep-best"
        raise InputError("nestmap db prune", "nothing to remove", expected)
    pruning = PruneSelection(
        runs=find_runs(options.store, options.runs),
        sweeps=find_sweeps(options.store, options.sweeps),
        best_only=options.keep_best,
    )
    show_text(_pruned(options, prune(options.store, pruning, dry_run=options.dry_run)))


def _pruned(options: PruneOptions, pruned: PruneReport) -> list[str]:
    verb = "would be removed" if options.dry_run else "removed"
    removed = [f"{table}: {_many(rows, 'row')} {verb}" for table, rows in pruned.rows]
    before, after = f"{pruned.bytes_before:,}", f"{pruned.bytes_after:,}"
    size = f"{options.store}: {before} bytes, {after} {'then' if options.dry_run else 'now'}"
    return [*removed, size]


def _many(count: int, thing: str, ending: str = "s") -> str:
    return f"{count:,} {thing}{ending if count != 1 else ''}"
