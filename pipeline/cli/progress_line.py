"""A line on the error output that shows the progress of a command, and the summary at its end."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, final

import typer

from nestmap.costmodel.kernel.jit import seconds_compiling, watch_compiling

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

# --- measures the time that is spent on work, for rates that do not count anything else ---


@final
class WorkClock:
    """Splits time into work and the rest, each up to the moment of a call, and compiling."""

    def __init__(self) -> None:
        self._compiled_before = seconds_compiling()
        self.restart()

    def restart(self) -> None:
        """Work begins now; what went before does not count, except for compiling."""
        self._last = self._began = self._now
        self.work = 0.0

    def add_work(self) -> None:
        """The time since the last call was work."""
        self.work += self._since_last()

    def skip(self) -> None:
        """The time since the last call was something else."""
        self._since_last()

    @property
    def elapsed(self) -> float:
        """Seconds since the restart, without compiling."""
        return self._now - self._began

    @property
    def compiling(self) -> float:
        """Seconds that this process has compiled kernels since the clock was made."""
        return seconds_compiling() - self._compiled_before

    @property
    def _now(self) -> float:
        return perf_counter() - seconds_compiling()

    def per_second(self, number: int) -> float | None:
        """A number per second of work; ``None`` where there was none."""
        return number / self.work if number and self.work > 0 else None

    def _since_last(self) -> float:
        last, self._last = self._last, self._now
        return self._last - last


def left_text(seconds: float) -> str:
    """The time that is left, in hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"


# --- the line ---

_COMPILING: Final = "Compiling the cost model, once per machine and version."
_LEAST_TOLD: Final = 0.05
"""Seconds of compiling."""

_TERMINAL_VARIABLES: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""What may tell rich that a file is a terminal."""


@final
class ProgressLine:
    """A description, a bar and a text; drawn on a terminal only, removed at the end."""

    def __init__(self, console: Console | None, description: str, text: str = "") -> None:
        self._drawn: tuple[Progress, TaskID] | None = None
        self._has_said = False
        if console is not None or _may_be_terminal():
            bar = _terminal_bar(console)
            self._drawn = bar, bar.add_task(description, total=None, text=text)

    def start(self) -> None:
        """Starts to draw the line."""
        if self._drawn is not None:
            self._drawn[0].start()

    def stop(self) -> None:
        """Removes the line."""
        if self._drawn is not None:
            self._drawn[0].stop()

    def update(
        self,
        text: str | None = None,
        *,
        description: str | None = None,
        completed: int | None = None,
        total: int | None = None,
    ) -> None:
        """Changes the given parts of the line."""
        if self._drawn is None:
            return
        bar, task = self._drawn
        bar.update(task, description=description, completed=completed, total=total)
        if text is not None:
            bar.update(task, text=text)

    def say_compiling(self) -> None:
        """Shows that kernels are compiled; a permanent line says so first."""
        if not self._has_said:
            self._has_said = True
            self.print(_COMPILING)
        self.update("", description="compiling")

    def print(self, text: str) -> None:
        """Prints a permanent line, also without a terminal."""
        if self._drawn is None:
            typer.echo(text, err=True)
        else:
            self._drawn[0].console.out(text, highlight=False)


def _may_be_terminal() -> bool:
    """Whether rich may find that the error output is a terminal."""
    told = any(name in os.environ for name in _TERMINAL_VARIABLES)
    return told or (sys.stderr is not None and sys.stderr.isatty())


def _terminal_bar(console: Console | None) -> Progress:
    """A bar on a console, else on the error output; it draws only if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 (rich takes long to import)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = console or Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        expand=True,
        transient=True,
        disable=not console.is_terminal,
    )


# --- the progress of a command ---


class ProgressBar(ABC):
    """Shows the progress of what runs within its block; a bar only on a terminal.

    Use it as a context manager, and pass it as the ``progress`` of what runs. Rates count work
    that is done while nothing is compiled or read.
    """

    def __init__(self, console: Console | None, description: str) -> None:
        self._line, self._clock = ProgressLine(console, description), WorkClock()
        self._watch = ExitStack()

    def __enter__(self) -> Self:
        self._watch.enter_context(watch_compiling(self._line.say_compiling))
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watch.close()
        self._line.stop()
        if error is None:
            done, more = self._summary()
            text = f"{done} in {self._clock.elapsed:.1f} s"
            if self._clock.compiling >= _LEAST_TOLD:
                text += f", and {self._clock.compiling:.1f} s of compiling"
            self._line.print(f"{text}.{more}")

    @abstractmethod
    def _summary(self) -> tuple[str, str]:
        """What was done, and sentences to add."""
