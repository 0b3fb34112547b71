"""Searches the mappings of layers: spatial and temporal searches, selection, several cores."""

from nestmap.search.select.best import best_first as best_first
from nestmap.search.select.best import best_of as best_of
from nestmap.search.select.best import k_best as k_best
from nestmap.search.select.shortlist import Shortlist as Shortlist
from nestmap.search.select.within_limit import Points as Points
from nestmap.search.select.within_limit import Selection as Selection
from nestmap.search.select.within_limit import pareto_front as pareto_front
from nestmap.search.select.within_limit import select_within as select_within
from nestmap.search.spatial.candidates import meets_constraints as meets_constraints
from nestmap.search.spatial.candidates import spatial_mappings as spatial_mappings
from nestmap.search.temporal.loma import loma as loma
