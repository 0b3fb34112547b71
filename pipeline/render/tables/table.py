"""A table as a value, which terminals, notebooks and pages render."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, final

from nestmap.pipeline.format.palette import Look, tone

# --- columns of tables: title, unit, alignment ---


class Align(Enum):
    """The alignment of a column."""

    LEFT = "left"
    RIGHT = "right"
    FILL = "fill"
    """A column of bars on one scale."""


class Room(Enum):
    """The media that have room for a column."""

    ANY = "any"
    LINE = "line"
    """A long text: narrow terminals show it in a line below the row."""
    PAGE = "page"
    """Pages alone show it."""


class Column(NamedTuple):
    """A column: its title, a second title line (a unit), its alignment.

    ``hint`` explains it in media that show hints, ``room`` says which media show the column.
    """

    title: str
    unit: str = ""
    align: Align = Align.LEFT
    hint: str = ""
    room: Room = Room.ANY


def number_column(title: str, unit: str = "", hint: str = "", room: Room = Room.ANY) -> Column:
    """A column of numbers."""
    return Column(title, unit, Align.RIGHT, hint, room)


def bar_column(title: str) -> Column:
    """A column of bars."""
    return Column(title, align=Align.FILL)


@final
@dataclass(frozen=True, slots=True)
class Bar:
    """A bar on a scale from 0 to 1."""

    begin: float
    end: float
    color: str

    @property
    def fill(self) -> str:
        """The colour on light pages and that on dark ones, in CSS."""
        colors = tone(Look(self.color))
        return f"light-dark({colors.light}, {colors.dark})"

    @property
    def start(self) -> str:
        """The start of the bar, in percent."""
        return f"{100 * self.begin:.4g}"

    @property
    def width(self) -> str:
        """The length of the bar, in percent; at least a tick."""
        return f"{max(100 * (self.end - self.begin), 0.3):.4g}"


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, its exact value (or empty), its link, its bar.

    Renderers leave out features that their medium lacks.
    """

    text: str
    value: str = ""
    link: str = ""
    bar: Bar | None = None


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row; the cell at the table's ``head`` names it. Tables can be filtered by ``group``.

    One that ``repeats`` an earlier row is left out where there is little room. One of ``depth`` 1
    or more is a part of the last row above that has less.
    """

    cells: tuple[Cell, ...]
    group: str = ""
    repeats: bool = False
    depth: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the cells."""
        return tuple(cell.text for cell in self.cells)


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``total`` is its last row and stays last when the others are sorted."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: Row | None = None
    head: int = 0

    def without(self, *rooms: Room) -> "Table":
        """The table without the columns that need so much room, and without repeated rows."""
        kept = [place for place, column in enumerate(self.columns) if column.room not in rooms]
        return Table(
            caption=self.caption,
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(_chosen(row, kept) for row in self.rows if not row.repeats),
            total=self.total and _chosen(self.total, kept),
            head=kept.index(self.head),
        )


def _chosen(row: Row, places: Sequence[int]) -> Row:
    return replace(row, cells=tuple(row.cells[place] for place in places))


def table(
    columns: Sequence[Column],
    rows: Iterable[Row | Sequence[Cell | str]],
    *,
    caption: str = "",
    total: Sequence[Cell | str] = (),
    head: int = 0,
) -> Table:
    """A table of rows, cells, or texts without exact values."""
    last = _row(total) if total else None
    return Table(caption, tuple(columns), tuple(map(_row, rows)), last, head)


def _row(cells: Row | Sequence[Cell | str]) -> Row:
    if isinstance(cells, Row):
        return cells
    return Row(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells))
