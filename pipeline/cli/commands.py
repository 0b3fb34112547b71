"""The command line: all commands; their implementations are imported when they run."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from nestmap.pipeline.cli.error_handling import report_errors

COMMANDS: Final = {
    "commands_explore": ("explore", "resume", "evaluate", "reprice"),
    "commands_multicore": ("split", "stream"),
    "commands_sweep": ("sweep",),
    "commands_view": ("show", "schema", "query", "explain", "plot", "report", "serve"),
    "commands_db": ("db",),
}
"""The modules of commands, with their commands."""


def command_line(words: Sequence[str]) -> typer.Typer:
    """The command that the words ask for, or all of them for help and for other words.

    Declaring all of them takes as long as some commands take.
    """
    name = next((word for word in words if not word.startswith("-")), "")
    asked = [module for module, names in COMMANDS.items() if name in names]
    app = _without_commands()
    app.command()(examples)
    for module in asked or COMMANDS:
        found = vars(import_module(f"nestmap.pipeline.cli.{module}"))
        for each in COMMANDS[module]:
            add: Callable[[typer.Typer], None] = found[each]
            add(app)
    return app


def _without_commands() -> typer.Typer:
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
    app.callback()(common)
    return app


def show_version(wanted: bool) -> None:
    """Prints the version and exits."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 (not needed by any other command)

        typer.echo(f"nestmap {version('nestmap')}")
        raise typer.Exit


def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that precede a command."""


def examples() -> None:
    """List the bundled accelerators, mappings and networks."""
    with report_errors():
        from nestmap.pipeline.cli.examples import run_examples  # noqa: PLC0415

        run_examples()
