"""What users write with the facade, and the types they get for it."""

from pathlib import Path
from typing import assert_type
from uuid import UUID

import nestmap
from nestmap import DesignSpace, Exploration, SweepResult, evaluate, explore, sweep
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    Layer,
    LayerConstraints,
    LayerFront,
    LayerNode,
    LayerResult,
    Loop,
    MappingConstraints,
    MappingType,
    Movement,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    NoCostNode,
    Objective,
    SpatialMapping,
    TemporalMapping,
    Unrolling,
    VectorEvaluation,
    VectorNode,
    Workload,
    layer_from_equation,
)
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.describe import describe, pipeline_graph
from nestmap.pipeline.explore.accelerator_diff import Difference, differences
from nestmap.pipeline.explore.api import (
    FrontExploration,
    explore_front,
    explore_network,
    read_network,
)
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline
from nestmap.pipeline.explore.reprice import Standing, compare_standing, reprice_results
from nestmap.pipeline.frontend.torch import TorchModule
from nestmap.pipeline.stages import ExactStage, LomaStage, SalsaStage, SpatialMappingGeneratorStage
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.store import RunRecord, RunStatus, Store
from nestmap.store.read.relation import Relation


def by_name() -> None:
    """Bundled examples, options as words."""
    exploration = explore("light:resnet50", "tpu_like", objective="energy", lpf_limit=6)
    assert_type(exploration, Exploration)
    assert_type(exploration.run, UUID)
    assert_type(exploration.energy, float)
    assert_type(exploration.latency, float)
    assert_type(exploration.objective, Objective)
    assert_type(exploration.total, NetworkEvaluation)
    assert_type(exploration.layers, tuple[LayerResult, ...])
    for result in exploration.layers:
        assert_type(result.cme, CostModelEvaluation)
        assert_type(result.statistics.evaluations, int)
        assert_type(result.cme.temporal_mapping.order, tuple[Loop, ...])
        assert_type(result.cme.level("W", 0).costs.energy_of(Movement.RD_TO_LOW), float)


def swept() -> None:
    """The designs of a space."""
    found = sweep("space.yaml", strategy="random", designs=10, objective="energy")
    assert_type(found, SweepResult)
    assert_type(found.space, DesignSpace)
    assert_type(found.front, tuple[DesignResult, ...])
    best = found.best("area")
    assert_type(best.energy, float | None)
    assert_type(best.parameters, tuple[tuple[str, Value], ...])
    assert_type(found.accelerator_yaml(best), str)
    assert_type(found.relation(), Relation)
    sweep({"name": "s", "accelerator": "tpu_like"}, workers=2, store=Path("x.duckdb"))


def by_file() -> None:
    """Files, as paths or as text."""
    assert_type(explore(Path("net.onnx"), "machine.yaml", Path("mapping.yaml")), Exploration)
    assert_type(explore("net.yaml", Path("machine.yaml"), mapping_type="even"), Exploration)


def in_memory(machine: Accelerator, constraints: MappingConstraints) -> None:
    """Models built in Python, options as enums."""
    layer = layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", {"B": 1, "K": 8, "C": 4}, name="fc")
    assert_type(layer, Layer)
    assert_type(
        explore(
            Workload.of(layer),
            machine,
            constraints,
            objective=Objective.EDP,
            lpf_limit=None,
            mapping_type=MappingType.EVEN,
            store=None,
        ),
        Exploration,
    )


def searched() -> None:
    """Everything that can be said about a search."""
    exploration = explore(
        "light:alexnet",
        "tpu_like",
        search="salsa",
        spatial_mappings=10,
        mixed=True,
        rank="bound",
        pad=5,
        keep_on_chip=True,
        prune=True,
        count_vector=True,
        seed=1,
        workers=2,
    )
    assert_type(exploration, Exploration)
    assert_type(exploration.total.vector, tuple[VectorEvaluation, ...])
    assert_type(exploration.total.vector_energy, float)
    assert_type([x.statistics.pruned for x in exploration.layers], list[int])


def planned(network: NetworkProblem) -> None:
    """The same as a plan, which can be kept and compared."""
    plan = SearchPlan(
        objective=Objective.EDP,
        search=SalsaStage(seed=1, chains=4),
        spatial=SpatialMappingGeneratorStage(max_mappings=10, mixed=True),
        rank=Rank.BOUND,
        keep_on_chip=True,
        prune=True,
    )
    assert_type(plan.search, LomaStage | SalsaStage | ExactStage)
    assert_type(
        SearchPlan.of(SearchOptions(objective="edp", search="salsa", workers=None)), SearchPlan
    )
    assert_type(explore_network(network, plan, store="results.duckdb"), Exploration)
    assert_type(explore_network(network), Exploration)


def weighed() -> None:
    """Energy against latency."""
    network = read_network("light:alexnet", "tpu_like")
    assert_type(network, NetworkProblem)
    found = explore_front(network, SearchPlan(search=LomaStage(lpf_limit=4)), progress=None)
    assert_type(found, FrontExploration)
    assert_type(found.run, UUID)
    assert_type(found.front, NetworkFront)
    assert_type(found.front.layers, tuple[LayerFront, ...])
    assert_type(found.front.best(Objective.EDP), NetworkEvaluation)
    for layer in found.front.layers:
        assert_type(layer.cmes, tuple[CostModelEvaluation, ...])
        assert_type(layer.best(Objective.ENERGY), LayerResult)


def one_mapping(layer: Layer, machine: Accelerator, order: TemporalMapping) -> None:
    """The cost of a mapping that is given."""
    wide = Unrolling(array_dimension="D1", loops=(Loop(dimension="K", size=8),))
    spatial = SpatialMapping(unrollings=(wide,))
    cme = evaluate(layer, machine, spatial, order)
    assert_type(cme, CostModelEvaluation)
    assert_type(nestmap.evaluate(layer, "tpu_like", spatial, order), CostModelEvaluation)
    assert_type(evaluate(layer, machine, spatial, order, LayerConstraints()).latency, float)
    assert_type(cme.energy, float)
    assert_type(cme.utilizations, tuple[float, float, float])
    assert_type(cme.content_hash, str)
    assert_type(cme.model_dump_json(), str)


def built() -> None:
    """Networks in a line or two."""
    wide = nestmap.Precision(weight=4, activation=16)
    c1 = nestmap.conv2d("c1", (1, 3, 32, 32), (16, 3, 3, 3), padding=1, precision=wide)
    fc = nestmap.linear("fc", (1, 16), 10, source=c1)
    core = nestmap.attention("core", (1, 8, 64, 32), sources=(c1, "fc", None))
    assert_type(c1, Layer)
    assert_type(core, tuple[LayerNode | VectorNode | NoCostNode, ...])
    assert_type(nestmap.network("mine", c1, fc, core, nestmap.gemm("g", (1, 2), (2, 3))), Workload)
    nestmap.conv4d  # type: ignore[attr-defined]
    nestmap.linear("fc", (1, 16), "10")  # type: ignore[arg-type]


def converted(module: TorchModule, image: object) -> None:
    """A PyTorch module; PyTorch need not be there to check the types."""
    assert_type(nestmap.from_torch(module, (image,)), Workload)
    assert_type(nestmap.from_torch(module, {"x": image}, name="mine"), Workload)


class Spinner:
    """Anything with these three methods can follow an exploration."""

    def start(self, network: NetworkProblem) -> None:
        """Notes how many layers there are."""
        self.left = len(network.workload.layers)

    def observe(self, batch: EvaluationBatch) -> None:
        """Notes how many mappings have been seen."""
        self.left -= len(batch)

    def recall(self, batch: EvaluationBatch) -> None:
        """Notes how many mappings the store knew."""
        self.left -= len(batch)


def watched(workload: Workload, machine: Accelerator) -> None:
    """An exploration with somebody watching."""
    assert_type(explore(workload, machine, progress=Spinner()), Exploration)


class LayerCost(Frozen, frozen=True):
    """What a question answers: a row for each layer."""

    layer: str
    energy: float


def remembered() -> None:
    """Past explorations."""
    with Store.open(Path("results.duckdb")) as store:
        assert_type(store, Store)
        assert_type(store.runs(), tuple[RunRecord, ...])
        last = store.runs()[-1]
        assert_type(last.id, UUID)
        assert_type(last.status, RunStatus)
        assert_type(last.objective, Objective)
        assert_type(store.best(last.id), NetworkEvaluation)
        assert_type(store.best(last.id).layers[0].cme, CostModelEvaluation)
        assert_type(store.pareto(last.id), NetworkFront)
        assert_type(store.problem(last.id), NetworkProblem)
        assert_type(store.evaluation("12:3"), CostModelEvaluation)
        assert_type(store.evaluations(last.id, "conv1"), tuple[EvaluationBatch, ...])
    with Store.open_read_only(Path("results.duckdb")) as reading:
        assert_type(reading, Store)
    assert_type(Store.open(None), Store)


def asked(store: Store) -> None:
    """Questions in SQL, and what their answers turn into."""
    answer = store.query("SELECT layer, energy FROM best WHERE energy > ?", [1e6])
    assert_type(answer, Relation)
    assert_type(answer.models(LayerCost), tuple[LayerCost, ...])
    assert_type(answer.models(LayerCost)[0].energy, float)
    assert_type([row.layer for row in answer.models(LayerCost)], list[str])
    assert_type(answer.columns, tuple[str, ...])
    assert_type(answer.rows(), list[dict[str, object]])
    assert_type(len(answer), int)
    for row in answer:
        assert_type(row, dict[str, object])


def dearer(store: Store, run: UUID, machine: Accelerator) -> None:
    """The mappings of a run with other energies."""
    searched = store.problem(run).accelerator
    assert_type(differences(searched, machine), tuple[Difference, ...])
    assert_type(reprice_results(store.best(run), searched, machine), NetworkEvaluation)
    assert_type(compare_standing(Objective.ENERGY, searched, machine), Standing)


def as_data() -> None:
    """A pipeline can be looked at."""
    pipeline = exploration_pipeline(SearchPlan(objective=Objective.ENERGY))
    names = [description.name for description in describe(pipeline)]
    assert_type(names, list[str])
    assert_type(list(pipeline_graph(pipeline)), list[str])
