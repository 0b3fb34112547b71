"""``python -m benchmarks.silicon`` prints model against chip; ``--write`` also into the docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from benchmarks.silicon.eyeriss import MEASURED, modelled
from benchmarks.silicon.figure import eyeriss_figure
from benchmarks.silicon.table import eyeriss_table
from nestmap.pipeline.render.figures import save

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "silicon.md"
FIGURE: Final = DOCUMENT.parent / "images" / "silicon-eyeriss.svg"
BEGIN: Final = "<!-- python -m benchmarks.silicon --write -->"
END: Final = "<!-- end -->"


def main() -> None:
    """Prints the table, or writes it into the document, with the figure beside it."""
    found = modelled()
    table = eyeriss_table(MEASURED, found)
    if "--write" not in sys.argv:
        print(table)
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    save(eyeriss_figure(MEASURED, found), FIGURE)


if __name__ == "__main__":
    main()
