"""How models show themselves in notebooks: small tables of HTML that need nothing else."""

from nestmap.model.html.markup import MOST_ROWS as MOST_ROWS
from nestmap.model.html.markup import Cell as Cell
from nestmap.model.html.markup import cut_note as cut_note
from nestmap.model.html.markup import folding as folding
from nestmap.model.html.markup import paragraph as paragraph
from nestmap.model.html.markup import plain as plain
from nestmap.model.html.markup import table as table
from nestmap.model.html.markup import text as text
from nestmap.model.html.markup import together as together
