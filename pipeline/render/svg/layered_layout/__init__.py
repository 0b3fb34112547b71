"""Lays out an acyclic graph in layers."""

from nestmap.pipeline.render.svg.layered_layout.layout import Box as Box
from nestmap.pipeline.render.svg.layered_layout.layout import Layout as Layout
from nestmap.pipeline.render.svg.layered_layout.layout import Point as Point
from nestmap.pipeline.render.svg.layered_layout.layout import layered as layered
