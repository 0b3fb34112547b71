"""The arguments and options of the commands, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

DEFAULT_STORE: Final = Path("nestmap.duckdb")
Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="The network: an ONNX file, a YAML list of layers, or a bundled name such as "
        "light:resnet50.",
        show_default=False,
    ),
]
ShownWorkload = Annotated[
    str | None,
    typer.Argument(
        metavar="WORKLOAD",
        help="The network: an ONNX file, a YAML list of layers, or a bundled name such as "
        "light:resnet50.",
        show_default=False,
    ),
]
ShownAccelerator = Annotated[
    str | None,
    typer.Option(
        "--accelerator",
        "-a",
        metavar="NAME|FILE",
        help="Instead of a network the machine to show: a bundled name such as tpu_like, or a "
        "YAML file.",
        show_default=False,
    ),
]
Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        metavar="NAME=N",
        help="The size of a dimension that the network leaves open, as in --dim batch=1. Give one "
        "for each such dimension.",
        show_default=False,
    ),
]
FloatBits = Annotated[
    int | None,
    typer.Option(
        "--float-bits",
        min=1,
        max=128,
        metavar="N",
        help="The bits that a float32 or float64 of an ONNX model counts: models are exported so "
        "whatever they run in. Without it: 8.",
        show_default=False,
    ),
]
Graph = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the graph of the network into this SVG file.",
        show_default=False,
    ),
]
AllLayers = Annotated[
    bool, typer.Option("--all", help="Show every layer, not only those that differ.")
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the report to this file.", show_default=False
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
        "YAML file; the name free fixes nothing. Without it: the one bundled with the "
        "accelerator, if there is one, for the layers that have all dimensions it unrolls.",
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
NoStore = Annotated[bool, typer.Option("--no-store", help="Keep the results in no file.")]
Record = Annotated[
    Literal["all", "best", "none"],
    typer.Option(
        help="Which evaluations to keep in the store: all, those that no other one of the same "
        "search beats in energy and latency (best), or none. Results are kept in any case."
    ),
]
RecordLimit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="After so many evaluations keep only the best ones.",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Compute everything anew, also what the store knows already."),
]
RecordTo = Annotated[
    Path | None,
    typer.Option(
        "--record-to",
        metavar="DIR",
        help="Write Parquet files to this folder instead of the store. Runs on several machines "
        "may share it; nestmap import reads it.",
        show_default=False,
    ),
]
Objective = Annotated[
    Literal["latency", "energy", "edp"],
    typer.Option(help="What the best mapping of a layer has least of."),
]
Limit = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Cut the loops of a layer into at most N factors. All their orders are tried, so "
        "each more finds better mappings and takes several times as long.",
    ),
]
MappingType = Annotated[
    Literal["uneven", "even"],
    typer.Option(
        help="Whether operands that share a memory may hold different loops there (uneven) "
        "or not (even)."
    ),
]
Search = Annotated[
    Literal["loma", "salsa"],
    typer.Option(
        help="How to find the order of the temporal loops: try all orders of at most --lpf-limit "
        "factors (loma), or anneal the orders of all prime factors (salsa)."
    ),
]
SpatialMappings = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Try the N most promising spatial mappings of a layer, where the mapping file leaves "
        "array dimensions open.",
    ),
]
Mixed = Annotated[
    bool, typer.Option("--mixed", help="Let several loop dimensions share an array dimension.")
]
Rank = Annotated[
    Literal["utilization", "bound"],
    typer.Option(
        help="Which spatial mappings are the most promising ones: those that use most of the "
        "array (utilization), or of fifty of these the ones whose lower bound is the least (bound)."
    ),
]
KeepOnChip = Annotated[
    bool,
    typer.Option(
        "--keep-on-chip",
        help="Keep data between layers in the lowest memory that has room for it.",
    ),
]
StaticEnergy = Annotated[
    bool,
    typer.Option(
        "--static-energy",
        help="Include in every energy what leaks in memories and array while a layer runs.",
    ),
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Leave out spatial mappings that cannot beat what was found: the same result, sooner.",
    ),
]
CountVector = Annotated[
    bool,
    typer.Option(
        "--count-vector",
        help="Include vector operators (pooling, activations, normalizations, ...) in the totals.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Decides what is random in --search salsa.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Threads; results do not depend on their number. Without it: one for each core.",
        show_default=False,
    ),
]
Pareto = Annotated[
    bool,
    typer.Option(
        "--pareto",
        help="Show all mappings of a layer between which energy is traded for latency.",
    ),
]
SaveMapping = Annotated[
    Path | None,
    typer.Option(
        "--save-mapping",
        metavar="FILE",
        help="Write the mappings found to this YAML file, which nestmap evaluate --mapping-file "
        "takes.",
        show_default=False,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The layer to map. With --mapping-file and without a layer: all of them.",
        show_default=False,
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        metavar='"DIM SIZE, ..."',
        help="The temporal loops, the innermost one first. Together they must run through "
        "all that the spatial mapping leaves of the layer.",
        show_default=False,
    ),
]
MappingFile = Annotated[
    str | None,
    typer.Option(
        "--mapping-file",
        metavar="FILE",
        help="A YAML file with the whole mapping of every layer: spatial mapping, a "
        "temporal_ordering of all loops and memory_levels, as exploring saves it. Instead of "
        "--order, --cut and --mapping.",
        show_default=False,
    ),
]
Cuts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPERAND=N,...",
        help="For each memory of an operand, the innermost one first: how many loops lie at "
        "or below it. Give one for each operand, or none: then each memory gets what needs "
        "fewest accesses to the next one (LOMA).",
        show_default=False,
    ),
]
OneRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run: last, its id, or as much of the beginning of it as no other run has.",
        show_default=False,
    ),
]
Question = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME|SQL",
        help="The name of a query (see --list), or a question in DuckDB's SQL.",
        show_default=False,
    ),
]
ListQueries = Annotated[
    bool, typer.Option("--list", help="Show the names of the queries, and what they answer.")
]
QueriedRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="The run that a named query is about: last, its id, or as much of the beginning of "
        "it as no other run has.",
        show_default=False,
    ),
]
OtherRun = Annotated[
    str | None,
    typer.Option("--against", metavar="RUN", help="The run to compare with.", show_default=False),
]
QueriedLayer = Annotated[
    str | None,
    typer.Option(
        "--layer",
        metavar="NAME",
        help="The layer that a named query is about.",
        show_default=False,
    ),
]
Top = Annotated[
    int | None,
    typer.Option("--top", min=1, metavar="K", help="How many mappings.", show_default=False),
]
Format = Annotated[
    Literal["table", "csv", "json", "parquet", "arrow"] | None,
    typer.Option(
        help="How to write the answer. Without it: as the suffix of --output says, or a table.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the answer to this file: .csv, .json, .parquet, .arrow or .txt.",
        show_default=False,
    ),
]
