"""The keys under which a store knows searches and evaluations: hashes of all that decides them."""

from __future__ import annotations

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import (
    Accelerator,
    Frozen,
    Layer,
    LayerConstraints,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    TopLevel,
)
from nestmap.model.base import replaced
from nestmap.pipeline.stages import LomaStage, SalsaStage
from nestmap.search.version import VERSION as SEARCH_VERSION


class SearchContent(Frozen, frozen=True):
    """All that decides what a search finds: no names of layers, nothing about threads."""

    layer: Layer
    accelerator: Accelerator
    constraints: LayerConstraints
    top_levels: tuple[TopLevel, ...]
    spatial_mapping: SpatialMapping
    search: str
    cost_model_version: int = 0
    search_version: int = 0


class EvaluationContent(Frozen, frozen=True):
    """All that decides what a mapping costs."""

    layer: Layer
    accelerator: Accelerator
    constraints: LayerConstraints
    top_levels: tuple[TopLevel, ...]
    spatial_mapping: SpatialMapping
    temporal_mapping: TemporalMapping
    cost_model_version: int = 0


def search_options(search: LomaStage | SalsaStage) -> str:
    """The options of a search as JSON, without those that change nothing but the time it takes."""
    stage = replaced(search, {"workers": 1})
    options = stage.model_dump_json(exclude={"workers"})
    return f'{{"stage": "{type(search).__name__}", "options": {options}}}'


def search_key(spatial: SpatialProblem, options: str) -> str:
    """The key of a search; ``options`` are those of :func:`search_options`."""
    layer, accelerator, constraints, top_levels = spatial.problem.content
    content = SearchContent(
        layer=layer,
        accelerator=accelerator,
        constraints=constraints,
        top_levels=top_levels,
        spatial_mapping=spatial.spatial_mapping,
        search=options,
        cost_model_version=COST_MODEL_VERSION,
        search_version=SEARCH_VERSION,
    )
    return content.content_hash


def evaluation_key(spatial: SpatialProblem, mapping: TemporalMapping) -> str:
    """The key of what a mapping costs."""
    layer, accelerator, constraints, top_levels = spatial.problem.content
    content = EvaluationContent(
        layer=layer,
        accelerator=accelerator,
        constraints=constraints,
        top_levels=top_levels,
        spatial_mapping=spatial.spatial_mapping,
        temporal_mapping=mapping,
        cost_model_version=COST_MODEL_VERSION,
    )
    return content.content_hash
