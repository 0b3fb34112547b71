"""LOMA over three spatial mappings, ZigZag's search, whatever the default search is."""

from typing import Final, Unpack

from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import LomaStage, SpatialMappingGeneratorStage

LOMA: Final = SearchOptions(search="loma", spatial_mappings=3)
"""The options that ask for it; :func:`with_loma` adds others."""


def with_loma(**others: Unpack[SearchOptions]) -> SearchOptions:
    """The options that ask for LOMA, and others, which override them."""
    return {**LOMA, **others}


LOMA_PLAN: Final = SearchPlan(
    search=LomaStage(), spatial=SpatialMappingGeneratorStage(max_mappings=3)
)
"""The plan, with one worker."""
