"""The layout of an acyclic graph on a page."""

from nestmap.pipeline.render.svg.layered_layout.layout import Box as Box
from nestmap.pipeline.render.svg.layered_layout.layout import Layout as Layout
from nestmap.pipeline.render.svg.layered_layout.layout import Point as Point
from nestmap.pipeline.render.svg.layered_layout.layout import layered as layered
