"""The commands with their options and help texts; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from nestmap.pipeline.cli.errors import reported

DEFAULT_STORE: Final = Path("nestmap.duckdb")

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

Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="The network: an ONNX file, a YAML list of layers, or a bundled name such as "
        "light:resnet50.",
        show_default=False,
    ),
]
Accelerator = Annotated[
    str,
    typer.Option(
        "--accelerator",
        "-a",
        metavar="NAME|FILE",
        help="The machine: a bundled name such as tpu_like, or a YAML file.",
        show_default=False,
    ),
]
Mapping = Annotated[
    str | None,
    typer.Option(
        "--mapping",
        "-m",
        metavar="NAME|FILE",
        help="What is fixed about mappings, above all the spatial mapping: a bundled name or a "
        "YAML file. Without it: the one bundled with the accelerator, else the array is filled "
        "as well as one loop dimension per array dimension can.",
        show_default=False,
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write all results to this file, with the full cost of every layer.",
        show_default=False,
    ),
]
StoreFile = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="The DuckDB file with the results.")
]


def show_version(wanted: bool) -> None:
    """Prints the version and leaves."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 (not needed by any other command)

        typer.echo(f"nestmap {version('nestmap')}")
        raise typer.Exit


@app.callback()
def options(
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
    workload: Workload,
    accelerator: Accelerator,
    mapping: Mapping = None,
    objective: Annotated[
        Literal["latency", "energy", "edp"],
        typer.Option(help="What the best mapping of a layer has least of."),
    ] = "latency",
    lpf_limit: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Cut the loops of a layer into at most N factors. All their orders are tried, so "
            "each more finds better mappings and takes several times as long.",
        ),
    ] = 6,
    mapping_type: Annotated[
        Literal["uneven", "even"],
        typer.Option(
            help="Whether operands that share a memory may hold different loops there (uneven) "
            "or not (even)."
        ),
    ] = "uneven",
    store: StoreFile = DEFAULT_STORE,
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Keep the results in no file.")
    ] = False,
    json: JsonFile = None,
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
    workload: Workload,
    layer: Annotated[
        str, typer.Option(metavar="NAME", help="The layer to map.", show_default=False)
    ],
    accelerator: Accelerator,
    order: Annotated[
        str,
        typer.Option(
            metavar='"DIM SIZE, ..."',
            help="The temporal loops, the innermost one first. Together they must run through "
            "all that the spatial mapping leaves of the layer.",
            show_default=False,
        ),
    ],
    cut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPERAND=N,...",
            help="For each memory of an operand, the innermost one first: how many loops lie at "
            "or below it. Give one for each operand, or none: then each memory gets what needs "
            "fewest accesses to the next one (LOMA).",
            show_default=False,
        ),
    ] = None,
    mapping: Mapping = None,
    json: JsonFile = None,
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
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="The question, in DuckDB's SQL.", show_default=False),
    ],
    store: StoreFile = DEFAULT_STORE,
    format: Annotated[Literal["table", "csv", "json"], typer.Option(help="How to print it.")] = (
        "table"
    ),
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
