"""The progress bar of an exploration: completed layers, evaluated mappings, and their rate."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import Final, final

from rich.console import Console

from nestmap.costmodel.evaluate_rows import is_compiled_before
from nestmap.model import EvaluationBatch, NetworkProblem
from nestmap.pipeline.cli.progress_line import ProgressLine
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.text.plain_table import printable

_COMPILING: Final = "Compiling the cost model, once per machine and version: about half a minute."
_LONGEST_NAME: Final = 16


@final
class ExplorationBar:
    """Shows the progress of an exploration on the error output; a bar only on a terminal.

    Use it as a context manager around the exploration, and pass it as its ``progress``.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._line = ProgressLine(console, "reading", "layers  ")
        self._positions: dict[str, int] = {}
        self._evaluations = 0
        self._recalled = 0
        self._began = perf_counter()

    def __enter__(self) -> ExplorationBar:
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
            known = (
                f" {count(self._recalled)} were reused from the store." if self._recalled else ""
            )
            self._line.print(f"Evaluated {self._counted()} in {seconds:.1f} s.{known}")

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""
        if not is_compiled_before():
            self._line.print(_COMPILING)
        self._began = perf_counter()
        layers = network.workload.layers
        self._positions = {layer.name: i for i, layer in enumerate(layers)}
        self._line.update(total=len(layers), completed=0)

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""
        self._evaluations += len(batch)
        self._show(batch.mappings.problem.layer.name)

    def recall(self, batch: EvaluationBatch) -> None:
        """A search is reused: its Pareto front, with the statistics of all."""
        self._recalled += batch.statistics.evaluations
        self._show(batch.mappings.problem.layer.name)

    def _show(self, name: str) -> None:
        self._line.update(
            f"layers  {self._counted()}",
            description=printable(name)[:_LONGEST_NAME],
            completed=self._positions[name],
        )

    def _counted(self) -> str:
        if not self._evaluations and self._recalled:
            return "no mappings"
        seconds = perf_counter() - self._began
        rate = int(self._evaluations / seconds) if seconds else 0
        return f"{count(self._evaluations)} mappings, {count(rate)}/s"
