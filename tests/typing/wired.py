"""Pipelines a type checker must accept, and the types it must infer for them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import assert_type

from nestmap.model import (
    EvaluationBatch,
    MappingBatch,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialProblem,
)
from nestmap.pipeline import MainStage, Stage, each, stage
from nestmap.pipeline.api import exploration_pipeline
from nestmap.pipeline.stages import (
    CostModelStage,
    ListifyStage,
    LomaStage,
    MinimalEDPStage,
    MinimalEnergyStage,
    MinimalLatencyStage,
    SpatialMappingConversionStage,
    SumStage,
    WorkloadStage,
    minimal,
)
from nestmap.pipeline.stages.observe import ObserveStage
from nestmap.pipeline.stages.save import CompleteSaveStage, SimpleSaveStage
from nestmap.pipeline.stages.sources import (
    AcceleratorParserStage,
    ONNXModelParserStage,
    ParsedWorkload,
    Sources,
    WorkloadParserStage,
    workload_parser,
)

# every order of a spatial mapping's loops, with its cost, one batch after the other
orders = LomaStage(lpf_limit=6, mapping_type=MappingType.EVEN) >> each(CostModelStage())
assert_type(orders, Stage[SpatialProblem, Iterator[EvaluationBatch]])

# the three reducers take the same stream
assert_type(orders >> MinimalEnergyStage(), Stage[SpatialProblem, EvaluationBatch])
assert_type(orders >> MinimalLatencyStage(), Stage[SpatialProblem, EvaluationBatch])
assert_type(orders >> MinimalEDPStage(), Stage[SpatialProblem, EvaluationBatch])
assert_type(orders >> minimal(Objective.EDP), Stage[SpatialProblem, EvaluationBatch])

per_layer = SpatialMappingConversionStage() >> orders >> MinimalEnergyStage()
assert_type(per_layer, Stage[MappingProblem, EvaluationBatch])

network = WorkloadStage() >> each(per_layer) >> SumStage()
assert_type(network, Stage[NetworkProblem, NetworkEvaluation])

# all of it as one expression: the same types
assert_type(
    WorkloadStage()
    >> each(
        SpatialMappingConversionStage()
        >> LomaStage(lpf_limit=None)
        >> each(CostModelStage())
        >> MinimalLatencyStage()
    )
    >> SumStage(),
    Stage[NetworkProblem, NetworkEvaluation],
)
assert_type(
    exploration_pipeline(Objective.EDP, LomaStage()), Stage[NetworkProblem, NetworkEvaluation]
)

# from files to files
yaml = WorkloadParserStage() >> AcceleratorParserStage()
assert_type(yaml, Stage[Sources, NetworkProblem])
assert_type(ONNXModelParserStage() >> AcceleratorParserStage(), Stage[Sources, NetworkProblem])
assert_type(workload_parser(Path("net.onnx")), Stage[Sources, ParsedWorkload])
saved = (
    yaml
    >> network
    >> SimpleSaveStage(path=Path("totals.json"))
    >> CompleteSaveStage(path=Path("all.json"))
)
assert_type(saved, Stage[Sources, NetworkEvaluation])

# a stream that is not reduced stays a lazy iterator; a list of it is a tuple
assert_type(LomaStage() >> each(CostModelStage()), Stage[SpatialProblem, Iterator[EvaluationBatch]])
listed = WorkloadStage() >> ListifyStage[MappingProblem]()
assert_type(listed, Stage[NetworkProblem, tuple[MappingProblem, ...]])


# whoever has the method can watch a stream: no base class is asked for
class Counter:
    """Counts the rows it is shown."""

    def __init__(self) -> None:
        self.rows = 0

    def observe(self, batch: EvaluationBatch) -> None:
        self.rows += len(batch)


watched = orders >> ObserveStage((Counter(),))
assert_type(watched, Stage[SpatialProblem, Iterator[EvaluationBatch]])
assert_type(watched >> MinimalEnergyStage(), Stage[SpatialProblem, EvaluationBatch])
assert_type(
    exploration_pipeline(Objective.ENERGY, LomaStage(), (Counter(),)),
    Stage[NetworkProblem, NetworkEvaluation],
)


# variance: what takes a wider input, or gives a narrower output, fits
class Text(Stage[object, str]):
    """Anything as text."""

    def __call__(self, item: object, /) -> str:
        return repr(item)


assert_type(CostModelStage() >> Text(), Stage[MappingBatch, str])
wider: Stage[MappingBatch, object] = CostModelStage() >> Text()


# plain functions become stages with their own types
@stage
def rows(batches: Iterable[EvaluationBatch]) -> int:
    return sum(len(batch) for batch in batches)


assert_type(rows, Stage[Iterable[EvaluationBatch], int])
assert_type(orders >> rows, Stage[SpatialProblem, int])


def run(problem: NetworkProblem, files: Sources, spatial: SpatialProblem) -> None:
    """What pipelines give when they are applied."""
    assert_type(network(problem), NetworkEvaluation)
    assert_type(MainStage(network).run(problem), NetworkEvaluation)
    assert_type(MainStage(saved).run(files).layers[0].cme.energy, float)
    assert_type(orders(spatial), Iterator[EvaluationBatch])
    assert_type(listed(problem), tuple[MappingProblem, ...])
