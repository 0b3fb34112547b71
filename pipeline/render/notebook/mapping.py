"""Shows spatial and temporal mappings as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nestmap.model.dims import LayerOperand
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.pipeline.format.mappings import unrolled_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.notebook.markup import table
from nestmap.pipeline.render.tables.columns import Column, number_column
from nestmap.pipeline.render.tables.results import nest_columns, nest_rows

_UNROLLINGS: Final = (Column("Array dimension"), Column("Loops"), number_column("Units used"))


def spatial_html(mapping: SpatialMapping) -> str:
    """A row for each dimension of the array."""
    rows = [(x.array_dimension, unrolled_text(x), count(x.factor)) for x in mapping.unrollings]
    return table("Spatial mapping", _UNROLLINGS, rows)


def temporal_html(mapping: TemporalMapping) -> str:
    """The loop nest; memories are numbered, since a mapping does not name them."""
    return nest_html(mapping, level_names(mapping))


def level_names(mapping: TemporalMapping) -> dict[LayerOperand, list[str]]:
    """Placeholder names for the memories of each operand."""
    levels = {cuts.operand: len(cuts.positions) for cuts in mapping.cuts}
    return {operand: [f"level {n}" for n in range(top)] for operand, top in levels.items()}


def nest_html(mapping: TemporalMapping, memories: Mapping[LayerOperand, Sequence[str]]) -> str:
    """The loop nest; ``memories`` are those of each operand, innermost first."""
    caption = f"Temporal mapping, the outermost loop first: {count(mapping.cycles)} iterations"
    return table(caption, nest_columns(list(memories)), nest_rows(mapping, memories))
