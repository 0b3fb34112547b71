"""Runs random cases in a process of its own, with limits on memory and time.

A crash, a hang or a flood of memory is counted and put down to its case.
"""

import os
import random
import resource
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, final

from numba.core.event import install_timer  # pyright: ignore[reportUnknownVariableType]

from nestmap.model import InputError, NestmapError

MEMORY: Final = 8 * 2**30
"""Bytes of address space that a case may take."""

FLOOD: Final = 2**30
"""Bytes that a case may add to what its process held before."""

SECONDS: Final = 10.0
"""CPU seconds that a case may take, without those of compiling."""

PATIENCE: Final = 60.0
"""Seconds after which a case hangs, on a machine with other work."""

_LONGEST: Final = 10_000
"""Characters of the longest message."""

Case = Callable[[random.Random], str]
"""Draws a case and runs it: a word for what became of it; a :class:`NestmapError`: refused."""


class Fuzzer(NamedTuple):
    """A family of cases: what it is for, and how to begin, in an empty folder."""

    about: str
    begin: Callable[[Path], AbstractContextManager[Case]]


@final
@dataclass(frozen=True)
class Outcome:
    """What became of a case: a word, and the reason if it is a failure."""

    kind: str
    reason: str = ""


def outcome_of(case: Case, draw: random.Random) -> Outcome:
    """What becomes of a case; exceptions that users should not see are failures."""
    try:
        return Outcome(case(draw))
    except NestmapError as error:
        text = str(error)
        several = isinstance(error, InputError) and "\n" in text
        if several or len(text) > _LONGEST:
            return Outcome("FAILED", f"a message of {len(text)} characters, or several lines")
        return Outcome("refused")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
        return Outcome("FAILED", reason.partition("\n")[0][:160])


def run(fuzzer: Fuzzer, seed: int, cases: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of cases; a process that dies or hangs is replaced by another."""
    left = list(cases)
    while left:
        here, there = get_context("fork").Pipe(duplex=False)
        worker = get_context("fork").Process(target=_work, args=(there, fuzzer, seed, left))
        worker.start()
        there.close()
        for case, outcome in _received(here):
            yield case, outcome
            left = left[left.index(case) + 1 :]
        worker.terminate()
        worker.join()
        here.close()


def draw_of(seed: int, case: int) -> random.Random:
    """The random numbers of a case: the same for the same seed and number."""
    return random.Random(f"{seed}/{case}")


def _work(pipe: Connection, fuzzer: Fuzzer, seed: int, cases: Sequence[int]) -> None:
    """Runs cases in this process; says before each which one it is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as name:
        os.chdir(name)
        with fuzzer.begin(Path(name)) as case:
            for number in cases:
                pipe.send(number)
                pipe.send(measured(case, draw_of(seed, number)))


def measured(case: Case, draw: random.Random) -> Outcome:
    """What became of a case; what Numba compiles for it is not its fault."""
    compiling: list[float] = []
    before, start = _peak(), _cpu_seconds()
    with install_timer("numba:compile", compiling.append):
        outcome = outcome_of(case, draw)
    more, seconds = _peak() - before, _cpu_seconds() - start - sum(compiling)
    if more > FLOOD:
        return Outcome("FLOODED", f"{more / 2**20:.0f} MiB")
    return outcome if seconds < SECONDS else Outcome("SLOW", f"{seconds:.1f} CPU s")


def _peak() -> int:
    """Bytes of memory that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


def _received(pipe: Connection) -> Iterator[tuple[int, Outcome]]:
    """What a process says of its cases, until it ends, dies or hangs."""
    while True:
        try:
            case: int = pipe.recv()
        except EOFError:
            return
        if not pipe.poll(PATIENCE):
            yield case, Outcome("HUNG", f"more than {PATIENCE:.0f} s")
            return
        try:
            outcome: Outcome = pipe.recv()
        except EOFError:
            yield case, Outcome("CRASHED", "the process died")
            return
        yield case, outcome
