"""Which mappings to try."""

from nestmap.search.best import best_of as best_of
from nestmap.search.loma import loma as loma
from nestmap.search.spatial import conform as conform
from nestmap.search.spatial import fullest as fullest
