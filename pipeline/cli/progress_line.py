"""A line on the error output that shows the progress of a command."""

from __future__ import annotations

from typing import Final, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_COMPILING: Final = "Compiling the cost model, once per machine and version."


@final
class ProgressLine:
    """A description, a bar and a text; drawn on a terminal only, removed at the end."""

    def __init__(self, console: Console | None, description: str, text: str = "") -> None:
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            expand=True,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(description, total=None, text=text)
        self._has_said = False

    def start(self) -> None:
        """Starts to draw the line."""
        self._bar.start()

    def stop(self) -> None:
        """Removes the line."""
        self._bar.stop()

    def update(
        self,
        text: str | None = None,
        *,
        description: str | None = None,
        completed: int | None = None,
        total: int | None = None,
    ) -> None:
        """Changes the given parts of the line."""
        self._bar.update(self._task, description=description, completed=completed, total=total)
        if text is not None:
            self._bar.update(self._task, text=text)

    def say_compiling(self) -> None:
        """Shows that kernels are compiled; a permanent line says so first."""
        if not self._has_said:
            self._has_said = True
            self.print(_COMPILING)
        self.update("", description="compiling")

    def print(self, text: str) -> None:
        """Prints a permanent line, also without a terminal."""
        self._console.out(text, highlight=False)
