"""A line on the error output that shows the progress of a command."""

from __future__ import annotations

from typing import final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@final
class ProgressLine:
    """A description, a bar, a count and a text; drawn on a terminal only, removed at the end."""

    def __init__(self, console: Console | None, description: str, text: str = "") -> None:
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            expand=True,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(description, total=None, text=text)

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

    def print(self, text: str) -> None:
        """Prints a permanent line, also without a terminal."""
        self._console.out(text, highlight=False)
