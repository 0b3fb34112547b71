"""``python -m benchmarks.silicon`` prints model against chip; ``--write`` also into the docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from benchmarks.silicon.eyeriss import modelled
from benchmarks.silicon.figure import eyeriss_figure
from benchmarks.silicon.measured import NETWORKS, Network
from benchmarks.silicon.table import eyeriss_tables
from nestmap.pipeline.render.figures import save

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "silicon.md"
END: Final = "<!-- end -->"


def begin(network: Network) -> str:
    """What stands before the tables of a network in the document."""
    return f"<!-- python -m benchmarks.silicon --write: {network.title} -->"


def figure_of(network: Network) -> Path:
    """The figure of a network."""
    return DOCUMENT.parent / "images" / f"silicon-eyeriss-{Path(network.workload).stem}.svg"


def main() -> None:
    """Prints the tables, or writes them into the document, with the figures beside them."""
    for network in NETWORKS:
        found = modelled(network)
        tables = eyeriss_tables(network.layers, found)
        if "--write" not in sys.argv:
            print(tables)
            continue
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(begin(network))
        _, end, after = rest.partition(END)
        text = f"{before}{begin(network)}\n{tables}\n{end}{after}"
        DOCUMENT.write_text(text, encoding="utf-8")
        save(eyeriss_figure(network, found), figure_of(network))


if __name__ == "__main__":
    main()
