"""The command that schedules a network on several cores, with its options and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from nestmap.pipeline.cli import commands_split as splitting
from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.error_handling import reported

Rule = Annotated[
    Literal["latency", "memory", "critical"],
    typer.Option(
        help="Which of the nodes that could run is scheduled next: the one whose inputs are there "
        "first (latency), the one of the deepest layer (memory), or of those that can start first "
        "the one with the longest way to the end (critical)."
    ),
]
Prefetch = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPERAND",
        help="Send the constants of this operand, such as W, to their cores before anything runs. "
        "Give one for each operand.",
        show_default=False,
    ),
]
Objectives = Annotated[
    list[str] | None,
    typer.Option(
        "--objective",
        metavar="[latency|energy|edp|memory]",
        help="What allocations shall have little of; give several for those between which one has "
        "to choose. The schedule that is shown has the least of the first one.  [default: latency "
        "and energy]",
        show_default=False,
    ),
]
Engine = Annotated[
    Literal["genetic", "constraint", "both"],
    typer.Option(
        help="Who looks for allocations: a genetic algorithm, constraint programming with a bound "
        "for the latency (constraint), or both, one after the other."
    ),
]
Individuals = Annotated[
    int, typer.Option(min=1, metavar="N", help="Allocations that each generation looks at.")
]
Generations = Annotated[
    int, typer.Option(min=0, metavar="N", help="Generations after the first one.")
]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="End the search after so many generations without anything better.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Decides what is random.")]
CoreObjective = Annotated[
    Literal["latency", "energy", "edp"],
    typer.Option(help="What the mapping of a node onto a core has least of."),
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare-lbl",
        help="Schedule the network layer by layer as well, with the same options, and compare.",
    ),
]
ScheduleFile = Annotated[
    Path | None,
    typer.Option(
        "--schedule",
        metavar="FILE",
        help="Write the whole schedule as JSON: each node, tensor and transfer with its times.",
        show_default=False,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the schedule as a trace that ui.perfetto.dev and chrome://tracing show.",
        show_default=False,
    ),
]


def stream(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    dim: options.Dims = None,
    float_bits: options.FloatBits = None,
    cores: splitting.Cores,
    mapping: splitting.CoreMapping = None,
    mode: splitting.Mode = 1,
    hint_loops: splitting.HintLoops = None,
    layer_cutoffs: splitting.Cutoffs = None,
    split_w_percentage: splitting.Share = None,
    reference: splitting.Reference = False,
    rule: Rule = "latency",
    prefetch: Prefetch = None,
    objective: Objectives = None,
    engine: Engine = "genetic",
    individuals: Individuals = 32,
    generations: Generations = 100,
    patience: Patience = None,
    seed: Seed = 0,
    lpf_limit: options.Limit = 6,
    core_objective: CoreObjective = "latency",
    compare_lbl: Compare = False,
    workers: options.Workers = None,
    store: options.StoreFile = options.DEFAULT_STORE,
    no_store: options.NoStore = False,
    json: options.ReportFile = None,
    schedule: ScheduleFile = None,
    trace: Trace = None,
) -> None:
    """Schedule a network on several cores.

    Splits the network into computation nodes, finds the best mapping of each kind of them on each
    core, then which core runs which of them when, with all that is sent between the cores. Prints
    the allocations that no other one beats, and of one schedule the load of cores, links and
    memories and where energy goes. Costs of nodes and generations are kept in a DuckDB file: what
    is there is not searched again.
    """
    with reported():
        from nestmap.pipeline.cli.split_arguments import GivenSplit, named_as_options  # noqa: PLC0415
        from nestmap.pipeline.cli.store_target import keeping  # noqa: PLC0415
        from nestmap.pipeline.cli.stream import (  # noqa: PLC0415
            StreamFiles,
            StreamRequest,
            run_stream,
        )
        from nestmap.pipeline.cli.workload_argument import GivenWorkload  # noqa: PLC0415
        from nestmap.pipeline.multicore.plan import stream_plan  # noqa: PLC0415

        with named_as_options():
            plan = stream_plan(
                objectives=objective or ("latency", "energy"),
                rule=rule,
                prefetch=prefetch or (),
                engine=engine,
                individuals=individuals,
                generations=generations,
                patience=patience,
                seed=seed,
                lpf_limit=lpf_limit,
                core_objective=core_objective,
            )
        run_stream(
            StreamRequest(
                workload=GivenWorkload(workload, tuple(dim or ()), float_bits),
                cores=cores,
                mapping=mapping,
                how=GivenSplit(
                    mode, tuple(hint_loops or ()), layer_cutoffs, split_w_percentage, reference
                ),
                plan=plan,
                compare=compare_lbl,
                workers=workers,
                place=keeping(store, no_store, None),
                files=StreamFiles(json, schedule, trace),
            )
        )


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(
        epilog="""\b
Examples:
  nestmap stream light:resnet50 --cores quad_hetero --hint-loops OY=all
  nestmap stream net.onnx -c machine.yaml -m cores.yaml --rule memory --objective edp
  nestmap stream net.onnx -c quad_tpu --engine both --generations 20 --compare-lbl
  nestmap stream light:squeezenet -c quad_tpu --hint-loops OY=4 --trace trace.json"""
    )(stream)
