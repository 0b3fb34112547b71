"""Pipelines as data: names in order, options, nesting, a graph."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest
from pydantic import TypeAdapter

from nestmap.model import EvaluationBatch, MappingType, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline import Stage, each, stage
from nestmap.pipeline.describe import StageDescription, describe, pipeline_graph
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.pipeline.stages import (
    CostModelStage,
    GenerateCNWorkloadHybridStage,
    LayerSplittingStage,
    ListifyStage,
    LomaStage,
    MinimalEnergyStage,
    SpatialMappingConversionStage,
    StreamONNXModelParserStage,
    WorkloadStage,
    minimal,
    split_options,
)
from nestmap.pipeline.stages.io.parse import AcceleratorParserStage, WorkloadParserStage
from nestmap.pipeline.stages.io.pickle import SimpleSaveStage
from nestmap.pipeline.stages.multicore.layer_splitting import Fitting, SplitModel
from tests.loma import LOMA_PLAN, with_loma

EVEN = LomaStage(lpf_limit=4, mapping_type=MappingType.EVEN)
MAIN = exploration_pipeline(SearchPlan(objective=Objective.EDP, search=EVEN))


def names(stages: tuple[StageDescription, ...]) -> list[object]:
    """Names of stages; what stands in an ``each`` as a list."""
    return [names(stage.inner) if stage.inner else stage.name for stage in stages]


def test_the_main_job() -> None:
    assert names(describe(MAIN)) == [
        "WorkloadStage",
        ["PinnedTopLevelsStage"],
        [
            [
                "SpatialMappingGeneratorStage",
                "OrderedCandidatesStage",
                [["LomaStage", ["CostModelStage"], "ObserveStage"], "MinimalEDPStage"],
                "MinimalEDPStage",
            ]
        ],
        "SumStage",
        "VectorStage",
    ]


def test_data_kept_on_chip_and_annealing() -> None:
    plan = SearchPlan.of(SearchOptions(search="salsa", keep_on_chip=True, objective="energy"))
    assert names(describe(exploration_pipeline(plan))) == [
        [
            [
                "SpatialMappingGeneratorStage",
                "OrderedCandidatesStage",
                [["SalsaStage", "ObserveStage"], "MinimalEnergyStage"],
                "MinimalEnergyStage",
            ],
            "RemoveUnusedMemoryStage",
            "PinnedTopLevelsStage",
        ],
        ["SumStage"],
        "VectorStage",
    ]


def test_a_search_with_bounds_shows_what_it_bounds() -> None:
    described = describe(exploration_pipeline(SearchPlan(search=EVEN, prune=True)))
    (explored,) = described[2].inner
    assert names((explored,)) == [
        [
            "SpatialMappingGeneratorStage",
            "OrderedCandidatesStage",
            [["LomaStage", ["CostModelStage"], "ObserveStage"], "MinimalLatencyStage"],
        ]
    ]
    bounded = explored.inner[2]
    assert (bounded.name, json.loads(bounded.options)) == (
        "BoundedSearchStage",
        {"objective": "latency"},
    )
    assert LomaStage.model_validate_json(bounded.inner[0].inner[0].options) == EVEN


def test_candidates_may_be_ranked_by_their_bounds() -> None:
    plan = SearchPlan.of(SearchOptions(search="loma", rank="bound", spatial_mappings=5))
    (_, _, layers, *_) = describe(exploration_pipeline(plan))
    (explored,) = layers.inner
    assert [x.name for x in explored.inner] == [
        "PromisingMappingsStage",
        "each",
        "MinimalLatencyStage",
    ]
    options = json.loads(explored.inner[0].options)
    assert (options["objective"], options["generator"]["max_mappings"]) == ("latency", 5)


def test_a_front_is_one_over_all_spatial_mappings() -> None:
    assert names(describe(front_pipeline(LOMA_PLAN))) == [
        "WorkloadStage",
        ["PinnedTopLevelsStage"],
        [
            "SpatialMappingGeneratorStage",
            "OrderedCandidatesStage",
            [["LomaStage", ["CostModelStage"], "ObserveStage"]],
            "FlattenStage",
            "ParetoStage",
        ],
        "FrontSumStage",
        "VectorStage",
    ]


def test_the_vector_stage_shows_whether_it_counts() -> None:
    for counted in (False, True):
        *_, last = describe(exploration_pipeline(SearchPlan.of(with_loma(count_vector=counted))))
        assert (last.name, json.loads(last.options)) == ("VectorStage", {"counted": counted})


@pytest.mark.parametrize("objective", Objective)
def test_the_reducer_shows_the_objective(objective: Objective) -> None:
    pipeline = exploration_pipeline(copy_with(LOMA_PLAN, {"objective": objective}))
    assert type(minimal(objective)).__name__ in str(names(describe(pipeline)))


def test_options_are_json_that_makes_the_stage_again() -> None:
    search = LomaStage(lpf_limit=None, mapping_type=MappingType.EVEN, workers=2)
    (description,) = describe(search)
    assert json.loads(description.options) == {
        "lpf_limit": None,
        "mapping_type": "even",
        "workers": 2,
    }
    assert LomaStage.model_validate_json(description.options) == search
    save = SimpleSaveStage(path=Path("out.json"))
    assert SimpleSaveStage.model_validate_json(describe(save)[0].options) == save


def test_splitting_for_several_cores() -> None:
    files = SplitModel(source=Path("net.onnx"), target=Path("split.onnx"))
    parts = LayerSplittingStage(share=0.5, fitting=Fitting.EVERY_CORE, model=files)
    nodes = GenerateCNWorkloadHybridStage(options=split_options(3, [[("OY", "all")], []], [4]))
    first, second, third = describe(StreamONNXModelParserStage() >> parts >> nodes)
    assert [first.name, second.name, third.name] == [
        "StreamONNXModelParserStage",
        "LayerSplittingStage",
        "GenerateCNWorkloadHybridStage",
    ]
    assert LayerSplittingStage.model_validate_json(second.options) == parts
    assert GenerateCNWorkloadHybridStage.model_validate_json(third.options) == nodes


def test_grouping_does_not_show() -> None:
    inner = LomaStage() >> each(CostModelStage())
    left = (SpatialMappingConversionStage() >> inner) >> MinimalEnergyStage()
    right = SpatialMappingConversionStage() >> (inner >> MinimalEnergyStage())
    assert describe(left) == describe(right)
    assert len(describe(left)) == 4


@stage
def rows(batches: Iterable[EvaluationBatch]) -> int:
    """A stage out of a function."""
    return sum(len(batch) for batch in batches)


def test_functions_go_by_their_names() -> None:
    assert names(describe(LomaStage() >> each(CostModelStage()) >> rows)) == [
        "LomaStage",
        ["CostModelStage"],
        "rows",
    ]


class Plain(Stage[object, object]):
    """A stage of somebody's own, without options."""

    def __call__(self, item: object, /) -> object:
        return item


def test_stages_of_ones_own_go_by_their_classes() -> None:
    described = describe(Plain() >> Plain())
    assert described == (StageDescription(name="Plain"), StageDescription(name="Plain"))


@dataclass(frozen=True)
class Between(Stage[object, object]):
    """A stage whose options have the names of a sequence's parts."""

    first: int = 1
    second: int = 2
    inner: int = 3

    def __call__(self, item: object, /) -> object:
        return item


def test_options_of_any_name_are_no_stages() -> None:
    assert names(describe(each(Between()) >> Between())) == [["Between"], "Between"]


def test_parsers_and_lists() -> None:
    pipeline = WorkloadParserStage() >> AcceleratorParserStage() >> MAIN
    assert names(describe(pipeline))[:3] == [
        "WorkloadParserStage",
        "AcceleratorParserStage",
        "WorkloadStage",
    ]
    assert names(describe(WorkloadStage() >> ListifyStage[object]())) == [
        "WorkloadStage",
        "ListifyStage",
    ]


def test_each_in_each() -> None:
    nested = (
        WorkloadStage()
        >> each(SpatialMappingConversionStage() >> LomaStage())
        >> each(each(CostModelStage()))
    )
    assert names(describe(nested)) == [
        "WorkloadStage",
        ["SpatialMappingConversionStage", "LomaStage"],
        [["CostModelStage"]],
    ]


def test_descriptions_come_back_from_json() -> None:
    adapter = TypeAdapter(tuple[StageDescription, ...])
    described = describe(MAIN)
    assert adapter.validate_json(adapter.dump_json(described)) == described
    as_json = [description.as_json() for description in described]
    assert json.loads(json.dumps(as_json)) == as_json
    assert as_json[0] == {"stage": "WorkloadStage", "options": "{}"}
    assert "each" in as_json[1]


def test_the_graph_has_the_stages_as_nodes() -> None:
    graph = pipeline_graph(MAIN)
    stages = {node: graph.nodes[node]["stage"] for node in graph}
    assert stages == {
        "0": "WorkloadStage",
        "1": "each",
        "1.0": "PinnedTopLevelsStage",
        "2": "EachOnceStage",
        "2.0": "RecallLayerStage",
        "2.0.0": "SpatialMappingGeneratorStage",
        "2.0.1": "OrderedCandidatesStage",
        "2.0.2": "each",
        "2.0.2.0": "RecallStage",
        "2.0.2.0.0": "LomaStage",
        "2.0.2.0.1": "each",
        "2.0.2.0.1.0": "CostModelStage",
        "2.0.2.0.2": "ObserveStage",
        "2.0.2.1": "MinimalEDPStage",
        "2.0.3": "MinimalEDPStage",
        "3": "SumStage",
        "4": "VectorStage",
    }
    assert json.loads(graph.nodes["2.0.2.0.0"]["options"])["lpf_limit"] == 4


def test_the_graph_follows_the_items() -> None:
    graph = pipeline_graph(MAIN)
    assert set(graph.edges) == {
        ("0", "1"),
        ("1", "1.0"),
        ("1", "2"),
        ("2", "3"),
        ("3", "4"),
        ("2", "2.0"),
        ("2.0", "2.0.0"),
        ("2.0.0", "2.0.1"),
        ("2.0.1", "2.0.2"),
        ("2.0.2", "2.0.2.0"),
        ("2.0.2.0", "2.0.2.0.0"),
        ("2.0.2.0.0", "2.0.2.0.1"),
        ("2.0.2.0.1", "2.0.2.0.1.0"),
        ("2.0.2.0.1", "2.0.2.0.2"),
        ("2.0.2.0", "2.0.2.1"),
        ("2.0.2", "2.0.3"),
    }
    assert nx.is_directed_acyclic_graph(graph)


def test_describing_runs_nothing() -> None:
    def explode(item: object) -> object:
        raise AssertionError(item)

    assert names(describe(stage(explode) >> Plain())) == ["explode", "Plain"]


@dataclass(frozen=True)
class Around(Stage[object, object]):
    """A stage with stages, choices and ports."""

    inside: Stage[object, object]
    others: tuple[Stage[object, object], ...] = ()
    objective: Objective = Objective.ENERGY
    workers: int = 4

    def __call__(self, item: object, /) -> object:
        return self.inside(item)


class Renamed(Plain):
    """A stage that says itself what it is."""

    def stage_name(self) -> str:
        return "search"

    def stage_options(self) -> str:
        return json.dumps({"depth": 2})


def test_a_stage_describes_its_choices_and_what_it_runs() -> None:
    (described,) = describe(Around(Plain() >> Renamed()))
    assert described.options == '{"objective": "energy"}'
    assert described.inner == (
        StageDescription(name="Plain"),
        StageDescription(name="search", options='{"depth": 2}'),
    )
