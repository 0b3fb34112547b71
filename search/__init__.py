"""Which mappings to try."""

from nestmap.search.best import best_first as best_first
from nestmap.search.best import best_of as best_of
from nestmap.search.best import k_best as k_best
from nestmap.search.loma import loma as loma
from nestmap.search.pareto import pareto_front as pareto_front
from nestmap.search.shortlist import Shortlist as Shortlist
from nestmap.search.spatial import conform as conform
from nestmap.search.spatial import spatial_mappings as spatial_mappings
