"""The command that splits a network for several cores, with its options and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.error_handling import reported

Cores = Annotated[
    str,
    typer.Option(
        "--cores",
        "-c",
        metavar="NAME|FILE",
        help="The machine of several cores: a bundled name, or a YAML file.",
        show_default=False,
    ),
]
CoreMapping = Annotated[
    str | None,
    typer.Option(
        "--mapping",
        "-m",
        metavar="FILE",
        help="Which cores each layer may run on: a YAML file. Without it: all that run its "
        "operator.",
        show_default=False,
    ),
]
Mode = Annotated[
    int,
    typer.Option(
        min=1,
        max=4,
        metavar="1..4",
        help="What --hint-loops are: the loops around a computation node, for all layers (1); "
        "those within it (2); those around it, another list from each layer cutoff on (3); as 1, "
        "and K is split where constants do not fit the cores (4).",
    ),
]
HintLoops = Annotated[
    list[str] | None,
    typer.Option(
        "--hint-loops",
        metavar="DIM=N|all",
        help="A loop dimension and into how many tiles it is cut, the innermost loop first; give "
        "several, or one with commas. In mode 3 a / stands between the lists. Without it: as the "
        "mapping says, else layer by layer.",
        show_default=False,
    ),
]
Cutoffs = Annotated[
    str | None,
    typer.Option(
        "--layer-cutoffs",
        metavar="N,...",
        help="For mode 3: the numbers of the nodes at which the next list of loops begins.",
        show_default=False,
    ),
]
Share = Annotated[
    float | None,
    typer.Option(
        "--split-w-percentage",
        metavar="PART",
        help="For mode 4: how much of the smallest memory for constants those of a computation "
        "node may take, as in 0.5. Without it: all of it.",
        show_default=False,
    ),
]
Reference = Annotated[
    bool,
    typer.Option(
        "--reference",
        help="Count as Stream does: layers are made larger until tiles divide them, padding "
        "counts, bits behind reshapes count twice.",
    ),
]
Graph = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the computation nodes and their edges into this SVG file; at most 300 nodes.",
        show_default=False,
    ),
]


def split(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    dim: options.Dims = None,
    float_bits: options.FloatBits = None,
    cores: Cores,
    mapping: CoreMapping = None,
    mode: Mode = 1,
    hint_loops: HintLoops = None,
    layer_cutoffs: Cutoffs = None,
    split_w_percentage: Share = None,
    reference: Reference = False,
    graph: Graph = None,
    json: options.ReportFile = None,
) -> None:
    """Split a network into computation nodes for several cores.

    Prints for each layer how many nodes and groups there are, what a node needs of constants,
    inputs and output, and the edges that bring it data; then the largest tensors, and what does not
    fit the outermost memories of the cores that may run it. Nothing is mapped or scheduled.
    """
    with reported():
        from nestmap.pipeline.cli.split import SplitRequest, run_split  # noqa: PLC0415
        from nestmap.pipeline.cli.split_arguments import GivenSplit  # noqa: PLC0415 (help is fast)
        from nestmap.pipeline.cli.workload_argument import GivenWorkload  # noqa: PLC0415

        run_split(
            SplitRequest(
                workload=GivenWorkload(workload, tuple(dim or ()), float_bits),
                cores=cores,
                mapping=mapping,
                how=GivenSplit(
                    mode, tuple(hint_loops or ()), layer_cutoffs, split_w_percentage, reference
                ),
                graph=graph,
                json=json,
            )
        )


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(
        epilog="""\b
Examples:
  nestmap split light:squeezenet --cores quad_tpu --hint-loops OY=all
  nestmap split net.onnx -c machine.yaml --hint-loops OY=4 --hint-loops OX=2 --graph net.svg
  nestmap split net.onnx -c machine.yaml --mode 3 --hint-loops "OY=all / K=4" --layer-cutoffs 9
  nestmap split net.onnx -c machine.yaml --mode 4 --hint-loops OY=all --split-w-percentage 0.5"""
    )(split)
