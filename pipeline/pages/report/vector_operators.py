"""Tables of the vector operators: by type, and each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import NetworkEvaluation, VectorEvaluation
from nestmap.pipeline.pages.report import table_cells as cells
from nestmap.pipeline.pages.report.table_cells import Cell, Heading, Row, Table, words

_FIGURES: Final = (
    Heading("Operations"),
    Heading("Read"),
    Heading("Written"),
    Heading("Energy"),
    Heading("Latency", "cycles"),
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
        (words("Operator"), Heading("Nodes"), *_FIGURES),
        tuple(rows),
        Row(whole),
    )


def node_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each operator."""
    rows = [
        (Cell(entry.node), Cell(entry.operator), *_figures([entry])) for entry in evaluation.vector
    ]
    return cells.table("All vector operators", (words("Node"), words("Operator"), *_FIGURES), rows)


def _figures(entries: Sequence[VectorEvaluation]) -> tuple[Cell, ...]:
    return (
        cells.engineering(sum(entry.operations for entry in entries)),
        cells.capacity(sum(entry.bits_read for entry in entries)),
        cells.capacity(sum(entry.bits_written for entry in entries)),
        cells.energy(sum((entry.energy for entry in entries), 0.0)),
        cells.cycles(sum(entry.latency for entry in entries)),
    )
