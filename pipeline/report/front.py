"""The table of a front: of each layer the mappings between which one has to choose."""

from __future__ import annotations

from collections import Counter

from nestmap.model import CostModelEvaluation, NetworkFront
from nestmap.pipeline.report.columns import Column, Line, figures, printable, table
from nestmap.pipeline.report.figures import count, cycles, energy, share
from nestmap.pipeline.report.table import spatial_text

_NAME = Column("Layer")
_TIMES = figures("Times")
_COLUMNS = (
    figures("Energy"),
    figures("Latency", "cycles"),
    figures("MAC", "util."),
    Column("Spatial"),
    Column("Temporal", "innermost first"),
)


def front_table(front: NetworkFront) -> list[Line]:
    """A row for each mapping, by rising energy; the layer's name stands in its first row.

    Layers that repeat an earlier one share its rows: there is a column that counts them then.
    """
    times = Counter(layer.repeats or layer.layer for layer in front.layers)
    fronts = [layer for layer in front.layers if layer.repeats is None]
    repeated = len(fronts) < len(front.layers)
    cells: list[tuple[str, ...]] = []
    for layer in fronts:
        names: tuple[str, ...] = (printable(layer.layer),)
        if repeated:
            names = (*names, count(times[layer.layer]))
        for cme in layer.cmes:
            cells.append((*names, *_cells(cme)))
            names = ("",) * len(names)
    columns = (_NAME, _TIMES, *_COLUMNS) if repeated else (_NAME, *_COLUMNS)
    points = sum(len(layer.cmes) for layer in fronts)
    evaluated = sum(layer.statistics.evaluations for layer in fronts)
    note = f"{count(points)} of {count(evaluated)} mappings evaluated."
    return [*table(columns, cells), Line(), Line(note)]


def _cells(cme: CostModelEvaluation) -> tuple[str, ...]:
    return (
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        spatial_text(cme.spatial_mapping),
        ", ".join(str(loop) for loop in cme.temporal_mapping.order),
    )
