"""Pipelines a type checker must reject.

Every line carries ``type: ignore[...]``; with ``warn_unused_ignores`` (mypy) and
``reportUnnecessaryTypeIgnoreComment`` (pyright) the check fails when one of these
stops being an error.
"""

from pathlib import Path
from uuid import UUID

from nestmap import evaluate, explore
from nestmap.model import (
    Accelerator,
    Counting,
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
from nestmap.model.multicore.cn_costs import CoreCosts
from nestmap.model.multicore.problem import SplitProblem, StreamProblem, StreamSources
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline import MainStage, Stage, each, stage
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.pipeline.explore.reprice import Standing, compare_standing, reprice_results
from nestmap.pipeline.stages import (
    BestFirstStage,
    BoundedSearchStage,
    CostModelStage,
    DumpStage,
    EachOnceStage,
    FlattenStage,
    FrontSumStage,
    GenerateCNWorkloadHybridStage,
    KBestStage,
    LayerSplittingStage,
    ListifyStage,
    LoadStage,
    LomaStage,
    MinimalEDPStage,
    MinimalEnergyStage,
    MinimalLatencyStage,
    OrderedCandidatesStage,
    PaddingStage,
    ParetoStage,
    PickleSaveStage,
    PinnedTopLevelsStage,
    PlotTemporalMappingsStage,
    RankByBoundStage,
    RemoveUnusedMemoryStage,
    SalsaStage,
    SearchUnusedMemoryStage,
    SpatialMappingConversionStage,
    SpatialMappingGeneratorStage,
    StreamONNXModelParserStage,
    SumStage,
    TemporalOrderingConversionStage,
    UserDefinedModelParserStage,
    VectorStage,
    VisualizationStage,
    WorkloadStage,
    minimal,
    split_options,
)
from nestmap.pipeline.stages.io.parse import (
    AcceleratorParserStage,
    ONNXModelParserStage,
    Sources,
    WorkloadParserStage,
    workload_parser,
)
from nestmap.pipeline.stages.io.pickle import CompleteSaveStage, SimpleSaveStage
from nestmap.pipeline.stages.mapping.layers import (
    ExploitInterLayerDataLocalityStage,
    SearchInterLayerDataLocalityStage,
)
from nestmap.pipeline.stages.mapping.recall import Ledger, ObserveStage, Ports, RecallStage
from nestmap.pipeline.stages.multicore.constraint import (
    ConstraintAllocationStage,
    ConstraintFrontStage,
    SeededInterCoreMappingStage,
)
from nestmap.pipeline.stages.multicore.inter_core import (
    BestAllocationStage,
    FrontSchedulesStage,
    InterCoreMappingStage,
)
from nestmap.pipeline.stages.multicore.intra_core import (
    CoreCostStage,
    CustomSpatialMappingGeneratorStage,
    DividingSpatialMappingStage,
    IntraCoreMappingStage,
    schedule_problem,
)
from nestmap.search import Shortlist
from nestmap.search.multicore.allocation.genetic import GeneticOptions
from nestmap.store import Store

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

# several cores: stages left out, the wrong way round, or those of one core among them
generated = GenerateCNWorkloadHybridStage()
ONNXModelParserStage() >> generated  # type: ignore[operator]
StreamONNXModelParserStage() >> network  # type: ignore[operator]
StreamONNXModelParserStage() >> AcceleratorParserStage()  # type: ignore[operator]
AcceleratorParserStage() >> generated  # type: ignore[operator]
WorkloadStage() >> each(generated)  # type: ignore[arg-type]
generated >> LayerSplittingStage()  # type: ignore[operator]
generated >> generated  # type: ignore[operator]
LayerSplittingStage() >> StreamONNXModelParserStage()  # type: ignore[operator]
LayerSplittingStage() >> UserDefinedModelParserStage()  # type: ignore[operator]
LayerSplittingStage() >> each(generated)  # type: ignore[arg-type]
GenerateCNWorkloadHybridStage(options={"hints": ()})  # type: ignore[arg-type]
LayerSplittingStage(share="half")  # type: ignore[arg-type]
LayerSplittingStage(split_W_double_buffered=True)  # type: ignore[call-arg]
split_options("1", [("OY", "all")])  # type: ignore[arg-type]
split_options(1, [{"OY": "all"}])  # type: ignore[list-item]
split_options(1, [("OY", "all")], counting="exact")  # type: ignore[arg-type]
SplitOptions(counting=Counting.REFERENCE, reference=True)  # type: ignore[call-arg]

# allocations are searched for nodes that have costs, and scheduled when they are found
allocated = InterCoreMappingStage(GeneticOptions(individuals=8))
generated >> allocated  # type: ignore[operator]
allocated >> ConstraintAllocationStage()  # type: ignore[operator]
ConstraintAllocationStage() >> BestAllocationStage()  # type: ignore[operator]
ConstraintFrontStage() >> SeededInterCoreMappingStage(allocated)  # type: ignore[operator]
SeededInterCoreMappingStage(ConstraintAllocationStage())  # type: ignore[arg-type]
allocated >> allocated  # type: ignore[operator]
allocated >> each(BestAllocationStage())  # type: ignore[operator]
allocated >> FrontSchedulesStage() >> BestAllocationStage()  # type: ignore[operator]
BestAllocationStage() >> FrontSchedulesStage()  # type: ignore[operator]
FrontSchedulesStage() >> FrontSchedulesStage()  # type: ignore[operator]
InterCoreMappingStage(32)  # type: ignore[arg-type]
InterCoreMappingStage(observer=print)  # type: ignore[arg-type]
InterCoreMappingStage(ledger=3)  # type: ignore[arg-type]
InterCoreMappingStage().workers = 2  # type: ignore[misc]
BestAllocationStage("edp")  # type: ignore[arg-type]
GeneticOptions(objectives=Objective.EDP)  # type: ignore[arg-type]
GeneticOptions(nb_ga_individuals=8)  # type: ignore[call-arg]

# a reducer on one item instead of a stream
CostModelStage() >> best  # type: ignore[operator]
CostModelStage() >> MinimalLatencyStage()  # type: ignore[operator]
per_layer >> SumStage()  # type: ignore[operator]
CostModelStage() >> ListifyStage[EvaluationBatch]()  # type: ignore[operator]

# drawing what is not there yet, or is no stream
CostModelStage() >> PlotTemporalMappingsStage(folder=Path())  # type: ignore[operator]
orders >> VisualizationStage(folder=Path())  # type: ignore[operator]
network >> VisualizationStage(folder=Path(), ending=".gif")  # type: ignore[arg-type]

# reducing twice in a row
orders >> best >> best  # type: ignore[operator]
orders >> MinimalLatencyStage() >> MinimalEDPStage()  # type: ignore[operator]
network >> SumStage()  # type: ignore[operator]

# a stage inside `each` that does not take the items of that stream
WorkloadStage() >> each(orders >> best) >> SumStage()  # type: ignore[arg-type]
LomaStage() >> each(LomaStage())  # type: ignore[arg-type]
WorkloadStage() >> each(WorkloadParserStage())  # type: ignore[arg-type]

# pinned levels are those of a layer, not of a network
WorkloadStage() >> PinnedTopLevelsStage()  # type: ignore[operator]

# what is explored once are layers, and what was found for one can be handed to another
EachOnceStage(orders >> best)  # type: ignore[arg-type]
EachOnceStage(SpatialMappingConversionStage() >> orders)  # type: ignore[type-var]
WorkloadStage() >> EachOnceStage(per_layer) >> FrontSumStage()  # type: ignore[operator]

# items of the wrong type
orders >> ListifyStage[NetworkEvaluation]()  # type: ignore[operator]
WorkloadStage() >> ObserveStage(())  # type: ignore[operator]
orders >> SimpleSaveStage(path=Path("all.json"))  # type: ignore[operator]
SimpleSaveStage(path=Path("all.json")) >> AcceleratorParserStage()  # type: ignore[operator]

# some evaluations of a layer are not its best one
ranking = KBestStage(objective=Objective.EDP, k=3)
orders >> ParetoStage() >> SumStage()  # type: ignore[operator]
orders >> ParetoStage() >> best  # type: ignore[operator]
WorkloadStage() >> each(SpatialMappingConversionStage() >> orders >> ranking) >> SumStage()  # type: ignore[operator]
orders >> BestFirstStage(objective=Objective.ENERGY) >> each(best)  # type: ignore[arg-type]
first: Stage[NetworkProblem, EvaluationBatch] = ParetoStage()  # type: ignore[assignment]

# a stream of streams, and a reducer for one of them
WorkloadStage() >> each(SpatialMappingConversionStage() >> orders) >> ParetoStage()  # type: ignore[operator]
orders >> FlattenStage[EvaluationBatch]()  # type: ignore[operator]
CostModelStage() >> ParetoStage()  # type: ignore[operator]

# an item saved as another one, or continued as another one
network >> PickleSaveStage[Shortlist](path=Path("all.pickle"))  # type: ignore[operator]
orders >> DumpStage[EvaluationBatch](folder=Path("dump"))  # type: ignore[operator]
LoadStage(NetworkEvaluation) >> best  # type: ignore[operator]
LoadStage(EvaluationBatch) >> CostModelStage()  # type: ignore[operator]

# spatial candidates: a stream, and each of them has to be searched
candidates = SpatialMappingGeneratorStage()
candidates >> orders  # type: ignore[operator]
candidates >> OrderedCandidatesStage() >> best  # type: ignore[operator]
SpatialMappingConversionStage() >> OrderedCandidatesStage()  # type: ignore[operator]
OrderedCandidatesStage() >> candidates  # type: ignore[operator]
candidates >> TemporalOrderingConversionStage()  # type: ignore[operator]
TemporalOrderingConversionStage() >> SpatialMappingConversionStage()  # type: ignore[operator]
candidates >> each(orders) >> best  # type: ignore[operator]
candidates >> each(BoundedSearchStage(orders >> best, Objective.ENERGY))  # type: ignore[arg-type]
SpatialMappingConversionStage() >> RankByBoundStage(objective=Objective.EDP, most=3)  # type: ignore[operator]
candidates >> RankByBoundStage(objective=Objective.EDP, most=3) >> best  # type: ignore[operator]
PaddingStage(percent=5) >> candidates  # type: ignore[operator]
PaddingStage(percent="5")  # type: ignore[arg-type]
RankByBoundStage(objective="edp", most=3)  # type: ignore[arg-type]
RankByBoundStage(most=3)  # type: ignore[call-arg]
BoundedSearchStage(orders, Objective.ENERGY)  # type: ignore[arg-type]
BoundedSearchStage(per_layer, Objective.ENERGY)  # type: ignore[arg-type]
BoundedSearchStage(orders >> best, "energy")  # type: ignore[arg-type]
BoundedSearchStage(orders >> best)  # type: ignore[call-arg]

# annealed mappings have their costs already
SalsaStage() >> each(CostModelStage())  # type: ignore[arg-type]
candidates >> SalsaStage()  # type: ignore[operator]

# data is kept on chip between layers: before the workload comes apart; then a layer at a time
WorkloadStage() >> SearchUnusedMemoryStage()  # type: ignore[operator]
WorkloadStage() >> RemoveUnusedMemoryStage()  # type: ignore[operator]
SearchUnusedMemoryStage() >> RemoveUnusedMemoryStage()  # type: ignore[operator]
WorkloadStage() >> each(SearchInterLayerDataLocalityStage())  # type: ignore[arg-type]
ExploitInterLayerDataLocalityStage() >> LomaStage()  # type: ignore[operator]

# one front for each layer
fronts = candidates >> each(orders) >> FlattenStage[EvaluationBatch]() >> ParetoStage()
WorkloadStage() >> each(fronts) >> SumStage()  # type: ignore[operator]
WorkloadStage() >> each(per_layer) >> FrontSumStage()  # type: ignore[operator]
fronts >> FrontSumStage()  # type: ignore[operator]

# vector operators are those of a network, and added to its totals
network >> VectorStage(network)  # type: ignore[operator]
VectorStage(network) >> SumStage()  # type: ignore[operator]
VectorStage(SumStage())  # type: ignore[arg-type]
VectorStage(WorkloadStage())  # type: ignore[type-var]
VectorStage()  # type: ignore[call-arg]
VectorStage(network, counted="yes")  # type: ignore[arg-type]
VectorStage(network).counted = True  # type: ignore[misc]

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
KBestStage(objective=Objective.EDP)  # type: ignore[call-arg]
KBestStage(objective="edp", k=3)  # type: ignore[arg-type]
ParetoStage(objective=Objective.EDP)  # type: ignore[call-arg]
BestFirstStage(k=3, objective=Objective.EDP)  # type: ignore[call-arg]
PickleSaveStage[int](path="all.pickle")  # type: ignore[arg-type]
DumpStage[int](path=Path("dump"))  # type: ignore[call-arg]
LoadStage("EvaluationBatch")  # type: ignore[arg-type]
SalsaStage(objective="edp")  # type: ignore[arg-type]
SalsaStage(lpf_limit=6)  # type: ignore[call-arg]
SalsaStage(seed="one")  # type: ignore[arg-type]
SpatialMappingGeneratorStage(max_mapings=3)  # type: ignore[call-arg]
SpatialMappingGeneratorStage(mixed="yes")  # type: ignore[arg-type]
SearchUnusedMemoryStage(data_from_top=True)  # type: ignore[call-arg]
SearchPlan(objective="edp")  # type: ignore[arg-type]
SearchPlan(search=CostModelStage())  # type: ignore[arg-type]
SearchPlan(spatial=SpatialMappingConversionStage())  # type: ignore[arg-type]
SearchPlan(rank="bound")  # type: ignore[arg-type]
SearchPlan(locality=True)  # type: ignore[call-arg]
SearchPlan(count_vector="yes")  # type: ignore[arg-type]
minimal("edp")  # type: ignore[arg-type]
each(best, best)  # type: ignore[arg-type]
each(best, 2, best)  # type: ignore[call-arg]

# options are frozen
LomaStage().lpf_limit = 7  # type: ignore[misc]
SearchPlan().prune = True  # type: ignore[misc]
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
exploration_pipeline(SearchPlan(), Ports((Deaf(),)))  # type: ignore[arg-type]
exploration_pipeline(Objective.EDP)  # type: ignore[arg-type]
exploration_pipeline(LomaStage())  # type: ignore[arg-type]
front_pipeline(SearchPlan(), Ports((Other(),)))  # type: ignore[arg-type]


def facade(workload: Workload, machine: Accelerator, layer: Layer, order: TemporalMapping) -> None:
    """The two calls, given what they do not take."""
    explore(workload, machine, objective="area")  # type: ignore[arg-type]
    explore(workload, machine, objective=MappingType.EVEN)  # type: ignore[arg-type]
    explore(workload, machine, mapping_type="odd")  # type: ignore[arg-type]
    explore(workload, machine, lpf_limit="6")  # type: ignore[arg-type]
    explore(workload, machine, lpf_limt=6)  # type: ignore[call-arg]
    explore(workload, machine, search="annealing")  # type: ignore[arg-type]
    explore(workload, machine, search=SalsaStage())  # type: ignore[arg-type]
    explore(workload, machine, spatial_mappings="some")  # type: ignore[arg-type]
    explore(workload, machine, rank="speed")  # type: ignore[arg-type]
    explore(workload, machine, pad="10 %")  # type: ignore[arg-type]
    explore(workload, machine, keep_on_chip="yes")  # type: ignore[arg-type]
    explore(workload, machine, workers="two")  # type: ignore[arg-type]
    explore(workload, machine, count_vector="yes")  # type: ignore[arg-type]
    explore(workload, machine, pareto=True)  # type: ignore[call-arg]
    explore_front(workload, machine)  # type: ignore[arg-type]
    explore_network(workload)  # type: ignore[arg-type]
    explore(workload, machine, None, None)  # type: ignore[call-arg]
    explore(workload)  # type: ignore[call-arg]
    explore(machine, machine)  # type: ignore[arg-type]
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


def several(problem: NetworkProblem, files: Sources, cores: StreamProblem) -> None:
    """A problem of one core is none of several, and the other way round."""
    generated(problem)  # type: ignore[arg-type]
    StreamONNXModelParserStage()(files)  # type: ignore[arg-type]
    network(cores)  # type: ignore[arg-type]
    MainStage(generated).run(files)  # type: ignore[arg-type]
    found: StreamProblem = generated(cores)  # type: ignore[assignment]
    split: SplitProblem = LayerSplittingStage()(cores)  # type: ignore[assignment]
    cores.workload = cores.workload  # type: ignore[misc]
    print(found, split)
    generated(cores).nodes = split.nodes  # type: ignore[misc]
    StreamSources(workload="net.onnx", accelerator=Path())  # type: ignore[arg-type]


def on_cores(cores: StreamProblem, split: SplitProblem, costs: CoreCosts) -> None:
    """Costs are of nodes on cores: of a split network, by a search for one core."""
    CoreCostStage()(cores)  # type: ignore[arg-type]
    CoreCostStage(LomaStage())  # type: ignore[arg-type]
    CustomSpatialMappingGeneratorStage()(cores)  # type: ignore[arg-type]
    CoreCostStage(DividingSpatialMappingStage() >> each(orders >> best) >> best)  # type: ignore[arg-type]
    IntraCoreMappingStage(generated)  # type: ignore[arg-type]
    IntraCoreMappingStage()(split).latency  # type: ignore[attr-defined]
    generated >> IntraCoreMappingStage() >> CoreCostStage()  # type: ignore[operator]
    schedule_problem(split)  # type: ignore[arg-type]
    costs.costs = costs.costs  # type: ignore[misc]


def recalled(ledger: Ledger) -> None:
    """Not everything is a search, and not everybody remembers."""
    RecallStage(orders)  # type: ignore[call-arg]
    RecallStage(LomaStage(), ledger)  # type: ignore[arg-type]
    RecallStage(orders >> best, ledger)  # type: ignore[operator]
    RecallStage(orders, Deaf())  # type: ignore[arg-type]
    WorkloadStage() >> RecallStage(orders, ledger)  # type: ignore[operator]


def remembered(store: Store, run: UUID, machine: Accelerator, workload: Workload) -> None:
    """The store, asked for what it does not have or in words that it does not know."""
    Store.open("results.duckdb")  # type: ignore[arg-type]
    Store.open()  # type: ignore[call-arg]
    Store.open_read_only(None)  # type: ignore[arg-type]
    store.best("last")  # type: ignore[arg-type]
    store.best()  # type: ignore[call-arg]
    store.best(run).layers = ()  # type: ignore[misc]
    store.best(run).cmes  # type: ignore[attr-defined]
    store.pareto(Path("results.duckdb"))  # type: ignore[arg-type]
    store.pareto(run).energy  # type: ignore[attr-defined]
    store.problem("last")  # type: ignore[arg-type]
    store.evaluation(12)  # type: ignore[arg-type]
    store.evaluation(run)  # type: ignore[arg-type]
    store.evaluation("12:3").energi  # type: ignore[attr-defined]
    store.evaluations(run)  # type: ignore[call-arg]
    store.runs()[0].id = run  # type: ignore[misc]
    store.runs()[0].state  # type: ignore[attr-defined]
    store.runs("last")  # type: ignore[call-arg]
    store.query(run)  # type: ignore[arg-type]
    store.query("SELECT ?", 1)  # type: ignore[arg-type]
    store.query("SELECT ?", [machine])  # type: ignore[list-item]
    store.query("SELECT 1").models("Layer")  # type: ignore[arg-type]
    store.query("SELECT 1").models(dict)  # type: ignore[type-var]
    store.query("SELECT 1").models(Layer)[0].energy  # type: ignore[attr-defined]
    store.query("SELECT 1").model(Layer)  # type: ignore[attr-defined]
    store.query("SELECT 1").columns = ("layer",)  # type: ignore[misc]
    reprice_results(store.pareto(run), machine, machine)  # type: ignore[arg-type]
    reprice_results(store.best(run), machine)  # type: ignore[call-arg]
    reprice_results(run, machine, machine)  # type: ignore[arg-type]
    compare_standing("energy", machine, machine)  # type: ignore[arg-type]
    compare_standing(Objective.EDP, machine, workload)  # type: ignore[arg-type]
    Standing.BETTER  # type: ignore[attr-defined]
