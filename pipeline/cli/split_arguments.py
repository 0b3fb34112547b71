"""Parses the options of ``nestmap split`` and ``nestmap stream`` for splitting a network."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from nestmap.model import Counting, InputError
from nestmap.model.multicore.core_constraints import split_from_hints
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.split_options import SplitMode, SplitOptions
from nestmap.pipeline.cli.options.common import WorkloadOptions
from nestmap.pipeline.cli.options.multicore import SplitArguments
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.multicore.api import read_stream
from nestmap.pipeline.stages.multicore.split import GivenLoop, split_options

HINTS: Final = "--hint-loops"
CUTOFFS: Final = "--layer-cutoffs"
SHARE: Final = "--split-w-percentage"
LARGEST: Final = 2**31 - 1

_LOOP: Final = "a dimension and a number of tiles or all, as in OY=4 or OX=all"
_CUTOFF: Final = "ascending numbers of nodes of the network, as in 5,9"
_OPTIONS: Final = MappingProxyType(
    {
        "hint_loops": HINTS,
        "layer_cutoffs": CUTOFFS,
        "objective": "--objective",
        "prefetch": "--prefetch",
    }
)


def read_problem(workload: WorkloadOptions, cores: str, mapping: str | None) -> StreamProblem:
    """The network, the cores and the core mapping of a command.

    Raises:
        InputError: where one of them is invalid.
    """
    return read_stream(read_given_workload(workload), cores, mapping)


def chosen_split(given: SplitArguments, counting: Counting, problem: StreamProblem) -> SplitOptions:
    """The split options of the command line; without hints, those of the mapping.

    Raises:
        InputError: where an option cannot be parsed, or options contradict each other.
    """
    if given == SplitArguments():
        hinted = split_from_hints(problem.mapping, problem.workload, counting)
        if hinted is not None:
            return hinted
    return parse_split(given, counting)


def parse_split(given: SplitArguments, counting: Counting) -> SplitOptions:
    """The split options of the command line.

    Raises:
        InputError: where an option cannot be parsed, or options contradict each other.
    """
    lists, cutoffs = parse_hints(given.hint_loops), _cutoffs(given)
    if len(lists) != len(cutoffs) + 1:
        raise InputError(
            HINTS,
            f"{len(lists)} lists of loops for {len(cutoffs)} layer cutoffs",
            f"{len(cutoffs) + 1}, with / between them; {CUTOFFS} gives the cutoffs of --mode 3",
        )
    several = given.mode == SplitMode.PER_LAYER
    return split_options(
        given.mode, lists if several else lists[0], cutoffs, _share(given), counting
    )


def _cutoffs(given: SplitArguments) -> tuple[int, ...]:
    if given.layer_cutoffs is None:
        return ()
    if given.mode != SplitMode.PER_LAYER:
        raise InputError.conflict(CUTOFFS, f"--mode {given.mode}", "use --mode 3")
    return parse_cutoffs(given.layer_cutoffs)


def _share(given: SplitArguments) -> float:
    share = given.split_w_percentage
    if share is None:
        return 1.0
    if given.mode != SplitMode.OUTER_AND_WEIGHTS:
        raise InputError.conflict(SHARE, f"--mode {given.mode}", "use --mode 4")
    if not 0 < share <= 1:
        raise InputError(SHARE, f"{share:g}", "a fraction above 0 and at most 1")
    return share


@contextmanager
def rename_options() -> Generator[None]:
    """Renames Stream's arguments in errors to the options of the command line."""
    try:
        yield
    except InputError as error:
        if error.where not in _OPTIONS:
            raise
        raise InputError(_OPTIONS[error.where], error.found, error.expected) from None


def parse_hints(texts: Sequence[str]) -> tuple[tuple[GivenLoop, ...], ...]:
    """The lists of loops in ``["OY=all", "OX=4 / K=2"]``: one, or several separated by ``/``.

    Raises:
        InputError: where a loop cannot be parsed.
    """
    return tuple(_hints(part) for part in ",".join(texts).split("/"))


def _hints(text: str) -> tuple[GivenLoop, ...]:
    return tuple(_loop(part.strip()) for part in text.split(",") if part.strip())


def _loop(text: str) -> GivenLoop:
    dimension, _, tiles = (part.strip() for part in text.partition("="))
    if not dimension.isidentifier() or not tiles:
        raise InputError(HINTS, repr(text), _LOOP)
    if tiles == "all":
        return dimension, tiles
    digits = tiles.isascii() and tiles.isdigit() and len(tiles) <= len(str(LARGEST))
    if not digits or not 1 <= int(tiles) <= LARGEST:
        raise InputError(HINTS, f"{tiles!r} tiles of {dimension}", f"1 to {LARGEST}, or all")
    return dimension, int(tiles)


def parse_cutoffs(text: str) -> tuple[int, ...]:
    """The numbers in ``"5,9"``.

    Raises:
        InputError: where these are not ascending numbers.
    """
    parts = [part.strip() for part in text.split(",")]
    if any(not (x.isascii() and x.isdigit() and len(x) <= len(str(LARGEST))) for x in parts):
        raise InputError(CUTOFFS, repr(text), _CUTOFF)
    numbers = tuple(int(part) for part in parts)
    if list(numbers) != sorted(set(numbers)):
        raise InputError(CUTOFFS, repr(text), _CUTOFF)
    return numbers
