"""LOMA over three spatial mappings, ZigZag's search, whatever the default search is."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import LomaStage, SpatialMappingGeneratorStage

LOMA: Final = SearchOptions(search="loma", spatial_mappings=3)
"""The options that ask for it; ``dataclasses.replace`` adds others."""

LOMA_PLAN: Final = SearchPlan(
    search=LomaStage(), spatial=SpatialMappingGeneratorStage(max_mappings=3)
)
"""The plan, with one worker."""
