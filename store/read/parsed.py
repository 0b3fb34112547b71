"""Models from the JSON of the store; a text that is read again and again is parsed once."""

from __future__ import annotations

from functools import lru_cache

from nestmap.model import Accelerator, Workload


@lru_cache(maxsize=16)
def parsed_accelerator(json: str) -> Accelerator:
    """The accelerator; the searches of a run have the same one."""
    return Accelerator.model_validate_json(json)


@lru_cache(maxsize=4)
def parsed_workload(json: str) -> Workload:
    """The workload; reports read it once for each layer."""
    return Workload.model_validate_json(json)
