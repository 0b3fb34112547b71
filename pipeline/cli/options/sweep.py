"""The options of the command that explores the designs of a space."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.cli.options.common import OUTPUT, SEARCH, StaticEnergy, Strict
from nestmap.pipeline.cli.options.multicore import SplitArguments
from nestmap.pipeline.explore.options import SweepPlace, SweepSearchOptions
from nestmap.pipeline.multicore.options import AllocationOptions
from nestmap.pipeline.sweep.options import ChoiceOptions, RunsName
from nestmap.pipeline.util.option import Group, Option


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSweepOptions:
    """How a sweep goes on."""

    GROUP: ClassVar[str] = "Sweeps"

    on: SweepPlace = None
    runs: Annotated[
        RunsName | None,
        Option(
            help="Record runs of the designs on the front, at the end (front, the default), of "
            "all, one after the other, or of none."
        ),
    ] = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFileOptions:
    """Where the designs are written."""

    GROUP: ClassVar[str] = OUTPUT

    store: Annotated[
        Path | None,
        Option(
            help="Record the sweep and its designs in this DuckDB file. A sweep that was "
            "interrupted goes on when it is started again. Default: do not record them.",
            metavar="FILE",
        ),
    ] = None
    runs: Annotated[
        RunsName,
        Option(
            help="With --store, record runs with layers and mappings, tagged sweep:NAME: of the "
            "designs on the front, at the end (front), of all, one after the other, or of none."
        ),
    ] = "front"
    output: Annotated[
        Path | None,
        Option(
            help="Write all designs with all digits to this file, in the format of its suffix: "
            ".csv, .json, .parquet, .arrow, .md, .tex or .txt.",
            flags="--output -o",
            metavar="FILE",
        ),
    ] = None
    format: Annotated[
        Literal["table", "markdown", "latex", "csv", "spreadsheet", "json", "parquet", "arrow"]
        | None,
        Option(help="The format of --output, regardless of its suffix.", metavar="FORMAT"),
    ] = None
    save_front: Annotated[
        Path | None,
        Option(
            help="Write the accelerators of the front to this folder, a YAML file for each design: "
            "NUMBER.yaml, which nestmap explore reads, or nestmap stream those with several "
            "cores.",
            metavar="DIR",
        ),
    ] = None
    report: Annotated[
        Path | None,
        Option(
            help="Write a report to this HTML file: the front as charts and as a table; with "
            "--store, also layers and mappings, or schedules, of its designs.",
            metavar="FILE",
        ),
    ] = None
    plot: Annotated[
        Path | None,
        Option(
            help="Draw the designs into this folder: the front, objectives by parameter, parallel "
            "coordinates, and the importance of parameters, which needs Optuna.",
            metavar="DIR",
        ),
    ] = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """The options of ``nestmap sweep``."""

    space: Annotated[
        str, Option(help="The design space: a YAML file.", metavar="SPACE", is_argument=True)
    ]
    strict: Strict = False
    choice: ChoiceOptions
    search: Annotated[SweepSearchOptions, Group(SEARCH)]
    split: SplitArguments
    allocation: AllocationOptions
    static_energy: StaticEnergy = False
    files: SweepFileOptions
