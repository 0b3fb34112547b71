"""The bundled mapping is a candidate where it is one of those that the user allows."""

import pytest

from nestmap.model import Dataflow, LayerConstraints, MappingProblem, UnrollingHint
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages.mapping.candidates import AllSpatialMappingsStage, suggested_problem

HINTS = (UnrollingHint(array_dimension="D1", dimensions=("K",)),)


@pytest.mark.parametrize(
    ("constraints", "is_suggested"),
    [
        (LayerConstraints(), True),
        (LayerConstraints(dataflow=Dataflow.OUTPUT_STATIONARY), True),
        (LayerConstraints(dataflow=Dataflow.ROW_STATIONARY), False),  # it unrolls no FY
        (LayerConstraints(spatial_hints=HINTS), False),
    ],
)
def test_it_is_suggested_where_it_is_allowed(
    constraints: LayerConstraints, is_suggested: bool
) -> None:
    layer = next(x for x in read_workload("light:alexnet").layers if "FY" in x.sizes)
    chip = read_accelerator("eyeriss_like")
    problem = MappingProblem(layer=layer, accelerator=chip, constraints=constraints)
    assert (suggested_problem(problem) is not None) is is_suggested
    ranked = AllSpatialMappingsStage()(problem)
    least = problem.least_unrollings
    assert all(ranked[0].spatial_mapping.factor_of(d) >= n for d, n in least.items())
