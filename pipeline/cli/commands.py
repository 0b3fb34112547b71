"""The command line: all commands; their implementations are imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from nestmap.pipeline.cli import (
    commands_db,
    commands_explore,
    commands_multicore,
    commands_sweep,
    commands_view,
)
from nestmap.pipeline.cli.error_handling import report_errors

app = typer.Typer(
    rich_markup_mode=None,  # plain help: formatting with rich takes longer than everything else
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 120},
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Finds the best mapping of every layer of a neural network onto an accelerator, and "
    "reports what it costs in energy and cycles, memory by memory.",
    epilog="""\b
Examples:
  nestmap examples
  nestmap show light:resnet50
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap query "SELECT layer, energy, latency FROM best ORDER BY latency DESC"
  nestmap explore --help""",
)


def show_version(wanted: bool) -> None:
    """Prints the version and exits."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 (not needed by any other command)

        typer.echo(f"nestmap {version('nestmap')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that precede a command."""


@app.command()
def examples() -> None:
    """List the bundled accelerators, mappings and networks."""
    with report_errors():
        from nestmap.pipeline.cli.examples import run_examples  # noqa: PLC0415

        run_examples()


commands_explore.register(app)
commands_multicore.register(app)
commands_sweep.register(app)
commands_view.register(app)
commands_db.register(app)
