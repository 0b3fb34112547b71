"""The progress bar of a sweep: designs, of how many, how fast, and the size of the front."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, final

from nestmap.costmodel.evaluate_rows import is_compiled_before
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.cli.progress_line import ProgressLine
from nestmap.pipeline.cli.work_clock import WorkClock
from nestmap.pipeline.format.numbers import count

if TYPE_CHECKING:  # takes long to import
    from rich.console import Console


@final
class SweepBar:
    """Shows the progress of a sweep on the error output; a bar only on a terminal.

    Use it as a context manager around the sweep, and pass it as its ``progress``.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._line = ProgressLine(console, "checking")
        self._clock = WorkClock()
        self._designs = self._done = self._timed = 0

    def __enter__(self) -> SweepBar:
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
            text = f"Explored {count(self._done)} designs in {self._clock.elapsed:.1f} s"
            if self._clock.compiling:
                text += f", after compiling for {self._clock.compiling:.1f} s"
            self._line.print(f"{text}.")

    def start(self, designs: int) -> None:
        """The sweep of so many designs begins."""
        self._designs = designs
        self._clock.restart()
        self._line.update(description="exploring", completed=0, total=designs)
        if not is_compiled_before():
            self._clock.begin_compiling()
            self._line.say_compiling()

    def explored(self, design: DesignResult, front: int) -> None:
        """A design is explored; this many are on the front now."""
        self._done += 1
        if self._clock.is_compiling:  # within the first design, which says nothing about the rate
            self._clock.end_compiling()
            self._line.update(description="exploring")
        else:
            self._timed += 1
            self._clock.add_work()
        parts = [f"{count(self._done)} of {count(self._designs)} designs", self._rate()]
        text = ", ".join(filter(None, [*parts, f"front {count(front)}", self._left()]))
        self._line.update(text, completed=self._done)

    def _rate(self) -> str:
        rate = self._clock.per_second(self._timed)
        return "" if rate is None else f"{rate:.3g}/s"

    def _left(self) -> str:
        rate = self._clock.per_second(self._timed)
        if rate is None:
            return ""
        minutes, seconds = divmod(int((self._designs - self._done) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        return (
            f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
        )
