"""The commands that maintain a store: ``nestmap db ...``."""

import typer

from nestmap.pipeline.cli.options.store import CheckOptions, MergeOptions, PruneOptions
from nestmap.pipeline.cli.parameters import command


@command(
    CheckOptions,
    """\
  nestmap db check
  nestmap db check --store results.duckdb --recompute 1000""",
)
def check(options: CheckOptions) -> None:
    """Check the integrity of a store.

    Checks that all references resolve, evaluations are numbered without gaps, models match their
    keys, and the cost model reproduces the recorded costs. Prints a line for each problem; the exit
    code is 2 if there is one. Changes nothing.
    """
    from nestmap.pipeline.cli.db import run_check  # noqa: PLC0415 (help is fast)

    run_check(options)


@command(
    MergeOptions,
    """\
  nestmap db merge all.duckdb mine.duckdb yours.duckdb
  nestmap db merge all.duckdb /shared/*.duckdb""",
)
def merge(options: MergeOptions) -> None:
    """Merge stores into one.

    Runs on several computers each write a store of their own. Runs, searches and evaluations that
    are in several stores are merged into one, in the most advanced state, so merging again changes
    nothing. If merging fails, the store is unchanged.
    """
    from nestmap.pipeline.cli.db import run_merge  # noqa: PLC0415 (help is fast)

    run_merge(options)


@command(
    PruneOptions,
    """\
  nestmap db prune --keep-best
  nestmap db prune --run 5f3a91 --run last --store results.duckdb
  nestmap db prune --keep-best --dry-run""",
)
def prune(options: PruneOptions) -> None:
    """Make a store smaller.

    Removes runs with all data that only they use, or evaluations that are not Pareto-optimal.
    Results and fronts remain, and searches are still reused. The store is written to a new file,
    which replaces the old one when it is complete.
    """
    from nestmap.pipeline.cli.db import run_prune  # noqa: PLC0415 (help is fast)

    run_prune(options)


def db(app: typer.Typer) -> None:
    """Adds the group of commands to a command line."""
    group = typer.Typer(
        rich_markup_mode=None,
        no_args_is_help=True,
        help="Maintain the store: check, merge and prune it.",
        epilog="""\b
Examples:
  nestmap db check
  nestmap db merge all.duckdb mine.duckdb yours.duckdb
  nestmap db prune --keep-best --dry-run""",
    )
    app.add_typer(group, name="db")
    for add in (check, merge, prune):
        add(group)
