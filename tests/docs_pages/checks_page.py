"""The table of checks in docs/errors.md; ``python -m tests.docs_pages.checks_page`` writes it."""

from __future__ import annotations

from typing import Final

from tests.docs_pages.page import DOCS
from tests.faults.checks import CHECKS, FILES

PAGE: Final = DOCS / "errors.md"
BEGIN: Final = "<!-- the tables are written by tests/docs_pages/checks_page.py -->\n"
END: Final = "<!-- end of the tables -->\n"


def tables() -> str:
    """A table for each kind of file: what it may say, and whether that is an error."""
    return "\n".join(_table(file) for file in FILES)


def _table(file: str) -> str:
    rows = (f"| {check.says} | {check.outcome} |\n" for check in CHECKS if check.file == file)
    return f"| {file.capitalize()} with | Result |\n| --- | --- |\n{''.join(rows)}"


def drawn_tables() -> str:
    """The tables as the page has them."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    """Brings the page up to date."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(head + begin + tables() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
