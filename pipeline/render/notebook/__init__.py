"""Notebook views of models: small HTML tables without scripts."""

from nestmap.pipeline.render.notebook.markup import MOST_ROWS as MOST_ROWS
from nestmap.pipeline.render.notebook.markup import Cell as Cell
from nestmap.pipeline.render.notebook.markup import cut_note as cut_note
from nestmap.pipeline.render.notebook.markup import folding as folding
from nestmap.pipeline.render.notebook.markup import paragraph as paragraph
from nestmap.pipeline.render.notebook.markup import plain as plain
from nestmap.pipeline.render.notebook.markup import table as table
from nestmap.pipeline.render.notebook.markup import text as text
from nestmap.pipeline.render.notebook.markup import together as together
