"""``python -m benchmarks.silicon`` prints model against chip; ``--write`` also into the docs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.silicon import several_cores, tpu
from benchmarks.silicon.eyeriss import modelled
from benchmarks.silicon.figure import cores_charts, eyeriss_charts, tpu_charts
from benchmarks.silicon.measured import NETWORKS
from benchmarks.silicon.table import eyeriss_tables
from nestmap.pipeline.render.charts import Chart

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "silicon.md"
END: Final = "<!-- end -->"


class Comparison(NamedTuple):
    """The tables and the charts of what ran on a chip, and where they stand in the docs."""

    title: str
    tables: str
    charts: tuple[Chart, ...]
    pictures: str

    @property
    def begin(self) -> str:
        """What stands before the tables in the document."""
        return f"<!-- python -m benchmarks.silicon --write: {self.title} -->"

    def files(self, folder: Path) -> list[Path]:
        """The files of the charts in a folder."""
        return [folder / f"silicon-{self.pictures}-{chart.name}.svg" for chart in self.charts]


def comparisons() -> Iterator[Comparison]:
    """All comparisons, in the order of the document."""
    for network in NETWORKS:
        found = modelled(network)
        tables, charts = eyeriss_tables(network.layers, found), eyeriss_charts(network, found)
        yield Comparison(network.title, tables, charts, f"eyeriss-{Path(network.workload).stem}")
    rates = tpu.modelled()
    yield Comparison("TPU v1", tpu.tpu_table(rates), tpu_charts(rates), "tpu")
    chips = several_cores.modelled()
    tables = several_cores.cores_table(chips)
    yield Comparison("several cores", tables, cores_charts(chips), "several-cores")


def main() -> None:
    """Prints the tables, or writes them into the document, with the charts beside them."""
    for each in comparisons():
        if "--write" not in sys.argv:
            print(each.tables)
            continue
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(each.begin)
        _, end, after = rest.partition(END)
        text = f"{before}{each.begin}\n{each.tables}\n{end}{after}"
        DOCUMENT.write_text(text, encoding="utf-8")
        for chart, picture in zip(each.charts, each.files(DOCUMENT.parent / "images"), strict=True):
            chart.save(picture)


if __name__ == "__main__":
    main()
