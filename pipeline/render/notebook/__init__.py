"""Notebook views of models: small HTML tables without scripts."""

from nestmap.pipeline.render.notebook.markup import MOST_ROWS as MOST_ROWS
from nestmap.pipeline.render.notebook.markup import Cell as Cell
from nestmap.pipeline.render.notebook.markup import collapsible as collapsible
from nestmap.pipeline.render.notebook.markup import container as container
from nestmap.pipeline.render.notebook.markup import cut_note as cut_note
from nestmap.pipeline.render.notebook.markup import paragraph as paragraph
from nestmap.pipeline.render.notebook.markup import preformatted as preformatted
from nestmap.pipeline.render.notebook.markup import table as table
from nestmap.pipeline.render.notebook.markup import text as text
