"""Models come back from their JSON form as they were."""

from hypothesis import given, settings

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Frozen,
    Layer,
    LayerConstraints,
    MappingBatch,
    MappingConstraints,
    NoCostNode,
    OperandLink,
    OrderedLoop,
    SpatialProblem,
    TemporalMapping,
    UnrollingHint,
    Workload,
)
from tests.model.builders import convolution, fully_connected
from tests.strategies import Case, accelerators, evaluated_cases, layers
from tests.sweeps import some_of

SOME = settings(max_examples=some_of(50), deadline=None)


def returns(model: Frozen) -> bool:
    again = type(model).model_validate_json(model.model_dump_json())
    return again == model and again.content_hash == model.content_hash


@SOME
@given(layers())
def test_layers(layer: Layer) -> None:
    assert returns(layer)


@SOME
@given(accelerators())
def test_accelerators(accelerator: Accelerator) -> None:
    assert returns(accelerator)


@SOME
@given(evaluated_cases(most_macs=4096))
def test_problems_mappings_and_evaluations(case: Case) -> None:
    assert isinstance(case.spatial, SpatialProblem)
    assert isinstance(case.temporal, TemporalMapping)
    cme = evaluate(case.spatial, case.temporal)
    assert isinstance(cme, CostModelEvaluation)
    assert returns(case.spatial)
    assert returns(case.temporal)
    assert returns(cme)


def test_workloads() -> None:
    pool = NoCostNode(name="pool", operator="MaxPool", sources=("conv",))
    whole = Workload.of(convolution(), fully_connected())
    workload = Workload(name="net", nodes=(*whole.nodes, pool))
    assert returns(workload)
    assert workload.no_cost_operators == {"MaxPool": 1}


def test_constraints() -> None:
    entry = LayerConstraints(
        target="Conv",
        spatial_hints=(UnrollingHint(array_dimension="D1", dimensions=("K", "C")),),
        links=(OperandLink(operand="W", memory_operand="I2"),),
        temporal_ordering=(OrderedLoop(dimension="K"), OrderedLoop(dimension="C", size=4)),
    )
    assert returns(MappingConstraints(entries=(entry,)))


@SOME
@given(evaluated_cases(most_macs=4096))
def test_a_batch_of_one_gives_the_mapping_back(case: Case) -> None:
    batch = MappingBatch.of(case.spatial, case.temporal)
    row = batch.row(0)
    assert row.order == case.temporal.order
    for operand in case.spatial.layer.operands:
        assert row.cuts_of(operand.name) == case.temporal.cuts_of(operand.name)
