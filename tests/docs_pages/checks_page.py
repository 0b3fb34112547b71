"""The table of checks in docs/errors.md; ``python -m tests.docs_pages.checks_page`` writes it."""

from collections.abc import Iterable
from typing import Final

from tests.docs_pages.page import DOCS
from tests.faults.checks import CHECKS, FILES, Outcome
from tests.faults.test_inconsistent_onnx import ATTRIBUTES, GOOD, MISFITS, STATEMENTS

PAGE: Final = DOCS / "errors.md"
BEGIN: Final = "<!-- the tables are written by tests/docs_pages/checks_page.py -->\n"
END: Final = "<!-- end of the tables -->\n"


_ONNX: Final = (
    *((f"a false statement: {case}", Outcome.ERROR) for case in STATEMENTS),
    *((f"tensors that do not fit: {case}", Outcome.ERROR) for case in MISFITS),
    *((f"an attribute that is {case}", Outcome.ERROR) for case in ATTRIBUTES),
    *((case, Outcome.ACCEPTED) for case in GOOD),
)


def tables() -> str:
    """A table for each kind of file: what it may say, and whether that is an error."""
    given = {file: [(x.says, x.outcome) for x in CHECKS if x.file == file] for file in FILES}
    return "\n".join(_table(file, rows) for file, rows in (given | {"ONNX model": _ONNX}).items())


def _table(file: str, rows: Iterable[tuple[str, Outcome]]) -> str:
    lines = (f"| {says} | {outcome} |\n" for says, outcome in rows)
    return f"| {file[0].upper()}{file[1:]} with | Result |\n| --- | --- |\n{''.join(lines)}"


def drawn_tables() -> str:
    """The tables as the page has them."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    """Brings the page up to date."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(head + begin + tables() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
