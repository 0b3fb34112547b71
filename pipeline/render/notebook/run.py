"""Shows a run of a store as a table of its properties."""

from __future__ import annotations

from datetime import datetime

from nestmap.pipeline.render.notebook.markup import table
from nestmap.pipeline.render.tables.columns import Column
from nestmap.store import RunRecord


def run_html(run: RunRecord) -> str:
    """A row for each property."""
    rows = [(name.replace("_", " "), _value_text(value)) for name, value in run]
    return table(f"Run {run.id}", (Column("Property"), Column("Value")), rows)


def _value_text(value: object) -> str:
    match value:
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case float():
            return f"{value:.1f}"
        case _:
            return "-" if value is None else str(value)
