"""A table as a value, which terminals, notebooks and pages render each in their way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from nestmap.pipeline.render.tables.columns import Column


@final
@dataclass(frozen=True, slots=True)
class Bar:
    """A bar on a scale from 0 to 1."""

    begin: float
    end: float
    color: str

    @property
    def start(self) -> str:
        """Where it begins, in percent."""
        return f"{100 * self.begin:.4g}"

    @property
    def width(self) -> str:
        """How long it is, in percent; at least a tick."""
        return f"{max(100 * (self.end - self.begin), 0.3):.4g}"


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, the exact value behind it (else empty), where it leads, its bar.

    ``below`` are further lines of its text. Renderers leave out what their medium lacks.
    """

    text: str
    value: str = ""
    link: str = ""
    bar: Bar | None = None
    below: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row; the cell at the table's ``head`` names it. ``group`` is what it can be chosen by."""

    cells: tuple[Cell, ...]
    group: str = ""
    repeats: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """What the cells say."""
        return tuple(cell.text for cell in self.cells)


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``total`` is its last row, which stays the last one when others are sorted."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: Row | None = None
    head: int = 0


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell | str]],
    *,
    caption: str = "",
    total: Sequence[Cell | str] = (),
) -> Table:
    """A table of cells, or of texts without exact values."""
    last = _row(total) if total else None
    return Table(caption, tuple(columns), tuple(map(_row, rows)), last)


def _row(cells: Sequence[Cell | str]) -> Row:
    return Row(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells))
