"""What a notebook shows of an object, read back: its tables and its text."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast, final
from xml.etree.ElementTree import Element, fromstring

Row = tuple[str, ...]


class _Formatter(Protocol):
    """An ``IPython.core.formatters.HTMLFormatter``."""

    def __call__(self, shown: object) -> str | None: ...


@final
@dataclass(frozen=True)
class Table:
    """A table; the columns' titles and units stand in one text, apart by a blank."""

    caption: str
    columns: Row
    rows: tuple[Row, ...]
    total: Row

    def column(self, name: str) -> Row:
        """The cells below a title."""
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)

    def row(self, name: str) -> dict[str, str]:
        """The cells of the first row of that name, by title."""
        found = next(row for row in self.rows if row[0] == name)
        return dict(zip(self.columns, found, strict=True))


def html_or_none(shown: object) -> str | None:
    """The HTML that IPython gets of an object, if any."""
    formatter = cast(_Formatter, import_module("IPython.core.formatters").HTMLFormatter())
    return formatter(shown)


def html_of(shown: object) -> str:
    """The HTML that IPython gets of an object."""
    html = html_or_none(shown)
    assert html is not None, "no HTML, or none without an error"
    return html


def page_of(shown: object) -> Element:
    """The HTML as a tree: every element is closed, everything else is escaped."""
    return fromstring(f"<body>{html_of(shown)}</body>")


def text_of(shown: object) -> str:
    """All text that stands in the HTML."""
    return _text(page_of(shown))


def tables_of(shown: object) -> list[Table]:
    """The tables in it, whose cells all say which of them are headers of what."""
    return [_table(table) for table in page_of(shown).iter("table")]


def _table(table: Element) -> Table:
    heads = table.findall("thead/tr/th")
    assert heads
    assert {head.get("scope") for head in heads} == {"col"}
    rows = [_row(row, len(heads)) for row in table.findall("tbody/tr")]
    totals = [_row(row, len(heads)) for row in table.findall("tfoot/tr")]
    return Table(
        caption=_text(table.findall("caption")[0]),
        columns=tuple(map(_text, heads)),
        rows=tuple(rows),
        total=totals[0] if totals else (),
    )


def _row(row: Element, width: int) -> Row:
    first, *others = row
    assert (first.tag, first.get("scope")) == ("th", "row")
    assert all(cell.tag == "td" for cell in others)
    assert len(others) + 1 == width
    return tuple(map(_text, row))


def _text(element: Element) -> str:
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield " " if child.tag == "br" else _text(child)
        yield child.tail or ""
