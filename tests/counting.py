"""Problems in the reference's counting, to compare them with what the reference says."""

from __future__ import annotations

from nestmap.model import Counting, SpatialProblem
from nestmap.model.base import copy_with


def by_reference(spatial: SpatialProblem) -> SpatialProblem:
    """The same problem as the reference counts it."""
    accelerator = spatial.accelerator.counted(Counting.REFERENCE)
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"accelerator": accelerator})})
