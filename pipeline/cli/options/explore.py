"""The options of the commands that explore and evaluate mappings on one core."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.cli.options.common import (
    DEFAULT_STORE,
    INPUT,
    SEARCH,
    Accelerator,
    Mapping,
    NoStore,
    ResultFileOptions,
    ResultsJson,
    Run,
    RunName,
    RunTags,
    StaticEnergy,
    Store,
    Strict,
    Workers,
    WorkloadOptions,
)
from nestmap.pipeline.cli.options.sweep import ResumeSweepOptions
from nestmap.pipeline.explore.options import Reference, SearchOptions
from nestmap.pipeline.util.option import Group, Option


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """Where an exploration is recorded, and which evaluations."""

    GROUP: ClassVar[str] = "Record"

    store: Store = DEFAULT_STORE
    no_store: NoStore = False
    run_name: RunName = None
    tags: RunTags = ()
    record: Annotated[
        Literal["all", "best", "none"],
        Option(
            help="Which evaluations to record: all, the Pareto front of each search in energy and "
            "latency (best), or none. Results are always recorded."
        ),
    ] = "all"
    record_limit: Annotated[
        int | Literal["none"],
        Option(
            help="Of a search (a layer with one spatial mapping), record at most N evaluations, "
            "and the Pareto front of all.",
            metavar="N|none",
            minimum=1,
        ),
    ] = 1_000_000  # model.evaluation.recording.RECORD_LIMIT, which takes long to import
    fresh: Annotated[
        bool, Option(help="Compute everything again instead of reusing results in the store.")
    ] = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreOptions:
    """The options of ``nestmap explore``."""

    workload: WorkloadOptions
    accelerator: Accelerator
    mapping: Mapping = None
    layer: Annotated[
        tuple[str, ...],
        Option(
            help="Explore only this layer of the network; its inputs come from the outermost "
            "memory. May be given several times.",
            metavar="NAME",
            group=INPUT,
        ),
    ] = ()
    strict: Strict = False
    search: Annotated[SearchOptions, Group(SEARCH)]
    static_energy: StaticEnergy = False
    pareto: Annotated[
        bool,
        Option(help="Find the Pareto front of each layer in energy and latency.", group=SEARCH),
    ] = False
    yes: Annotated[
        bool,
        Option(
            help="Start without asking an exploration of more than 10^8 mappings, or one that "
            "records more than 1 GB.",
            group=SEARCH,
        ),
    ] = False
    recording: RecordingOptions
    files: ResultFileOptions


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """The options of ``nestmap resume``."""

    run: Run
    workers: Workers = None
    store: Store = DEFAULT_STORE
    force: Annotated[
        bool,
        Option(
            help="Resume a run that another machine was running, or whose process id belongs to "
            "another program now. Make sure that nothing runs it any more."
        ),
    ] = False
    files: ResultFileOptions
    sweeps: ResumeSweepOptions


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """The options of ``nestmap evaluate``: a mapping file, or a layer and an order of its loops."""

    workload: WorkloadOptions
    accelerator: Accelerator
    layer: Annotated[
        str | None,
        Option(help="The layer to map. With --mapping-file the default is all.", metavar="NAME"),
    ] = None
    order: Annotated[
        str | None,
        Option(
            help="The temporal loops, innermost first. They must cover all iterations of the "
            "layer that the spatial mapping leaves.",
            metavar='"DIM SIZE, ..."',
        ),
    ] = None
    cuts: Annotated[
        tuple[str, ...],
        Option(
            help="For each memory of an operand, innermost first, the number of loops at or below "
            "it. Give the option once for each operand, or not at all to use the allocation with "
            "the fewest accesses to the next memory, as in LOMA.",
            flags="--cut",
            metavar="OPERAND=N,...",
        ),
    ] = ()
    mapping: Mapping = None
    mapping_file: Annotated[
        str | None,
        Option(
            help="A YAML file with the complete mapping of every layer: spatial mapping, a "
            "temporal_ordering of all loops and memory_levels, as nestmap explore saves it. "
            "Replaces --order, --cut and --mapping.",
            metavar="FILE",
        ),
    ] = None
    strict: Strict = False
    static_energy: StaticEnergy = False
    reference: Reference = None
    store: Annotated[
        Path | None,
        Option(
            help="Record the mapping and its costs as a run in this DuckDB file, to explain, plot "
            "and compare. Default: do not record them.",
            metavar="FILE",
        ),
    ] = None
    run_name: RunName = None
    tags: RunTags = ()
    json: ResultsJson = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RepriceOptions:
    """The options of ``nestmap reprice``."""

    run: Run
    accelerator: Accelerator
    strict: Strict = False
    static_energy: StaticEnergy = False
    store: Store = DEFAULT_STORE
    json: ResultsJson = None
