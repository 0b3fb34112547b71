"""The keys under which a store knows searches and evaluations: hashes of all that decides them."""

from __future__ import annotations

import hashlib
import json

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import SpatialProblem, TemporalMapping
from nestmap.pipeline.stages import LomaStage, SalsaStage
from nestmap.search.version import VERSION as SEARCH_VERSION

Part = str | int | list[str]
"""What decides something: the content hash of a model, or of several, a text, a version."""


def search_options(search: LomaStage | SalsaStage) -> str:
    """The options of a search as JSON, without those that change nothing but the time it takes."""
    options = search.model_dump_json(exclude={"workers"})
    return f'{{"stage": "{type(search).__name__}", "options": {options}}}'


def search_key(spatial: SpatialProblem, options: str) -> str:
    """The key of a search; ``options`` are those of :func:`search_options`.

    Names of layers are no part of it, nor is anything about threads.
    """
    versions: list[Part] = [COST_MODEL_VERSION, SEARCH_VERSION]
    return _key(["search", *_problem(spatial), options, *versions])


def evaluation_key(spatial: SpatialProblem, mapping: TemporalMapping) -> str:
    """The key of what a mapping costs."""
    return _key(["evaluation", *_problem(spatial), mapping.content_hash, COST_MODEL_VERSION])


def _problem(spatial: SpatialProblem) -> list[Part]:
    """What is mapped where, by content: the models themselves are hashed once each."""
    layer, accelerator, constraints, top_levels = spatial.problem.content
    return [
        layer.content_hash,
        accelerator.content_hash,
        constraints.content_hash,
        [level.content_hash for level in top_levels],
        spatial.spatial_mapping.content_hash,
    ]


def _key(parts: list[Part]) -> str:
    """32 hex digits, different for different parts: JSON keeps lists and texts apart."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
