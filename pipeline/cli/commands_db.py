"""The commands that look after a store: ``nestmap db ...`` and ``nestmap import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.error_handling import WRONG_INPUT, reported

db = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look after the store: check, merge, prune and export it.",
    epilog="""\b
Examples:
  nestmap db check
  nestmap db merge all.duckdb mine.duckdb yours.duckdb
  nestmap db prune --keep-best --dry-run""",
)

_Recompute = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Evaluate N of the recorded evaluations again, and compare exactly.",
    ),
]
_Into = Annotated[
    Path,
    typer.Argument(
        metavar="INTO",
        help="The store that gets all of it; it is made if there is none.",
        show_default=False,
    ),
]
_From = Annotated[
    list[Path],
    typer.Argument(
        metavar="FROM...",
        help="Stores, and folders of Parquet parts; they stay as they are.",
        show_default=False,
    ),
]
_PrunedRuns = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Remove this run: last, its id, or as much of the beginning of it as no other run "
        "has. May be given several times.",
        show_default=False,
    ),
]
_KeepBest = Annotated[
    bool,
    typer.Option(
        "--keep-best",
        help="Remove the evaluations that another one of their search beats in energy and latency.",
    ),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be removed. Takes as long.")
]
_ExportFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder to make.", show_default=False),
]
_PartsFolder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="The folder that runs recorded to, or that nestmap db export wrote.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.add_typer(db, name="db")
    app.command(
        "import",
        epilog="""\b
Examples:
  nestmap import /shared/parts
  nestmap import /shared/parts --store all.duckdb""",
    )(import_parts)


@db.command(
    epilog="""\b
Examples:
  nestmap db check
  nestmap db check --store results.duckdb --recompute 1000"""
)
def check(
    store: options.StoreFile = options.DEFAULT_STORE,
    recompute: _Recompute = 100,
) -> None:
    """Check that a store is sound.

    Everything that is referred to is there, evaluations are numbered without gaps, models are what
    their keys say, and the cost model gives the recorded costs again. Prints a line for each
    problem; the exit code is 2 if there is one. Changes nothing.
    """
    with reported():
        from nestmap.pipeline.cli.db import run_check  # noqa: PLC0415 (help is fast)

        is_sound = run_check(store, recompute)
    if not is_sound:
        raise typer.Exit(WRONG_INPUT)


@db.command(
    epilog="""\b
Examples:
  nestmap db merge all.duckdb mine.duckdb yours.duckdb
  nestmap db merge all.duckdb /shared/parts"""
)
def merge(into: _Into, sources: _From) -> None:
    """Merge stores into one.

    Runs, searches and evaluations that are in several stores are kept once, in the state that came
    furthest, so merging again changes nothing. It is all done, or nothing.
    """
    with reported():
        from nestmap.pipeline.cli.db import run_merge  # noqa: PLC0415

        run_merge(into, sources)


@db.command(
    epilog="""\b
Examples:
  nestmap db prune --keep-best
  nestmap db prune --run 5f3a91 --run last --store results.duckdb
  nestmap db prune --keep-best --dry-run"""
)
def prune(
    run: _PrunedRuns = None,
    keep_best: _KeepBest = False,
    dry_run: _DryRun = False,
    store: options.StoreFile = options.DEFAULT_STORE,
) -> None:
    """Make a store smaller.

    Removes runs, with all that no other run needs, or the evaluations that were not the best.
    Results and fronts stay, and searches are still used again. The store is written anew beside the
    old file, which it replaces when it is complete.
    """
    with reported():
        from nestmap.pipeline.cli.db import PruneRequest, run_prune  # noqa: PLC0415

        run_prune(PruneRequest(store, tuple(run or ()), keep_best, dry_run))


@db.command(
    epilog="""\b
Examples:
  nestmap db export parquet
  nestmap db export parquet --store results.duckdb"""
)
def export(folder: _ExportFolder, store: options.StoreFile = options.DEFAULT_STORE) -> None:
    """Write every table of a store to a Parquet file.

    pandas, polars, DuckDB, Spark and others read them; nestmap import takes them back.
    """
    with reported():
        from nestmap.pipeline.cli.db import run_export  # noqa: PLC0415

        run_export(store, folder)


def import_parts(folder: _PartsFolder, store: options.StoreFile = options.DEFAULT_STORE) -> None:
    """Take Parquet parts into a store.

    Runs on several machines record to one folder with --record-to; this joins them in a store,
    which is made if there is none. Runs may still be writing: import again later for the rest.
    """
    with reported():
        from nestmap.pipeline.cli.db import run_import  # noqa: PLC0415

        run_import(store, folder)
