"""Tables of Pareto fronts: the non-dominated mappings of each layer."""

from __future__ import annotations

from collections import Counter

from nestmap.model import NetworkFront
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.tables.columns import Column
from nestmap.pipeline.render.tables.results import MAPPING_COLUMNS, TIMES, mapping_cells
from nestmap.pipeline.render.tables.table import table
from nestmap.pipeline.render.text.gap import front_gap_note
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines

_NAME = Column("Layer")


def front_table(front: NetworkFront) -> list[Line]:
    """A row for each mapping, by rising energy; the first row has the layer's name.

    Layers that repeat an earlier one share its rows; a column then counts them.
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
            cells.append((*names, *mapping_cells(cme)))
            names = ("",) * len(names)
    columns = (_NAME, TIMES, *MAPPING_COLUMNS) if repeated else (_NAME, *MAPPING_COLUMNS)
    points = sum(len(layer.cmes) for layer in fronts)
    evaluated = sum(layer.statistics.evaluations for layer in fronts)
    note = f"{count(points)} of {count(evaluated)} mappings evaluated."
    notes = [note, front_gap_note(front.layers)]
    return [*table_lines(table(columns, cells)), Line(), *map(Line, filter(None, notes))]
