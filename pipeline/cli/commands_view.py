"""The commands that show what a run has found: explanations, figures, a report, the explorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.error_handling import reported

DEFAULT_REPORT: Final = Path("report.html")
ExplainedLayer = Annotated[
    str,
    typer.Argument(
        metavar="LAYER", help="The layer, by its name in the network.", show_default=False
    ),
]
ExplanationFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the explanation to this file, with exact figures.",
        show_default=False,
    ),
]
Drawing = Annotated[
    Literal[
        "layers", "memories", "scatter", "accelerator", "loops", "roofline", "utilization",
        "schedule", "memory-use", "links", "data", "energy", "front", "comparison", "all",
    ] | None,
    typer.Option(
        "--what",
        help="What to draw: energy and latency of the layers, of the memories, all mappings of a "
        "layer, the accelerator, the loops of a layer, a roofline, how much of the array is used; "
        "of a run of several cores its schedule, what memories hold when, how busy links are, data "
        "that is sent, energy, the search; of both a comparison with another run. Without it: all, "
        "or with --against the comparison.",
        show_default=False,
    ),
]  # fmt: skip
DrawnLayer = Annotated[
    str | None,
    typer.Option(
        "--layer",
        metavar="NAME",
        help="The layer of scatter and loops. Without it: the one that costs most.",
        show_default=False,
    ),
]
DrawnTo = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|DIR",
        help="A file for one figure (.png, .svg or .pdf), or a folder. Without it: a .png file "
        "named after the figure; several go to the folder figures.",
        show_default=False,
    ),
]
SomeRuns = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="The runs, the first one is what others are compared with: last, an id, or as much of "
        "the beginning of it as no other run has.",
        show_default=False,
    ),
]
ReportTo = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
]
Port = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=65535,
        metavar="N",
        help="The port. Without it: 8321, or one that is free where that is taken.",
        show_default=False,
    ),
]
OpenBrowser = Annotated[bool, typer.Option("--open/--no-open", help="Whether to open the browser.")]


def explain(
    run: options.OneRun,
    layer: ExplainedLayer,
    store: options.StoreFile = options.DEFAULT_STORE,
    json: ExplanationFile = None,
) -> None:
    """Explain the mapping that a run has found for a layer.

    Prints the mapping as a loop nest with the tiles in each memory; where cycles and energy go;
    which port makes the array wait; and what ports twice as wide and memories twice as large would
    gain, each evaluated.
    """
    with reported():
        from nestmap.pipeline.cli.explain import ExplainRequest, run_explain  # noqa: PLC0415

        run_explain(ExplainRequest(run=run, layer=layer, store=store, json=json))


def plot(
    run: options.OneRun,
    *,
    what: Drawing = None,
    layer: DrawnLayer = None,
    against: options.OtherRun = None,
    output: DrawnTo = None,
    store: options.StoreFile = options.DEFAULT_STORE,
) -> None:
    """Draw figures of a run: where energy and cycles go, mappings, machine, roofline, schedule.

    Needs matplotlib: pip install 'nestmap[plot]'.
    """
    with reported():
        from nestmap.pipeline.cli.plot import run_plot  # noqa: PLC0415
        from nestmap.pipeline.cli.plot_request import PlotRequest  # noqa: PLC0415

        run_plot(PlotRequest(run, what, layer, against, output, store))


def report(
    runs: SomeRuns,
    *,
    output: ReportTo = DEFAULT_REPORT,
    store: options.StoreFile = options.DEFAULT_STORE,
) -> None:
    """Write an HTML report of runs: one file with charts, which needs no network.

    Of each run a summary, all layers with their explained mappings, the accelerator, and how to run
    it again; of several runs a comparison as well. Needs more packages: pip install
    'nestmap[report]'.
    """
    with reported():
        from nestmap.pipeline.cli.report import ReportRequest, run_report  # noqa: PLC0415

        run_report(ReportRequest(tuple(runs), output, store))


def serve(
    store: options.StoreFile = options.DEFAULT_STORE,
    port: Port = None,
    open: OpenBrowser = False,
) -> None:
    """Explore a store in the browser: runs, layers, comparisons, SQL.

    The pages are live: runs that go on can be watched. Nothing can be changed, and only this
    machine is served (127.0.0.1). Ctrl-C ends it. Needs more packages: pip install 'nestmap[web]'.
    """
    with reported():
        from nestmap.pipeline.cli.serve import ServeRequest, run_serve  # noqa: PLC0415

        run_serve(ServeRequest(store, port, open))


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command(
        epilog="""\b
Examples:
  nestmap explain last n0
  nestmap explain 5f3a91 conv1 --store results.duckdb --json conv1.json"""
    )(explain)
    app.command(
        epilog="""\b
Examples:
  nestmap plot last
  nestmap plot last --what layers -o layers.pdf
  nestmap plot last --what scatter --layer conv1 -o conv1.svg
  nestmap plot last --what schedule -o schedule.svg
  nestmap plot last --against 5f3a91 -o comparison.png"""
    )(plot)
    app.command(
        epilog="""\b
Examples:
  nestmap report last
  nestmap report last 5f3a91 --store results.duckdb -o comparison.html"""
    )(report)
    app.command(
        epilog="""\b
Examples:
  nestmap serve
  nestmap serve --store results.duckdb --open
  nestmap serve --port 8400"""
    )(serve)
