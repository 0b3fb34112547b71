"""Problems in the reference's counting, to compare them with what the reference says."""

from nestmap.model import Counting, SpatialProblem
from tests.properties.variants import with_accelerator


def by_reference(spatial: SpatialProblem) -> SpatialProblem:
    """The same problem as the reference counts it."""
    return with_accelerator(spatial, spatial.accelerator.counted(Counting.REFERENCE))
