"""The options of the commands that show networks, accelerators and recorded runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, final

from nestmap.pipeline.cli.options.common import (
    DEFAULT_STORE,
    WORKLOAD,
    Densities,
    Dims,
    FloatBits,
    InputValues,
    MeasureDensity,
    OtherRun,
    QueriedRun,
    ReportedRuns,
    ReportJson,
    Run,
    Store,
    Strict,
    SumBits,
    TrustShapes,
)
from nestmap.pipeline.util.option import Option

DEFAULT_REPORT: Final = Path("report.html")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """The options of ``nestmap show``: a network, an accelerator, or a recorded sweep."""

    workload: Annotated[str | None, WORKLOAD] = None
    accelerator: Annotated[
        str | None,
        Option(
            help="The accelerator to show instead of a network: a bundled name such as tpu_like, "
            "or a YAML file.",
            flags="--accelerator -a",
            metavar="NAME|FILE",
        ),
    ] = None
    dims: Dims = ()
    values: InputValues = ()
    trust_shapes: TrustShapes = False
    float_bits: FloatBits = None
    sum_bits: SumBits = None
    density: Densities = ()
    measure_density: MeasureDensity = False
    graph: Annotated[
        Path | None,
        Option(help="Draw the graph of the network into this SVG file.", metavar="FILE"),
    ] = None
    json: ReportJson = None
    strict: Strict = False
    all_layers: Annotated[
        bool, Option(help="Show every layer, not only distinct ones.", flags="--all")
    ] = False
    sweep: Annotated[
        str | None,
        Option(
            help="The recorded sweep to show instead: its name, the beginning of its key, or last.",
            metavar="SWEEP",
        ),
    ] = None
    design: Annotated[
        int | None,
        Option(
            help="The design of the sweep whose accelerator to print, as YAML that nestmap explore "
            "reads.",
            metavar="N",
            minimum=0,
        ),
    ] = None
    store: Store = DEFAULT_STORE


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """The options of ``nestmap schema``."""

    format: Annotated[
        Literal["accelerator", "cores", "core", "mapping", "workload", "space"],
        Option(
            help="The kind of file: a single-core accelerator, one with several cores, a core of "
            "those, a mapping, a network, or a design space.",
            metavar="FORMAT",
            is_argument=True,
        ),
    ]
    output: Annotated[
        Path | None,
        Option(help="Write the schema to this file.", flags="--output -o", metavar="FILE"),
    ] = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The options of ``nestmap query``; ``question`` is SQL or the name of a query."""

    question: Annotated[
        str | None,
        Option(
            help="The name of a query (see --list), or SQL in the dialect of DuckDB.",
            metavar="NAME|SQL",
            is_argument=True,
        ),
    ] = None
    run: QueriedRun = None
    against: OtherRun = None
    layer: Annotated[
        str | None, Option(help="The layer that a named query is about.", metavar="NAME")
    ] = None
    top: Annotated[
        int | None, Option(help="The number of mappings to list.", metavar="K", minimum=1)
    ] = None
    sweep: Annotated[
        str | None,
        Option(
            help="The sweep that a named query is about: its name, the beginning of its key, or "
            "last. Default: last.",
            metavar="SWEEP",
        ),
    ] = None
    store: Store = DEFAULT_STORE
    format: Annotated[
        Literal["table", "markdown", "latex", "csv", "spreadsheet", "json", "parquet", "arrow"]
        | None,
        Option(
            help="The format of the result: table, markdown, latex, csv, spreadsheet (CSV whose "
            "texts a spreadsheet does not take for formulas), json, parquet or arrow. Default: "
            "given by the suffix of --output, or a table.",
            metavar="FORMAT",
        ),
    ] = None
    output: Annotated[
        Path | None,
        Option(
            help="Write the result to this file: .csv, .json, .parquet, .arrow, .txt, .md or .tex.",
            flags="--output -o",
            metavar="FILE",
        ),
    ] = None
    listing: Annotated[
        bool, Option(help="List the named queries and what they answer.", flags="--list")
    ] = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of ``nestmap explain``."""

    names: Annotated[
        tuple[str, ...],
        Option(
            help="The layer, by its name in the network; before it the run, if not the last one: "
            "its name, or the beginning of its number.",
            metavar="[RUN] LAYER",
            is_argument=True,
        ),
    ]
    store: Store = DEFAULT_STORE
    json: Annotated[
        Path | None,
        Option(help="Write the explanation to this file, with exact numbers.", metavar="FILE"),
    ] = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """The options of ``nestmap plot``."""

    run: Run
    what: Annotated[
        str | None,
        Option(
            help="What to draw. Of a run on one core: energy, latency, memories, utilization, "
            "roofline, mappings (all of a layer), accelerator, loops (of a layer). On several "
            "cores: schedule, overview, memories, wires, schedule-energy, layer-energies, "
            "core-time, sent-wires, sent-cores, allocations. Of a sweep: designs, parallel, "
            "parameters, importance. Default: all, or the comparison with --against.",
            metavar="NAME|all",
        ),
    ] = None
    layer: Annotated[
        str | None,
        Option(
            help="The layer of mappings and loops. Default: the one with the highest cost.",
            metavar="NAME",
        ),
    ] = None
    against: OtherRun = None
    output: Annotated[
        Path | None,
        Option(
            help="A file for one chart (.png, .svg, .pdf, .html or .json: Vega-Lite), or a folder. "
            "Default: a .png file named after the chart, or the folder figures for several.",
            flags="--output -o",
            metavar="FILE|DIR",
        ),
    ] = None
    store: Store = DEFAULT_STORE


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of ``nestmap report``."""

    runs: ReportedRuns
    output: Annotated[
        Path, Option(help="The file to write.", flags="--output -o", metavar="FILE")
    ] = DEFAULT_REPORT
    store: Store = DEFAULT_STORE


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of ``nestmap serve``."""

    store: Store = DEFAULT_STORE
    port: Annotated[
        int | None,
        Option(
            help="The port. Default: 8321, or a free one if that is in use.",
            metavar="N",
            minimum=1,
            maximum=65535,
        ),
    ] = None
    token: Annotated[
        str | None,
        Option(
            help="The token in the address, without which nobody sees the pages. Default: a random "
            "one. An empty token admits every user of this machine.",
            metavar="TEXT",
        ),
    ] = None
    open: Annotated[bool, Option(help="Open the browser.", flags="--open/--no-open")] = False
