"""Shows the first rows of a query result."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.render.notebook.markup import MOST_ROWS, paragraph, table
from nestmap.pipeline.render.tables.columns import Align, Column
from nestmap.store.read.relation import Relation, cell_text, is_number

_WIDEST: Final = 80
"""The maximum number of characters in a cell."""


def relation_html(relation: Relation) -> str:
    """The first rows."""
    if not relation.columns:
        return paragraph("No columns.")
    sides = (Align.RIGHT if is_number(x.type) else Align.LEFT for x in relation.table.columns)
    pairs = zip(relation.columns, sides, strict=True)
    columns = [Column(name, align=side) for name, side in pairs]
    head = Relation(relation.table.slice(0, MOST_ROWS))
    rows = ([cell_text(x, _WIDEST) for x in row.values()] for row in head)
    return table(relation.size_text(MOST_ROWS), columns, rows)
