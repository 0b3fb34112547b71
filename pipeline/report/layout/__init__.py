"""The layout of an acyclic graph on a page."""

from nestmap.pipeline.report.layout.page import Box as Box
from nestmap.pipeline.report.layout.page import Layout as Layout
from nestmap.pipeline.report.layout.page import Point as Point
from nestmap.pipeline.report.layout.page import layered as layered
