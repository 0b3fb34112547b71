"""The options of the commands for several cores."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, final

from nestmap.pipeline.cli.completion import complete_cores
from nestmap.pipeline.cli.options.common import (
    DEFAULT_STORE,
    INPUT,
    OUTPUT,
    SEARCH,
    NoStore,
    ReportJson,
    RunName,
    RunTags,
    Store,
    Strict,
    Workers,
    WorkloadOptions,
)
from nestmap.pipeline.explore.options import Reference
from nestmap.pipeline.multicore.options import StreamOptions
from nestmap.pipeline.util.option import Option

Cores = Annotated[
    str,
    Option(
        help="The accelerator with several cores: a bundled name, or a YAML file.",
        flags="--cores -c",
        metavar="NAME|FILE",
        group=INPUT,
        complete=complete_cores,
    ),
]
CoreMapping = Annotated[
    str | None,
    Option(
        help="The cores on which each layer may run: a YAML file. Default: all cores that support "
        "its operator.",
        flags="--mapping -m",
        metavar="FILE",
        group=INPUT,
    ),
]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitArguments:
    """How layers are split, as written on the command line; the default is layer by layer."""

    GROUP: ClassVar[str] = "Splitting"

    mode: Annotated[
        int,
        Option(
            help="The meaning of --hint-loops: the loops around a computation node, for all layers "
            "(1); the loops within it (2); the loops around it, with a new list at each layer "
            "cutoff (3); as 1, but K is also split where constants do not fit the cores (4).",
            metavar="1..4",
            minimum=1,
            maximum=4,
        ),
    ] = 1
    hint_loops: Annotated[
        tuple[str, ...],
        Option(
            help="A loop dimension and its number of tiles, innermost loop first; repeat the "
            "option or separate loops by commas. In mode 3, separate lists by /. Default: as in "
            "the mapping, or layer by layer.",
            metavar="DIM=N|all",
        ),
    ] = ()
    layer_cutoffs: Annotated[
        str | None,
        Option(
            help="In mode 3, the numbers of the nodes at which the next list of loops begins.",
            metavar="N,...",
        ),
    ] = None
    split_w_percentage: Annotated[
        float | None,
        Option(
            help="In mode 4, the fraction of the smallest memory for constants that the constants "
            "of a computation node may occupy, as in 0.5. Default: all of it.",
            metavar="PART",
        ),
    ] = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCommandOptions:
    """The options of ``nestmap split``."""

    workload: WorkloadOptions
    cores: Cores
    mapping: CoreMapping = None
    strict: Strict = False
    split: SplitArguments
    reference: Reference = None
    graph: Annotated[
        Path | None,
        Option(
            help="Draw the computation nodes and their edges into this SVG file; at most 300 "
            "nodes.",
            metavar="FILE",
        ),
    ] = None
    json: ReportJson = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCommandOptions:
    """The options of ``nestmap stream``."""

    workload: WorkloadOptions
    cores: Cores
    mapping: CoreMapping = None
    strict: Strict = False
    split: SplitArguments
    reference: Reference = None
    search: StreamOptions
    compare_lbl: Annotated[
        bool,
        Option(
            help="Schedule the network layer by layer as well, with the same options, and compare.",
            group=SEARCH,
        ),
    ] = False
    workers: Workers = None
    store: Store = DEFAULT_STORE
    no_store: NoStore = False
    run_name: RunName = None
    tags: RunTags = ()
    json: ReportJson = None
    schedule: Annotated[
        Path | None,
        Option(
            help="Write the schedule as JSON: nodes, tensors and transfers with their times.",
            metavar="FILE",
            group=OUTPUT,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        Option(
            help="Write the schedule as a trace for ui.perfetto.dev or chrome://tracing.",
            metavar="FILE",
            group=OUTPUT,
        ),
    ] = None
