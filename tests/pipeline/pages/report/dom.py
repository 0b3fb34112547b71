"""A page read back: its elements, and the tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

_EMPTY: Final = frozenset({"meta", "link", "br", "hr", "img", "input", "rect", "line", "path"})


@dataclass
class Element:
    """An element of a page: what it is, and what is in it in order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    inside: list[Element | str] = field(default_factory=list["Element | str"])

    @property
    def text(self) -> str:
        """All text inside, each run of white space as one blank."""
        return " ".join(self._raw().split())

    def raw(self) -> str:
        """The text inside as it stands there."""
        return self._raw()

    def _raw(self) -> str:
        return "".join(x if isinstance(x, str) else x._raw() for x in self.inside)

    def every(self, tag: str = "") -> Iterator[Element]:
        """All elements inside of that kind, at any depth."""
        for child in self.inside:
            if isinstance(child, Element):
                if tag in ("", child.tag):
                    yield child
                yield from child.every(tag)

    def classes(self) -> list[str]:
        """The classes of the element."""
        return self.attributes.get("class", "").split()

    def with_class(self, name: str) -> Iterator[Element]:
        """All elements inside of that class."""
        return (element for element in self.every() if name in element.classes())

    def one(self, tag: str) -> Element:
        """The only element of that kind inside."""
        (found,) = self.every(tag)
        return found

    def by_id(self, name: str) -> Element:
        """The element of that id inside."""
        (found,) = (x for x in self.every() if x.attributes.get("id") == name)
        return found

    @property
    def value(self) -> float:
        """The exact figure behind the element."""
        return float(self.attributes["data-value"])


class _Reader(HTMLParser):
    """Builds the tree; fails where an end does not belong to what was begun last."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(element.attributes) == len(attrs), f"an attribute of {tag} twice"
        self.open[-1].inside.append(element)
        if tag not in _EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:
            return
        element = self.open.pop()
        assert element.tag == tag, f"</{tag}> where </{element.tag}> should be"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(page: str) -> Element:
    """The tree of a page; every element must be closed where it should be."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    (root,) = reader.open
    return root


@dataclass(frozen=True)
class Grid:
    """A table: the titles of its columns, the cells of its rows, those of the last one."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Element, ...], ...]
    total: tuple[Element, ...]

    def column(self, title: str, nth: int = 0) -> tuple[Element, ...]:
        """The cells below a title, the ``nth`` of that name."""
        places = [i for i, found in enumerate(self.titles) if found == title]
        return tuple(row[places[nth]] for row in self.rows)

    def values(self, title: str, nth: int = 0) -> list[float]:
        """The exact figures of a column."""
        return [cell.value for cell in self.column(title, nth)]

    def texts(self, title: str) -> list[str]:
        """What a column says."""
        return [cell.text for cell in self.column(title)]

    def last(self, title: str) -> float:
        """The exact figure of the last row."""
        return self.total[self.titles.index(title)].value


def grid(table: Element) -> Grid:
    """A table read; all rows are as wide as its head."""
    (head,) = table.one("thead").every("tr")
    titles = tuple(cell.text for cell in head.every("th"))
    rows = tuple(_cells(row) for row in table.one("tbody").every("tr"))
    total = next((_cells(row) for foot in table.every("tfoot") for row in foot.every("tr")), ())
    assert all(len(row) == len(titles) for row in (*rows, *([total] if total else [])))
    return Grid(titles, rows, total)


def _cells(row: Element) -> tuple[Element, ...]:
    return tuple(cell for cell in row.every() if cell.tag in ("td", "th"))


def captioned(page: Element, caption: str) -> Grid:
    """The table whose caption begins so."""
    (found,) = (x for x in page.every("table") if x.one("caption").text.startswith(caption))
    return grid(found)
