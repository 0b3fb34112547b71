"""The mapping bundled with an accelerator, as a candidate where the user fixes nothing."""

from __future__ import annotations

from functools import lru_cache

from nestmap.model import MappingConstraints, MappingProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.bundled import default_mapping_for
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.search import meets_constraints
from nestmap.search.spatial.dataflow import unrolls_enough
from nestmap.search.spatial.unrolling_table import UnrollingTable


def suggested_problem(problem: MappingProblem) -> MappingProblem | None:
    """The layer under the spatial mapping bundled with its accelerator.

    ``None`` where the user restricts spatial mappings, where nothing is bundled under the name of
    the accelerator, or where it does not suit the layer, the array or the dataflow. Bundled
    mappings may have factors that are not generated, so a search without constraints tries them in
    addition.
    """
    own = problem.constraints
    if own.spatial_mapping is not None or own.spatial_hints:
        return None
    mapping = _bundled(problem.accelerator.name).of(problem.layer).spatial_mapping
    if mapping is None:
        return None
    sizes, dimensions = problem.accelerator.array.sizes, problem.layer.sizes
    fits = all(x.factor <= sizes.get(x.array_dimension, 0) for x in mapping.unrollings)
    known = all(x.dimension in dimensions for u in mapping.unrollings for x in u.loops)
    if not (fits and known):
        return None
    table = UnrollingTable.of(problem, [meets_constraints(problem, mapping)])
    if not unrolls_enough(problem, table).all():
        return None
    constraints = copy_with(own, {"spatial_mapping": mapping})
    return copy_with(problem, {"constraints": constraints})


@lru_cache
def _bundled(accelerator: str) -> MappingConstraints:
    if default_mapping_for(accelerator) is None:
        return MappingConstraints()
    return read_mapping(None, for_accelerator=accelerator)
