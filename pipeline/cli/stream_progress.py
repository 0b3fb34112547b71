"""The progress bar of an exploration on several cores: costs of nodes, then generations."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, final

from nestmap.costmodel.evaluate_rows import is_compiled_before
from nestmap.costmodel.kernel.jit import is_compiled
from nestmap.model.multicore.allocation import Fitness, Generation
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.cli.progress_line import ProgressLine
from nestmap.pipeline.cli.work_clock import WorkClock
from nestmap.pipeline.format.numbers import count, cycles, energy
from nestmap.search.multicore.schedule.list_scheduler import schedule_nodes

if TYPE_CHECKING:  # takes long to import
    from rich.console import Console


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
        self._untimed = 0
        self._generations = 0
        self._before: int | None = None
        self._clock = WorkClock()

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
            text = f"Costed {count(self._costs)} kinds of nodes on cores, {self._scheduled()}"
            text += f", all in {self._clock.elapsed:.1f} s"
            if self._clock.compiling:
                text += f", after compiling for {self._clock.compiling:.1f} s"
            self._line.print(f"{text}.")

    def split(self, split: SplitProblem) -> None:
        """The network is split; the search for the costs of its nodes begins."""
        self._line.update(f"of {count(len(split.nodes))} nodes", description="costing")
        if not is_compiled_before():
            self._compile()

    def costed(self, done: int, of: int) -> None:
        """This many of the costs are known."""
        self._costs = done
        if done and self._clock.is_compiling:
            self._clock.end_compiling()
            self._line.update(description="costing")
        self._line.update(f"{count(done)} of {count(of)} costs", completed=done, total=of)

    def prove(self, problem: ScheduleProblem) -> None:
        """All costs are known; constraint programming begins."""
        genes = f"{count(len(problem.space.free_groups))} groups with a choice"
        self._line.update(genes, description="proving", completed=0)

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """All costs are known; this many generations follow the first one."""
        self._clock.skip()
        self._generations = generations
        self._line.update("", description="generation", completed=0, total=generations)
        if not is_compiled(schedule_nodes):
            self._compile()

    def observe(self, generation: Generation) -> None:
        """A generation is complete."""
        if self._before is None:  # earlier ones were recorded before the run was resumed
            self._before = generation.evaluations - len(generation.scheduled)
        self._evaluations = generation.evaluations - self._before
        if self._clock.is_compiling:  # within the generation: it says nothing about the rate
            self._clock.end_compiling()
            self._untimed = self._evaluations
        else:
            self._clock.add_work()
        number = f"{generation.number} of {self._generations}"
        text = f"{number}  {_best(generation)}  {self._scheduled()}"
        self._line.update(text, description="generation", completed=generation.number)

    def _compile(self) -> None:
        self._clock.begin_compiling()
        self._line.say_compiling()

    def _scheduled(self) -> str:
        if not self._evaluations:
            return "scheduled no allocations"
        text = f"scheduled {count(self._evaluations)} allocations"
        rate = self._clock.per_second(self._evaluations - self._untimed)
        return text if rate is None else f"{text}, {count(int(rate))}/s"


def _best(generation: Generation) -> str:
    """The lowest latency and the lowest energy on the front."""
    known: list[Fitness] = [x.fitness for x in generation.front if x.fitness is not None]
    if not known:
        return "no schedule yet"
    latency, spent = min(x.latency for x in known), min(x.energy for x in known)
    return f"{cycles(latency)} cycles, {energy(spent)}"
