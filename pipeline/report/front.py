"""The table of a front: of each layer the mappings between which one has to choose."""

from __future__ import annotations

from nestmap.model import CostModelEvaluation, NetworkFront
from nestmap.pipeline.report.columns import Column, Line, figures, printable, table
from nestmap.pipeline.report.figures import count, cycles, energy, share
from nestmap.pipeline.report.table import spatial_text

_COLUMNS = (
    Column("Layer"),
    figures("Energy"),
    figures("Latency", "cycles"),
    figures("MAC", "util."),
    Column("Spatial"),
    Column("Temporal", "innermost first"),
)


def front_table(front: NetworkFront) -> list[Line]:
    """A row for each mapping, by rising energy; the layer's name stands in its first row."""
    cells = [
        _cells(cme, printable(layer.layer) if first else "")
        for layer in front.layers
        for first, cme in zip([True] + [False] * len(layer.cmes), layer.cmes, strict=False)
    ]
    points = sum(len(layer.cmes) for layer in front.layers)
    evaluated = sum(layer.statistics.evaluations for layer in front.layers)
    note = f"{count(points)} of {count(evaluated)} mappings evaluated."
    return [*table(_COLUMNS, cells), Line(), Line(note)]


def _cells(cme: CostModelEvaluation, name: str) -> tuple[str, ...]:
    return (
        name,
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        spatial_text(cme.spatial_mapping),
        ", ".join(str(loop) for loop in cme.temporal_mapping.order),
    )
