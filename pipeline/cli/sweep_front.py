"""Prints the front of a sweep, and what is to be said of the other designs."""

from __future__ import annotations

from nestmap.pipeline.cli.printing import show, show_prose
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.sweep.result.result_table import front_table, heading, notes
from nestmap.pipeline.sweep.result.summary import SweepSummary


def show_front(found: SweepSummary) -> None:
    """Prints the front as a table."""
    if found.front:
        show_prose(printable(heading(found)))
        show([Line(), *table_lines(front_table(found)), Line()])
    for note in notes(found):
        show_prose(printable(note))
