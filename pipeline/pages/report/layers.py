"""The sortable and filterable table of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from nestmap.model import LayerResult, NetworkEvaluation
from nestmap.pipeline.format import numbers
from nestmap.pipeline.format.mappings import sizes_text, spatial_text
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.pages.report.links import Links
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.pages.report.summary import EDP_UNIT, binding_port, edp
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.columns import Column, number_column
from nestmap.pipeline.render.tables.results import GAP_HINT, total_name
from nestmap.pipeline.render.tables.table import Cell, Row, Table

_HEADINGS: Final = (
    number_column("#", hint="position in the network"),
    Column("Layer"),
    number_column("Energy"),
    number_column("Share"),
    number_column("Latency", "cycles"),
    number_column("Share"),
    number_column("MAC util.", hint="ideal cycles over latency"),
    number_column("EDP", EDP_UNIT, hint="energy-delay product of the layer"),
    number_column("MACs"),
    Column("Waits for", hint="memory and port that make the array wait longest"),
    Column("Operator"),
    Column("Dimensions"),
    Column("Spatial mapping", hint="array dimension: loops unrolled over it"),
    number_column("Mappings", "evaluated"),
    number_column("Gap", "at most", hint=GAP_HINT),
    Column("Same as", hint="an earlier layer with the same content, mapping and cost"),
)


_FIGURES: Final = 7
"""The columns from the energy to the multiply-accumulates."""


def layer_table(run: ReportedRun, links: Links) -> Table:
    """A row for each layer, and the total; the second cell names it."""
    sizes = {layer.name: sizes_text(layer.loops) for layer in run.network.workload.layers}
    total = run.evaluation
    energy = _Shares(total.energy, max(x.cme.energy for x in total.layers), SERIES)
    latency = _Shares(total.latency, max(x.cme.latency for x in total.layers), SERIES)
    rows = [
        Row(
            (
                cells.count(position),
                Cell(result.cme.layer, link=links.layer(run, result.cme.layer)),
                *_figures(result, energy, latency),
                *cells.texts(result.cme.operator, sizes[result.cme.layer]),
                Cell(spatial_text(result.cme.spatial_mapping)),
                cells.count(result.statistics.evaluations),
                cells.gap(result.gap),
                Cell(result.repeats or ""),
            ),
            group=result.cme.operator,
            repeats=result.repeats is not None,
        )
        for position, result in enumerate(total.layers, start=1)
    ]
    rows += _infeasible_rows(total, sizes)
    vector = _vector_row(total, energy, latency)
    return Table(f"Layers of {run.title}", _HEADINGS, (*rows, *vector), Row(_total(total)), head=1)


def _infeasible_rows(total: NetworkEvaluation, sizes: Mapping[str, str]) -> list[Row]:
    """The rows of the layers without a mapping."""
    blank, none = Cell(""), Cell(cells.NONE)
    return [
        Row(
            (
                cells.count(position),
                Cell(entry.layer),
                *(none,) * (_FIGURES + 1),
                *cells.texts(entry.operator, sizes[entry.layer], "no mapping fits"),
                *(blank, blank, Cell(entry.repeats or "")),
            ),
            group=entry.operator,
            repeats=entry.repeats is not None,
        )
        for position, entry in enumerate(total.infeasible, start=len(total.layers) + 1)
    ]


class _Shares(NamedTuple):
    """The total for shares; the largest share has the longest bar."""

    total: float
    largest: float
    color: str

    def of(self, part: float) -> Cell:
        """A share with its bar."""
        if not self.total:
            return Cell(cells.NONE)
        bar = cells.bar(0.0, min(part, self.largest), self.largest, self.color).bar
        return Cell(numbers.share(part / self.total), repr(part / self.total), bar=bar)


def _figures(result: LayerResult, energy: _Shares, latency: _Shares) -> tuple[Cell, ...]:
    cme = result.cme
    return (
        cells.energy(cme.energy),
        energy.of(cme.energy),
        cells.cycles(cme.latency),
        latency.of(cme.latency),
        cells.share(cme.utilization),
        edp(cme.energy * cme.latency),
        cells.engineering(cme.macs),
        Cell(binding_port(cme) or cells.NONE),
    )


def _vector_row(total: NetworkEvaluation, energy: _Shares, latency: _Shares) -> tuple[Row, ...]:
    """The row of all vector operators, if they count."""
    if not (total.vector and total.vector_counted):
        return ()
    found = (
        cells.count(len(total.layers) + len(total.infeasible) + 1),
        Cell("vector operators"),
        cells.energy(total.vector_energy),
        energy.of(total.vector_energy),
        cells.cycles(total.vector_latency),
        latency.of(total.vector_latency),
    )
    blank = (Cell(""),) * (len(_HEADINGS) - len(found))
    return (Row((*found, *blank), group="vector"),)


def _total(total: NetworkEvaluation) -> tuple[Cell, ...]:
    blank = Cell("")
    return (
        cells.count(len(total.layers) + len(total.infeasible)),
        Cell(total_name(total)),
        cells.energy(total.energy),
        cells.share(total.energy, total.energy),
        cells.cycles(total.latency),
        cells.share(total.latency, total.latency),
        cells.share(total.utilization),
        edp(total.edp),
        cells.engineering(total.macs),
        *(blank,) * 4,
        cells.count(total.evaluations),
        cells.gap(total.gap),
        blank,
    )
