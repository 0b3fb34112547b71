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
    NetworkFront,
    NetworkProblem,
    Objective,
    SpatialProblem,
    VectorEvaluation,
)
from nestmap.model.mapping.problem import CoreProblem
from nestmap.model.multicore.allocation import Individual
from nestmap.model.multicore.cn_costs import CoreCosts
from nestmap.model.multicore.problem import SplitProblem, StreamProblem, StreamSources
from nestmap.model.multicore.schedule import AllocationSearch, Schedule, ScheduleProblem
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline import MainStage, Stage, each, stage
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.pipeline.multicore.core_plan import core_cost_stage, core_search
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
    ParsedWorkload,
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
edp = SearchPlan(objective=Objective.EDP)
assert_type(exploration_pipeline(edp), Stage[NetworkProblem, NetworkEvaluation])
assert_type(front_pipeline(edp), Stage[NetworkProblem, NetworkFront])

# several spatial mappings of a layer: the best of each, then the best of them
candidates = SpatialMappingGeneratorStage(max_mappings=3, mixed=True)
assert_type(candidates, SpatialMappingGeneratorStage)
held = candidates >> OrderedCandidatesStage()
assert_type(held, Stage[MappingProblem, Iterator[SpatialProblem]])
best = orders >> MinimalEDPStage()
assert_type(held >> each(best) >> MinimalEDPStage(), Stage[MappingProblem, EvaluationBatch])
assert_type(held >> each(best, workers=2), Stage[MappingProblem, Iterator[EvaluationBatch]])
bounded = BoundedSearchStage(best, Objective.EDP)
assert_type(bounded, BoundedSearchStage)
assert_type(held >> bounded, Stage[MappingProblem, EvaluationBatch])
padded = PaddingStage(percent=5)
assert_type(padded, PaddingStage)
assert_type(
    padded >> each(held) >> FlattenStage[SpatialProblem](),
    Stage[MappingProblem, Iterator[SpatialProblem]],
)
ranked = held >> RankByBoundStage(objective=Objective.EDP, most=3)
assert_type(ranked, Stage[MappingProblem, Iterator[SpatialProblem]])
assert_type(ranked >> bounded, Stage[MappingProblem, EvaluationBatch])

# annealing costs what it visits, so that no cost model follows
annealed = SalsaStage(objective=Objective.ENERGY, seed=1) >> MinimalEnergyStage()
assert_type(annealed, Stage[SpatialProblem, EvaluationBatch])
assert_type(SalsaStage() >> ParetoStage(), Stage[SpatialProblem, Shortlist])

# a user's ordering, made explicit between spatial mapping and search
explicit = SpatialMappingConversionStage() >> TemporalOrderingConversionStage()
assert_type(explicit, Stage[MappingProblem, SpatialProblem])
assert_type(explicit >> best, Stage[MappingProblem, EvaluationBatch])

# data kept on chip: looked for before the layers come apart, used layer by layer
on_chip = SearchUnusedMemoryStage() >> WorkloadStage() >> each(RemoveUnusedMemoryStage())
assert_type(on_chip, Stage[NetworkProblem, Iterator[MappingProblem]])
assert_type(
    SearchInterLayerDataLocalityStage(workload_data_always_from_top_mem=True)
    >> WorkloadStage()
    >> each(ExploitInterLayerDataLocalityStage() >> explicit >> best)
    >> SumStage(),
    Stage[NetworkProblem, NetworkEvaluation],
)
assert_type(RemoveUnusedMemoryStage() >> explicit, Stage[MappingProblem, SpatialProblem])
assert_type(PinnedTopLevelsStage() >> explicit, Stage[MappingProblem, SpatialProblem])

# a front of each layer
fronts = held >> each(orders) >> FlattenStage[EvaluationBatch]() >> ParetoStage()
assert_type(fronts, Stage[MappingProblem, Shortlist])
assert_type(on_chip >> each(fronts) >> FrontSumStage(), Stage[NetworkProblem, NetworkFront])

# layers of the same content explored once
once = EachOnceStage(held >> each(best) >> MinimalEDPStage())
assert_type(once, EachOnceStage[EvaluationBatch])
assert_type(on_chip >> once >> SumStage(), Stage[NetworkProblem, NetworkEvaluation])
assert_type(EachOnceStage(fronts) >> FrontSumStage(), Stage[Iterable[MappingProblem], NetworkFront])

# vector operators added to what was found for the layers, for totals and for fronts
assert_type(VectorStage(network), VectorStage[NetworkEvaluation])
assert_type(VectorStage(network, counted=True), VectorStage[NetworkEvaluation])
assert_type(VectorStage(on_chip >> each(fronts) >> FrontSumStage()), VectorStage[NetworkFront])
assert_type(
    VectorStage(network) >> SimpleSaveStage(path=Path("totals.json")),
    Stage[NetworkProblem, NetworkEvaluation],
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

# several cores: from files to computation nodes; layers may be split before
rows_of_cores = split_options(1, [("OY", "all")])
assert_type(rows_of_cores, SplitOptions)
assert_type(split_options(3, [[("OY", "all")], [("K", 4)]], [5]), SplitOptions)
generated = GenerateCNWorkloadHybridStage(options=rows_of_cores)
several = StreamONNXModelParserStage() >> generated
assert_type(several, Stage[StreamSources, SplitProblem])
assert_type(UserDefinedModelParserStage() >> generated, Stage[StreamSources, SplitProblem])
assert_type(LayerSplittingStage() >> generated, Stage[StreamProblem, SplitProblem])
assert_type(
    StreamONNXModelParserStage() >> LayerSplittingStage(share=0.5) >> generated,
    Stage[StreamSources, SplitProblem],
)
assert_type(
    StreamONNXModelParserStage() >> LayerSplittingStage(), Stage[StreamSources, StreamProblem]
)

# what nodes cost on cores; its mappings are kept on the way
per_core = CustomSpatialMappingGeneratorStage() >> each(orders >> minimal(Objective.LATENCY))
assert_type(per_core, Stage[CoreProblem, Iterator[EvaluationBatch]])
core_costs = CoreCostStage(search=per_core >> minimal(Objective.EDP))
assert_type(generated >> core_costs, Stage[StreamProblem, CoreCosts])
assert_type(CoreCostStage(core_search(SearchPlan())), CoreCostStage)
assert_type(generated >> IntraCoreMappingStage(core_costs), Stage[StreamProblem, ScheduleProblem])
assert_type(several >> IntraCoreMappingStage(), Stage[StreamSources, ScheduleProblem])
assert_type(
    CustomSpatialMappingGeneratorStage(DividingSpatialMappingStage()),
    CustomSpatialMappingGeneratorStage,
)
assert_type(
    several >> core_cost_stage() >> stage(schedule_problem), Stage[StreamSources, ScheduleProblem]
)

# which core runs what: a search for allocations, and the schedules of those it found
allocated = InterCoreMappingStage(GeneticOptions(individuals=8, seed=1), workers=2)
scheduled = allocated >> BestAllocationStage(Objective.EDP)
proved = ConstraintAllocationStage()
assert_type(proved >> ConstraintFrontStage(), Stage[ScheduleProblem, AllocationSearch])
assert_type(
    proved >> ConstraintFrontStage() >> BestAllocationStage(), Stage[ScheduleProblem, Schedule]
)
assert_type(
    proved >> SeededInterCoreMappingStage(allocated), Stage[ScheduleProblem, AllocationSearch]
)
assert_type(allocated, InterCoreMappingStage)
assert_type(scheduled, Stage[ScheduleProblem, Schedule])
assert_type(allocated >> FrontSchedulesStage(), Stage[ScheduleProblem, Iterator[Schedule]])
assert_type(
    allocated >> FrontSchedulesStage() >> ListifyStage[Schedule](),
    Stage[ScheduleProblem, tuple[Schedule, ...]],
)


def best_allocation(problem: ScheduleProblem) -> Individual:
    """What a search for allocations gives."""
    found = allocated(problem)
    assert_type(found, AllocationSearch)
    assert_type(found.front, tuple[Individual, ...])
    assert_type(scheduled(problem).latency, int)
    return found.best(Objective.ENERGY)


# reducers that keep more than one
assert_type(orders >> ParetoStage(), Stage[SpatialProblem, Shortlist])
assert_type(orders >> KBestStage(objective=Objective.EDP, k=3), Stage[SpatialProblem, Shortlist])
kept = orders >> BestFirstStage(objective=Objective.ENERGY)
assert_type(kept, Stage[SpatialProblem, tuple[EvaluationBatch, ...]])
assert_type(kept >> MinimalEnergyStage(), Stage[SpatialProblem, EvaluationBatch])
flat = each(orders) >> FlattenStage[EvaluationBatch]()
assert_type(flat, Stage[Iterable[SpatialProblem], Iterator[EvaluationBatch]])
assert_type(flat >> ParetoStage(), Stage[Iterable[SpatialProblem], Shortlist])

# what saves an item passes it on as it is; what was dumped goes on elsewhere
pickled = network >> PickleSaveStage[NetworkEvaluation](path=Path("all.pickle"))
assert_type(pickled, Stage[NetworkProblem, NetworkEvaluation])
dumped = orders >> each(DumpStage[EvaluationBatch](folder=Path("dump")))
assert_type(dumped, Stage[SpatialProblem, Iterator[EvaluationBatch]])
assert_type(LoadStage(EvaluationBatch), LoadStage[EvaluationBatch])
assert_type(LoadStage(EvaluationBatch) >> MinimalEDPStage(), Stage[Path, EvaluationBatch])

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
    exploration_pipeline(SearchPlan(objective=Objective.ENERGY), Ports((Counter(),))),
    Stage[NetworkProblem, NetworkEvaluation],
)


def recalled(ledger: Ledger) -> None:
    """What is known need not be searched: the same types as the search itself."""
    search = RecallStage(watched, ledger)
    assert_type(search, RecallStage[SpatialProblem])
    assert_type(search >> MinimalEnergyStage(), Stage[SpatialProblem, EvaluationBatch])
    assert_type(
        held >> each(search >> MinimalEDPStage()), Stage[MappingProblem, Iterator[EvaluationBatch]]
    )


def drawn(folder: Path) -> None:
    """What draws passes everything on."""
    seen = orders >> PlotTemporalMappingsStage(folder=folder)
    assert_type(seen, Stage[SpatialProblem, Iterator[EvaluationBatch]])
    pictured = network >> VisualizationStage(folder=folder, ending=".svg")
    assert_type(pictured, Stage[NetworkProblem, NetworkEvaluation])


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
    assert_type(VectorStage(network)(problem).vector, tuple[VectorEvaluation, ...])
    assert_type(MainStage(network).run(problem), NetworkEvaluation)
    assert_type(MainStage(saved).run(files).layers[0].cme.energy, float)
    assert_type(orders(spatial), Iterator[EvaluationBatch])
    assert_type(listed(problem), tuple[MappingProblem, ...])
