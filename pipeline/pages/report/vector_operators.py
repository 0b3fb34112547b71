"""Tables of the vector operators: by type, and individually."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import NetworkEvaluation, VectorEvaluation
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.columns import Column, number_column
from nestmap.pipeline.render.tables.table import Cell, Row, Table, table

_FIGURES: Final = (
    number_column("Operations"),
    number_column("Read"),
    number_column("Written"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
)


def operator_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each type of operator, and the sum."""
    by_type: dict[str, list[VectorEvaluation]] = {}
    for entry in evaluation.vector:
        by_type.setdefault(entry.operator, []).append(entry)
    rows = [
        Row((Cell(name), cells.count(len(by_type[name])), *_figures(by_type[name])))
        for name in sorted(by_type)
    ]
    whole = (Cell("all"), cells.count(len(evaluation.vector)), *_figures(evaluation.vector))
    where = "counted" if evaluation.vector_counted else "not counted"
    return Table(
        f"Vector operators by type, {where} in the totals",
        (Column("Operator"), number_column("Nodes"), *_FIGURES),
        tuple(rows),
        Row(whole),
    )


def node_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each operator."""
    rows = [
        (Cell(entry.node), Cell(entry.operator), *_figures([entry])) for entry in evaluation.vector
    ]
    return table(
        (Column("Node"), Column("Operator"), *_FIGURES), rows, caption="All vector operators"
    )


def _figures(entries: Sequence[VectorEvaluation]) -> tuple[Cell, ...]:
    return (
        cells.engineering(sum(entry.operations for entry in entries)),
        cells.capacity(sum(entry.bits_read for entry in entries)),
        cells.capacity(sum(entry.bits_written for entry in entries)),
        cells.energy(sum((entry.energy for entry in entries), 0.0)),
        cells.cycles(sum(entry.latency for entry in entries)),
    )
