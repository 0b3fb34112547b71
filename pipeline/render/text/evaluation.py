"""Reports one evaluation in full: totals, latency, every operand at every level."""

from __future__ import annotations

from collections.abc import Iterator

from nestmap.model import CostModelEvaluation, SpatialProblem
from nestmap.pipeline.format.mappings import sizes_text, spatial_text
from nestmap.pipeline.format.numbers import engineering
from nestmap.pipeline.render.tables.breakdown import (
    LEVEL_COLUMNS,
    PART_COLUMNS,
    cost_parts,
    level_cells,
)
from nestmap.pipeline.render.tables.results import nest_columns, nest_rows
from nestmap.pipeline.render.tables.table import table
from nestmap.pipeline.render.text.plain_table import Line, listing, printable, table_lines


def breakdown(spatial: SpatialProblem, cme: CostModelEvaluation) -> list[Line]:
    """The whole report on one mapping of one layer."""
    return [
        *_heading(spatial),
        Line(),
        *_loop_nest(spatial, cme),
        Line(),
        *listing(table(PART_COLUMNS, cost_parts(cme))),
        Line(),
        *table_lines(table(LEVEL_COLUMNS, [level_cells(entry) for entry in cme.levels])),
    ]


def _heading(spatial: SpatialProblem) -> Iterator[Line]:
    layer = spatial.layer
    yield Line(f"{printable(layer.name)} ({printable(layer.operator)}): {layer.equation}")
    yield Line(f"{sizes_text(layer.loops)}: {engineering(layer.macs)} MACs")
    if layer.padding:
        yield Line(f"padded: {', '.join(map(str, layer.padding))}")
    yield Line(f"on {spatial.accelerator.name}: {spatial_text(spatial.spatial_mapping)}")


def _loop_nest(spatial: SpatialProblem, cme: CostModelEvaluation) -> list[Line]:
    """The loops, outermost first, and the memory that serves each operand."""
    memories = {
        operand.name: [level.name for level in spatial.problem.levels(operand.name)]
        for operand in spatial.layer.operands
    }
    return table_lines(
        table(nest_columns(list(memories)), nest_rows(cme.temporal_mapping, memories))
    )
