"""The commands with their options and help texts; what they do is imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.errors import reported

app = typer.Typer(
    rich_markup_mode=None,  # plain help: formatting it with rich takes longer than all the rest
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Finds, for a neural network and an accelerator, how to run every layer, and says what "
    "that costs in energy and cycles, memory by memory.",
    epilog="""\b
Examples:
  nestmap examples
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap query "SELECT layer, energy, latency FROM best ORDER BY latency DESC"
  nestmap explore --help""",
)


def show_version(wanted: bool) -> None:
    """Prints the version and leaves."""
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
    """The options that stand before a command."""


@app.command(
    epilog="""\b
Examples:
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap explore net.onnx -a machine.yaml -m mapping.yaml --objective energy
  nestmap explore layers.yaml -a tpu_like --lpf-limit 8 --no-store --json out.json"""
)
def explore(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    accelerator: options.Accelerator,
    mapping: options.Mapping = None,
    objective: options.Objective = "latency",
    lpf_limit: options.Limit = 6,
    mapping_type: options.MappingType = "uneven",
    store: options.StoreFile = options.DEFAULT_STORE,
    no_store: options.NoStore = False,
    json: options.JsonFile = None,
) -> None:
    """Find the best mapping of every layer of a network.

    Tries every order of the loops of every layer, with the best use of the memories for each, and
    prints a table of the best ones. Every mapping that was tried is kept in a DuckDB file.
    """
    with reported():
        from nestmap.pipeline.cli.explore import ExploreRequest, run_explore  # noqa: PLC0415 (help is fast)

        run_explore(
            ExploreRequest(
                workload=workload,
                accelerator=accelerator,
                mapping=mapping,
                objective=objective,
                lpf_limit=lpf_limit,
                mapping_type=mapping_type,
                store=None if no_store else store,
                json=json,
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap evaluate light:alexnet --layer n0 -a tpu_like --order "FX 11, FY 11, OX 54, OY 54, K 3"
  nestmap evaluate layers.yaml --layer fc -a tpu_like --order "C 2, K 4" \\
      --cut O=0,1,2 --cut W=1,2 --cut I=2,2"""
)
def evaluate(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    layer: options.Layer,
    accelerator: options.Accelerator,
    order: options.Order,
    cut: options.Cuts = None,
    mapping: options.Mapping = None,
    json: options.JsonFile = None,
) -> None:
    """Say what one given mapping of one layer costs."""
    with reported():
        from nestmap.pipeline.cli.evaluate import EvaluateRequest, run_evaluate  # noqa: PLC0415

        run_evaluate(
            EvaluateRequest(
                workload=workload,
                layer=layer,
                accelerator=accelerator,
                mapping=mapping,
                order=order,
                cuts=tuple(cut or ()),
                json=json,
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap query "SELECT * FROM totals"
  nestmap query "SELECT layer, energy, latency FROM best ORDER BY latency DESC LIMIT 5"
  nestmap query "SELECT layer, count(*), min(latency), max(latency) FROM evaluations GROUP BY layer"
  nestmap query "SHOW TABLES" --store results.duckdb"""
)
def query(
    sql: options.Question,
    store: options.StoreFile = options.DEFAULT_STORE,
    format: options.Format = "table",
) -> None:
    """Ask past explorations a question in SQL.

    The store is opened for reading only. The views to begin with: totals (a row for each run), best
    (a row for each layer of each run), evaluations (a row for each mapping that was tried).
    Energies are in pJ, latencies in cycles.
    """
    with reported():
        from nestmap.pipeline.cli.query import run_query  # noqa: PLC0415

        run_query(sql, store, format)


@app.command()
def examples() -> None:
    """List the bundled accelerators, mappings and networks."""
    with reported():
        from nestmap.pipeline.cli.examples import run_examples  # noqa: PLC0415

        run_examples()


def main() -> None:
    """Runs the command line; the entry point of ``nestmap``."""
    app()
