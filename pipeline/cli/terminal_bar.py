"""The progress bar of rich, which takes long to import: for terminals only."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def terminal_bar(console: Console | None) -> Progress:
    """A bar on a console, else on the error output; it draws only if that is a terminal."""
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
