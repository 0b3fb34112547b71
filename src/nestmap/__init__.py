"""nestmap: how to map every layer of a network onto an accelerator, and what that costs.

``explore`` searches a whole network, ``evaluate`` costs one mapping. The domain model is in
:mod:`nestmap.model`, the stage graph in :mod:`nestmap.pipeline`, past results in
:mod:`nestmap.store`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestmap.pipeline.api import Exploration as Exploration
    from nestmap.pipeline.api import evaluate as evaluate
    from nestmap.pipeline.api import explore as explore

__all__ = ["Exploration", "evaluate", "explore"]


def __getattr__(name: str) -> object:
    """The facade, imported when it is first used: ``nestmap --help`` needs none of it."""
    if name in __all__:
        return getattr(import_module("nestmap.pipeline.api"), name)
    raise AttributeError(f"module 'nestmap' has no attribute {name!r}")
