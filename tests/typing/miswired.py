"""Pipelines a type checker must reject.

Every line carries ``type: ignore[...]``; with ``warn_unused_ignores`` (mypy) and
``reportUnnecessaryTypeIgnoreComment`` (pyright) the check fails when one of these
stops being an error.
"""

from pathlib import Path

from nestmap import evaluate, explore
from nestmap.model import (
    Accelerator,
    EvaluationBatch,
    Layer,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialMapping,
    TemporalMapping,
    Workload,
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
    Sources,
    WorkloadParserStage,
    workload_parser,
)

best = MinimalEnergyStage()
orders = LomaStage() >> each(CostModelStage())
per_layer = SpatialMappingConversionStage() >> orders >> best
network = WorkloadStage() >> each(per_layer) >> SumStage()

# a generator straight into a map stage: `each` is missing
LomaStage() >> CostModelStage()  # type: ignore[operator]
WorkloadStage() >> SpatialMappingConversionStage()  # type: ignore[operator]
WorkloadStage() >> per_layer >> SumStage()  # type: ignore[operator]

# an `each` too many: one spatial mapping is no stream
SpatialMappingConversionStage() >> each(LomaStage())  # type: ignore[arg-type]
orders >> each(best)  # type: ignore[arg-type]

# a stage left out
WorkloadStage() >> each(LomaStage())  # type: ignore[arg-type]
SpatialMappingConversionStage() >> CostModelStage()  # type: ignore[operator]
LomaStage() >> best  # type: ignore[operator]
WorkloadStage() >> SumStage()  # type: ignore[operator]
WorkloadParserStage() >> network  # type: ignore[operator]

# two stages the wrong way round
CostModelStage() >> LomaStage()  # type: ignore[operator]
LomaStage() >> SpatialMappingConversionStage()  # type: ignore[operator]
SumStage() >> best  # type: ignore[operator]
AcceleratorParserStage() >> ONNXModelParserStage()  # type: ignore[operator]

# a reducer on one item instead of a stream
CostModelStage() >> best  # type: ignore[operator]
CostModelStage() >> MinimalLatencyStage()  # type: ignore[operator]
per_layer >> SumStage()  # type: ignore[operator]
CostModelStage() >> ListifyStage[EvaluationBatch]()  # type: ignore[operator]

# reducing twice in a row
orders >> best >> best  # type: ignore[operator]
orders >> MinimalLatencyStage() >> MinimalEDPStage()  # type: ignore[operator]
network >> SumStage()  # type: ignore[operator]

# a stage inside `each` that does not take the items of that stream
WorkloadStage() >> each(orders >> best) >> SumStage()  # type: ignore[arg-type]
LomaStage() >> each(LomaStage())  # type: ignore[arg-type]
WorkloadStage() >> each(WorkloadParserStage())  # type: ignore[arg-type]

# items of the wrong type
orders >> ListifyStage[NetworkEvaluation]()  # type: ignore[operator]
WorkloadStage() >> ObserveStage(())  # type: ignore[operator]
orders >> SimpleSaveStage(path=Path("all.json"))  # type: ignore[operator]
SimpleSaveStage(path=Path("all.json")) >> AcceleratorParserStage()  # type: ignore[operator]

# the whole pipeline applied to the wrong thing
network("resnet18.onnx")  # type: ignore[arg-type]
MainStage(network).run(Path("resnet18.onnx"))  # type: ignore[arg-type]
MainStage(LomaStage)  # type: ignore[arg-type]
workload_parser("resnet18.onnx")  # type: ignore[arg-type]

# its result used as another type
to_batch: Stage[NetworkProblem, EvaluationBatch] = network  # type: ignore[assignment]
from_files: Stage[Sources, NetworkEvaluation] = network  # type: ignore[assignment]
from_anything: Stage[object, EvaluationBatch] = CostModelStage()  # type: ignore[assignment]

# an option that does not exist (ZigZag's kwargs swallow it), or of the wrong type
LomaStage(lpf_limt=6)  # type: ignore[call-arg]
LomaStage(lpf_limit="6")  # type: ignore[arg-type]
LomaStage(mapping_type="evn")  # type: ignore[arg-type]
MinimalEnergyStage(objective=Objective.ENERGY)  # type: ignore[call-arg]
SimpleSaveStage()  # type: ignore[call-arg]
CompleteSaveStage(path="all.json")  # type: ignore[arg-type]
minimal("edp")  # type: ignore[arg-type]
each(best, best)  # type: ignore[call-arg]

# options are frozen
LomaStage().lpf_limit = 7  # type: ignore[misc]
each(best).inner = best  # type: ignore[misc]
MainStage(network).pipeline = network  # type: ignore[misc]

# a stage that does not say what it does, or not what it promises
Stage[int, int]()  # type: ignore[abstract]


class Half(Stage[int, int]):
    """Promises whole numbers."""

    def __call__(self, item: int, /) -> float:  # type: ignore[override]
        return item / 2


@stage  # type: ignore[arg-type]
def two_arguments(one: int, other: int) -> int:
    return one + other


# somebody who cannot observe
class Deaf:
    """Has no method ``observe``."""


class Other:
    """Observes something else."""

    def observe(self, batch: NetworkEvaluation) -> None:
        """Looks at totals."""


ObserveStage((Deaf(),))  # type: ignore[arg-type]
ObserveStage((Other(),))  # type: ignore[arg-type]
exploration_pipeline(Objective.EDP, LomaStage(), (Deaf(),))  # type: ignore[arg-type]


def facade(workload: Workload, machine: Accelerator, layer: Layer, order: TemporalMapping) -> None:
    """The two calls, given what they do not take."""
    explore(workload, machine, objective="area")  # type: ignore[arg-type]
    explore(workload, machine, objective=MappingType.EVEN)  # type: ignore[arg-type]
    explore(workload, machine, mapping_type="odd")  # type: ignore[arg-type]
    explore(workload, machine, lpf_limit="6")  # type: ignore[arg-type]
    explore(workload, machine, lpf_limt=6)  # type: ignore[call-arg]
    explore(workload, machine, None, "energy")  # type: ignore[call-arg]
    explore(workload)  # type: ignore[call-arg]
    explore(layer, machine)  # type: ignore[arg-type]
    explore(workload, workload)  # type: ignore[arg-type]
    explore(workload, machine, SpatialMapping())  # type: ignore[arg-type]
    explore(workload, machine, store=3)  # type: ignore[arg-type]
    explore(workload, machine, progress=Deaf())  # type: ignore[arg-type]
    explored = explore(workload, machine)
    explored.total = explored.total  # type: ignore[misc]
    explored.layers = explored.layers  # type: ignore[misc]
    evaluate(workload, machine, SpatialMapping(), order)  # type: ignore[arg-type]
    evaluate(layer, machine, order, SpatialMapping())  # type: ignore[arg-type]
    evaluate(layer, machine, SpatialMapping(), order).energi  # type: ignore[attr-defined]
