"""Keys of searches and evaluations in a store: hashes of everything that determines the result."""

import hashlib
import json

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import Accelerator, MappingProblem, SpatialProblem, TemporalMapping
from nestmap.search.version import VERSION as SEARCH_VERSION

Part = str | int | list[str]
"""A component of a key: the content hash of one or several models, a text, or a version."""


def search_key(spatial: SpatialProblem, options: str) -> str:
    """The key of a search; ``options`` are those of the search as JSON.

    It depends neither on names of layers nor on the number of threads.
    """
    versions: list[Part] = [COST_MODEL_VERSION, SEARCH_VERSION]
    reserved = [x.content_hash for x in spatial.problem.reserved]
    return key_of(["search", *_problem(spatial), reserved, options, *versions])


def exploration_method(accelerator: Accelerator, options: str) -> str:
    """The key of a way of exploring layers; ``options`` are those of the exploration as JSON."""
    versions: list[Part] = [COST_MODEL_VERSION, SEARCH_VERSION]
    return key_of(["exploration", accelerator.content_hash, options, *versions])


def layer_key(problem: MappingProblem) -> str:
    """The key of a layer under its constraints, whatever the accelerator."""
    layer, _, constraints, _, reserved = problem.content
    return key_of(
        ["layer", layer.content_hash, constraints.content_hash, [x.content_hash for x in reserved]]
    )


def evaluation_key(spatial: SpatialProblem, mapping: TemporalMapping) -> str:
    """The key of the evaluation of a mapping."""
    return key_of(["evaluation", *_problem(spatial), mapping.content_hash, COST_MODEL_VERSION])


def _problem(spatial: SpatialProblem) -> list[Part]:
    """The content hashes of layer, accelerator and mapping; each model is hashed once."""
    layer, accelerator, constraints, _, _ = spatial.problem.content
    return [
        layer.content_hash,
        accelerator.content_hash,
        constraints.content_hash,
        spatial.spatial_mapping.content_hash,
    ]


def key_of(parts: list[Part]) -> str:
    """32 hex digits that identify the parts; JSON distinguishes lists from texts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
