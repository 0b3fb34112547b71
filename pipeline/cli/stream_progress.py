"""The progress bar of an exploration on several cores: costs of nodes, then generations."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import final

from rich.console import Console

from nestmap.model.multicore.population import Fitness, Generation
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.cli.progress_line import ProgressLine
from nestmap.pipeline.format.numbers import count, cycles, energy


@final
class StreamBar:
    """Shows the progress of an exploration on several cores on the error output.

    It shows a bar only on a terminal. Use it as a context manager around the exploration, and pass
    it as its ``progress``.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._line = ProgressLine(console, "splitting")
        self._costs = 0
        self._evaluations = 0
        self._before: int | None = None
        self._began = self._phase = perf_counter()

    def __enter__(self) -> StreamBar:
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._line.stop()
        if error is None:
            seconds = perf_counter() - self._began
            text = f"Costed {count(self._costs)} kinds of nodes on cores, {self._scheduled()}"
            self._line.print(f"{text}, all in {seconds:.1f} s.")

    def split(self, split: SplitProblem) -> None:
        """The network is split; the search for the costs of its nodes begins."""
        self._line.update(f"of {count(len(split.nodes))} nodes", description="costing")

    def costed(self, done: int, of: int) -> None:
        """This many of the costs are known."""
        self._costs = done
        self._line.update(completed=done, total=of)

    def prove(self, problem: ScheduleProblem) -> None:
        """All costs are known; constraint programming begins."""
        genes = f"{count(len(problem.space.free_groups))} groups with a choice"
        self._line.update(genes, description="proving", completed=0)

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """All costs are known; this many generations follow the first one."""
        self._phase = perf_counter()
        self._line.update("", description="generation", completed=0, total=generations)

    def observe(self, generation: Generation) -> None:
        """A generation is complete."""
        if self._before is None:  # earlier ones were recorded before the run was resumed
            self._before = generation.evaluations - len(generation.scheduled)
        self._evaluations = generation.evaluations - self._before
        text = f"{_best(generation)}  {self._scheduled()}"
        self._line.update(text, completed=generation.number)

    def _scheduled(self) -> str:
        if not self._evaluations:
            return "scheduled no allocations"
        seconds = perf_counter() - self._phase
        rate = int(self._evaluations / seconds) if seconds else 0
        return f"scheduled {count(self._evaluations)} allocations, {count(rate)}/s"


def _best(generation: Generation) -> str:
    """The lowest latency and the lowest energy on the front."""
    known: list[Fitness] = [x.fitness for x in generation.front if x.fitness is not None]
    if not known:
        return "no schedule yet"
    latency, spent = min(x.latency for x in known), min(x.energy for x in known)
    return f"{cycles(latency)} cycles, {energy(spent)}"
