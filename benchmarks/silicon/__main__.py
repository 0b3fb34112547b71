"""``python -m benchmarks.silicon`` prints model against chip; ``--write`` also into the docs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from matplotlib.figure import Figure

from benchmarks.silicon import several_cores, tpu
from benchmarks.silicon.eyeriss import modelled
from benchmarks.silicon.figure import cores_figure, eyeriss_figure, tpu_figure
from benchmarks.silicon.measured import NETWORKS
from benchmarks.silicon.table import eyeriss_tables
from nestmap.pipeline.render.figures import save

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "silicon.md"
END: Final = "<!-- end -->"


class Comparison(NamedTuple):
    """The tables and the figure of what ran on a chip, and where they stand in the docs."""

    title: str
    tables: str
    figure: Figure
    picture: Path

    @property
    def begin(self) -> str:
        """What stands before the tables in the document."""
        return f"<!-- python -m benchmarks.silicon --write: {self.title} -->"


def comparisons() -> Iterator[Comparison]:
    """All comparisons, in the order of the document."""
    images = DOCUMENT.parent / "images"
    for network in NETWORKS:
        found = modelled(network)
        tables, figure = eyeriss_tables(network.layers, found), eyeriss_figure(network, found)
        picture = images / f"silicon-eyeriss-{Path(network.workload).stem}.svg"
        yield Comparison(network.title, tables, figure, picture)
    rates = tpu.modelled()
    picture = images / "silicon-tpu.svg"
    yield Comparison("TPU v1", tpu.tpu_table(rates), tpu_figure(rates), picture)
    chips = several_cores.modelled()
    picture = images / "silicon-several-cores.svg"
    yield Comparison(
        "several cores", several_cores.cores_table(chips), cores_figure(chips), picture
    )


def main() -> None:
    """Prints the tables, or writes them into the document, with the figures beside them."""
    for each in comparisons():
        if "--write" not in sys.argv:
            print(each.tables)
            continue
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(each.begin)
        _, end, after = rest.partition(END)
        text = f"{before}{each.begin}\n{each.tables}\n{end}{after}"
        DOCUMENT.write_text(text, encoding="utf-8")
        save(each.figure, each.picture)


if __name__ == "__main__":
    main()
