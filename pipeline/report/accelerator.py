"""What an accelerator consists of, as a table: each memory with what it costs."""

from __future__ import annotations

from typing import Final

from nestmap.model import Accelerator, MemoryLevel
from nestmap.pipeline.report.columns import Column, Line, figures, table
from nestmap.pipeline.report.figures import capacity, count

_COLUMNS: Final = (
    Column("memory"),
    Column("operands"),
    figures("size"),
    figures("instances"),
    figures("width", "bit/cycle"),
    figures("read", "pJ"),
    figures("write", "pJ"),
    figures("area", "each"),
    figures("leakage", "mW each"),
)

COSTS: Final = (
    "read, write: energy of an access of a port's full width. Area is in the unit of the "
    "description (mm2 where it is computed)."
)
"""What the columns mean."""


def array_text(accelerator: Accelerator) -> str:
    """The array: how many units, and its sides."""
    sides = " x ".join(f"{side.name} {side.size}" for side in accelerator.array.sides)
    return f"{count(accelerator.array.units)} MACs ({sides})"


def memory_table(accelerator: Accelerator) -> list[Line]:
    """A row for each memory, innermost first."""
    return table(_COLUMNS, [_row(accelerator, level) for level in accelerator.memories])


def _row(accelerator: Accelerator, level: MemoryLevel) -> tuple[str, ...]:
    instance = level.instance
    return (
        level.name,
        " ".join(level.operands),
        capacity(instance.size),
        count(accelerator.instances_of(level)),
        count(max(port.width_max for port in instance.ports)),
        f"{instance.read_energy:.4g}",
        f"{instance.write_energy:.4g}",
        f"{instance.area:.4g}",
        f"{instance.leakage:.4g}",
    )
