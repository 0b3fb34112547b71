"""The lower bounds that every search for temporal mappings reports with its result."""

from __future__ import annotations

from dataclasses import replace

from nestmap.model import CostBounds, MappingBatch, SearchStatistics, SpatialProblem
from nestmap.search.spatial.lower_bounds import lower_bounds


def temporal_bounds(spatial: SpatialProblem) -> CostBounds:
    """Lower bounds over all temporal mappings of the problem: every order, every allocation.

    The space of each search is a part of these, so the bounds hold for all of them.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    return lower_bounds(spatial)


def with_bounds(batch: MappingBatch) -> MappingBatch:
    """The last batch of a search, with the bounds of its problem."""
    bounds = SearchStatistics(bounds=temporal_bounds(batch.problem))
    return replace(batch, statistics=batch.statistics + bounds)
