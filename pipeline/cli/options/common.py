"""The options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

from nestmap.pipeline.cli.completion import (
    complete_accelerator,
    complete_mapping,
    complete_workload,
)
from nestmap.pipeline.util.option import Option

INPUT: Final = "Network and accelerator"
SEARCH: Final = "Search"
OUTPUT: Final = "Output"
"""Groups of options in help texts."""

DEFAULT_STORE: Final = Path("nestmap.duckdb")

_RUN: Final = "last, its name, its id, or enough of the beginning of its id to identify it."

Run = Annotated[str, Option(help=f"The run: {_RUN}", metavar="RUN", is_argument=True)]
OtherRun = Annotated[
    str | None, Option(help="The run to compare with.", flags="--against", metavar="RUN")
]
QueriedRun = Annotated[
    str | None,
    Option(
        help=f"The run that a query is about; $run in SQL. Default: the last one. {_RUN}",
        metavar="RUN",
    ),
]
PrunedRuns = Annotated[
    tuple[str, ...],
    Option(
        help=f"Remove this run: {_RUN} May be given several times.", flags="--run", metavar="RUN"
    ),
]
ReportedRuns = Annotated[
    tuple[str, ...],
    Option(
        help=f"The runs; the others are compared with the first one. Each is {_RUN}",
        metavar="RUN...",
        is_argument=True,
    ),
]
Store = Annotated[Path, Option(help="The DuckDB file with the results.", metavar="FILE")]
RunName = Annotated[
    str | None,
    Option(
        help="Name the run in the store; other runs may have the same name.",
        flags="--name",
        metavar="NAME",
    ),
]
RunTags = Annotated[
    tuple[str, ...],
    Option(
        help="Tag the run in the store. May be given several times.", flags="--tag", metavar="TAG"
    ),
]
NoStore = Annotated[bool, Option(help="Do not record the results in a store.")]
Accelerator = Annotated[
    str,
    Option(
        help="The accelerator: a bundled name such as tpu_like, or a YAML file.",
        flags="--accelerator -a",
        metavar="NAME|FILE",
        group=INPUT,
        complete=complete_accelerator,
    ),
]
Mapping = Annotated[
    str | None,
    Option(
        help="Constraints on mappings, usually the spatial mapping: a bundled name or a YAML file; "
        "the name free fixes nothing. Default: the mapping bundled with the accelerator, if there "
        "is one, for the layers that have all dimensions it unrolls.",
        flags="--mapping -m",
        metavar="NAME|FILE",
        group=INPUT,
        complete=complete_mapping,
    ),
]
StaticEnergy = Annotated[
    bool, Option(help="Include the leakage of memories and array in every energy.", group=SEARCH)
]
Strict = Annotated[
    bool,
    Option(help="Treat warnings about the network, accelerator or mapping as errors.", group=INPUT),
]
Workers = Annotated[
    int | None,
    Option(
        help="Worker threads; results do not depend on their number. Default: one per core.",
        metavar="N",
        minimum=1,
    ),
]
ResultsJson = Annotated[
    Path | None,
    Option(
        help="Write all results to this file, with the full cost of every layer.", metavar="FILE"
    ),
]
ReportJson = Annotated[Path | None, Option(help="Write the report to this file.", metavar="FILE")]
SaveMapping = Annotated[
    Path | None,
    Option(
        help="Write the mappings found to this YAML file, which nestmap evaluate --mapping-file "
        "reads.",
        metavar="FILE",
    ),
]
Dims = Annotated[
    tuple[str, ...],
    Option(
        help="The size of a dimension that the network leaves open, as in --dim batch=1. Give the "
        "option once for each such dimension.",
        flags="--dim",
        metavar="NAME=N",
    ),
]
FloatBits = Annotated[
    int | None,
    Option(
        help="The assumed bits of a float32 or float64 in an ONNX model: exported models use these "
        "types regardless of the precision in which they run. Default: 8.",
        metavar="N",
        minimum=1,
        maximum=128,
    ),
]
InputValues = Annotated[
    tuple[str, ...],
    Option(
        help="The value of an input of an ONNX model that decides what runs: the condition of an "
        "If or the number of steps of a Loop, as in use_cache=true or n=12.",
        flags="--value",
        metavar="NAME=VALUE",
    ),
]
TrustShapes = Annotated[
    bool,
    Option(
        help="Use the shapes that an ONNX model states where others follow from its inputs; such a "
        "model is refused otherwise."
    ),
]
SumBits = Annotated[
    int | None,
    Option(
        help="The bits of partial sums of all layers. Default: what the network states; where an "
        "ONNX model does not, 32, or what the innermost memory of outputs has room for.",
        metavar="N",
        minimum=1,
        maximum=128,
    ),
]
Densities = Annotated[
    tuple[str, ...],
    Option(
        help="The share of elements of an operand that are not zero: of all layers (I=0.4), of an "
        "operator type or of a layer (Conv.W=0.3, conv1.I=0.5). May be given several times.",
        flags="--density",
        metavar="NAME=SHARE",
    ),
]
MeasureDensity = Annotated[
    bool,
    Option(help="Count the zeros in the weights of an ONNX model; --density overrides the result."),
]
WORKLOAD: Final = Option(
    help="The network: an ONNX file, a YAML list of layers, or a bundled name such as "
    "light:resnet50.",
    metavar="WORKLOAD",
    is_argument=True,
    complete=complete_workload,
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The network of a command, with the values that its file leaves open."""

    GROUP: ClassVar[str] = INPUT

    name: Annotated[str, WORKLOAD]
    dims: Dims = ()
    values: InputValues = ()
    trust_shapes: TrustShapes = False
    float_bits: FloatBits = None
    sum_bits: SumBits = None
    density: Densities = ()
    measure_density: MeasureDensity = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFileOptions:
    """Files with the results of an exploration."""

    GROUP: ClassVar[str] = OUTPUT

    json: ResultsJson = None
    save_mapping: SaveMapping = None
