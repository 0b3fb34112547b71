"""The options of ``nestmap db`` and ``nestmap import``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, final

from nestmap.pipeline.cli.options.common import DEFAULT_STORE, PrunedRuns, Store
from nestmap.pipeline.util.option import Option


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of ``nestmap db check``."""

    store: Store = DEFAULT_STORE
    recompute: Annotated[
        int,
        Option(
            help="Evaluate N of the recorded evaluations again, and compare exactly.",
            metavar="N",
            minimum=0,
        ),
    ] = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """The options of ``nestmap db merge``."""

    into: Annotated[
        Path,
        Option(
            help="The store to merge into; it is created if missing.",
            metavar="INTO",
            is_argument=True,
        ),
    ]
    sources: Annotated[
        tuple[Path, ...],
        Option(
            help="The stores to merge; they are not changed.", metavar="FROM...", is_argument=True
        ),
    ]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions:
    """The options of ``nestmap db prune``."""

    runs: PrunedRuns = ()
    sweeps: Annotated[
        tuple[str, ...],
        Option(
            help="Remove this sweep with its designs: last, its name, or the beginning of its key. "
            "Runs of its designs stay. May be given several times.",
            flags="--sweep",
            metavar="NAME",
        ),
    ] = ()
    keep_best: Annotated[
        bool,
        Option(
            help="Remove evaluations that are not on the Pareto front of their search in energy "
            "and latency."
        ),
    ] = False
    dry_run: Annotated[
        bool, Option(help="Only report what would be removed; takes as long as pruning.")
    ] = False
    store: Store = DEFAULT_STORE
