"""Stages: composition, laziness, reducers, what they raise and what they write."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import FrozenInstanceError, dataclass
from errno import ENOSPC
from pathlib import Path
from typing import final

import pytest
from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    InfeasibleError,
    InputError,
    LayerConstraints,
    LayerNode,
    MappingBatch,
    MappingConstraints,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    NoCostNode,
    Objective,
    ObjectiveBound,
    OperandLink,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import MainStage, Stage, each, stage
from nestmap.pipeline.render.json.results import full_json, summary_json
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
from nestmap.pipeline.stages.io.pickle import CompleteSaveStage, SimpleSaveStage
from nestmap.pipeline.stages.mapping.recall import ObserveStage
from nestmap.search import best_of, loma
from tests.costmodel.machines import loops, machine, mapped, matmul, memory

TOP = memory("top", served="D1")
SPATIAL = mapped(matmul(k=4, c=6), machine(memory("register", size=64, operands="I2"), TOP))


@stage
def double(number: int) -> int:
    return 2 * number


@stage
def upto(number: int) -> Iterator[int]:
    yield from range(number)


@stage
def total(numbers: Iterable[int]) -> int:
    return sum(numbers)


def test_stages_run_from_left_to_right() -> None:
    assert (double >> upto >> total)(3) == 0 + 1 + 2 + 3 + 4 + 5


def test_how_stages_are_grouped_does_not_matter() -> None:
    left, right = (double >> upto) >> total, double >> (upto >> total)
    assert left(5) == right(5) == 45


def test_reducers_inside_each_reduce_per_item() -> None:
    per_item = upto >> each(double >> upto >> total)
    assert list(per_item(4)) == [0, 1, 6, 15]
    assert (per_item >> total)(4) == 22


def test_main_stage_runs_a_pipeline() -> None:
    assert MainStage(double >> double).run(3) == 12


@final
@dataclass(frozen=True)
class Noting(Stage[int, int]):
    """Passes numbers on and notes them."""

    seen: list[int]

    def __call__(self, item: int, /) -> int:
        self.seen.append(item)
        return item


def test_each_takes_one_item_at_a_time_and_only_when_asked() -> None:
    seen = list[int]()
    stream = (upto >> each(Noting(seen)) >> each(double))(1000)
    assert seen == []
    assert next(stream) == 0
    assert seen == [0]
    assert next(stream) == 2
    assert seen == [0, 1]


def test_each_goes_over_an_endless_stream() -> None:
    def numbers() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    stream = each(double)(numbers())
    assert [next(stream) for _ in range(3)] == [0, 2, 4]


def test_options_are_frozen_and_checked() -> None:
    with pytest.raises(ValidationError):
        LomaStage(lpf_limit=0)
    with pytest.raises(ValidationError):
        LomaStage.model_validate({"lpf_limt": 6})
    with pytest.raises(ValidationError):
        LomaStage.model_validate({"lpf_limit": "6"})
    chosen = LomaStage(lpf_limit=4)
    with pytest.raises(ValidationError):
        setattr(chosen, "lpf_limit", 5)  # noqa: B010 (type checkers know that it must not be)
    with pytest.raises(FrozenInstanceError):
        setattr(each(double), "inner", double)  # noqa: B010
    assert chosen == LomaStage(lpf_limit=4) != LomaStage()


def network(*constraints: LayerConstraints) -> NetworkProblem:
    """Two layers; the second one stands first in the list."""
    first = copy_with(matmul(k=4, c=6), {"name": "first", "operator": "Conv"})
    plain = matmul(k=3, c=4)
    reads = copy_with(plain.inputs[1], {"source": "relu"})
    second = copy_with(plain, {"name": "second", "inputs": (plain.inputs[0], reads)})
    relu = NoCostNode(name="relu", operator="Relu", sources=("first",))
    nodes = (LayerNode(layer=second), relu, LayerNode(layer=first))
    return NetworkProblem(
        workload=Workload(name="net", nodes=nodes),
        accelerator=machine(TOP, sides={"D1": 4}),
        constraints=MappingConstraints(entries=constraints),
    )


def test_layers_come_after_those_they_read_from() -> None:
    assert [x.layer.name for x in WorkloadStage()(network())] == ["first", "second"]


def test_layers_come_with_their_constraints() -> None:
    only = LayerConstraints(target="Conv", spatial_mapping=SpatialMapping())
    problems = WorkloadStage()(network(only))
    assert [x.constraints for x in problems] == [only, LayerConstraints()]


def test_constraints_that_do_not_suit_a_layer_are_wrong_input() -> None:
    link = OperandLink(operand="W", memory_operand="I9")
    with pytest.raises(InputError) as caught:
        list(WorkloadStage()(network(LayerConstraints(links=(link,)))))
    assert caught.value.where == "mapping for layer first"
    assert "I9" in caught.value.found
    assert "I1" in caught.value.expected


def converted(spatial_mapping: SpatialMapping | None) -> SpatialMapping:
    problem = MappingProblem(
        layer=matmul(k=4, c=6),
        accelerator=machine(memory("top", served="D1", width=64), sides={"D1": 8}),
        constraints=LayerConstraints(spatial_mapping=spatial_mapping),
    )
    return SpatialMappingConversionStage()(problem).spatial_mapping


def unrolled(text: str) -> SpatialMapping:
    return SpatialMapping(unrollings=(Unrolling(array_dimension="D1", loops=loops(text)),))


def test_the_users_spatial_mapping_is_cut_down_to_the_layer() -> None:
    assert converted(unrolled("K 8")) == unrolled("K 4")


def test_without_a_spatial_mapping_the_array_is_filled() -> None:
    assert converted(None) == unrolled("C 6")


def test_a_spatial_mapping_larger_than_the_array_is_wrong_input() -> None:
    with pytest.raises(InputError) as caught:
        converted(unrolled("K 4 C 3"))
    assert caught.value.where == "spatial_mapping for layer layer"
    assert "at most the 8 units of D1" in caught.value.expected


@pytest.mark.parametrize("mapping_type", MappingType)
@pytest.mark.parametrize("limit", [2, None])
def test_loma_stage_is_the_search(limit: int | None, mapping_type: MappingType) -> None:
    batches = list(LomaStage(lpf_limit=limit, mapping_type=mapping_type)(SPATIAL))
    expected = list(loma(SPATIAL, limit, mapping_type))
    assert [rows(batch) for batch in batches] == [rows(batch) for batch in expected]
    assert [x.statistics for x in batches] == [x.statistics for x in expected]


def rows(batch: MappingBatch) -> list[str]:
    return [batch.row(i).model_dump_json() for i in range(len(batch))]


def evaluations(spatial: SpatialProblem = SPATIAL) -> list[EvaluationBatch]:
    return [evaluate_batch(batch) for batch in loma(spatial, 6, MappingType.UNEVEN)]


def test_cost_model_stage_is_the_cost_model() -> None:
    (batch, _) = evaluations()
    costs = CostModelStage()(batch.mappings)
    assert (costs.energy == batch.energy).all()
    assert (costs.latency2 == batch.latency2).all()


@pytest.mark.parametrize(
    ("reducer", "objective"),
    [
        (MinimalEnergyStage(), Objective.ENERGY),
        (MinimalLatencyStage(), Objective.LATENCY),
        (MinimalEDPStage(), Objective.EDP),
    ],
)
def test_reducers_take_the_smallest(
    reducer: Stage[Iterable[EvaluationBatch], EvaluationBatch], objective: Objective
) -> None:
    batches = evaluations()
    best = reducer(iter(batches))
    values = [value for batch in batches for value in batch.values(objective).tolist()]
    assert best.values(objective).tolist() == [min(values)]
    assert rows(best.mappings) == rows(best_of(batches, objective).mappings)
    assert minimal(objective) == reducer


def test_listify_takes_all_at_once() -> None:
    assert (upto >> ListifyStage[int]())(4) == (0, 1, 2, 3)


def test_sum_stage_reports_each_layer_in_full() -> None:
    best = [best_of(evaluations(), objective) for objective in Objective]
    result = SumStage()(iter(best))
    assert result.energy == sum(batch.energy[0] for batch in best)
    assert result.latency == sum(batch.latency2[0] for batch in best)
    assert [x.statistics for x in result.layers] == [x.statistics for x in best]
    for part, batch in zip(result.layers, best, strict=True):
        assert part.cme.temporal_mapping == batch.mappings.row(0)
        assert part.cme.energy == batch.energy[0]


def test_sum_stage_says_which_memory_is_too_small() -> None:
    small = memory("small", size=7, operands="I2", served="D1")
    shared = memory("shared", size=15, operands="I1 I2", served="D1")
    reasons = list[str]()
    for inner in (small, shared):
        spatial = mapped(matmul(k=4, c=6), machine(inner, TOP))
        with pytest.raises(InfeasibleError) as caught:
            SumStage()([best_of(evaluations(spatial), Objective.ENERGY)])
        reasons.append(str(caught.value))
    assert reasons == [
        "layer layer: no loop order fits machine: "
        "small too small for W: needs at least 8 bit, has 7 (12 orders)",
        "layer layer: no loop order fits machine: "
        "shared too small for I and W: needs at least 16 bit, has 15 (12 orders)",
    ]


def test_nothing_is_not_a_network() -> None:
    with pytest.raises(ValidationError, match="at least one"):
        SumStage()([])


class Counter:
    """Notes what it is shown."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def observe(self, batch: EvaluationBatch) -> None:
        self.seen.append(len(batch))


def test_observers_see_every_batch_as_it_passes() -> None:
    one, other, batches = Counter(), Counter(), evaluations()
    stream = ObserveStage((one, other))(iter(batches))
    assert one.seen == []
    assert next(stream) is batches[0]
    assert one.seen == other.seen == [len(batches[0])]
    assert list(stream) == batches[1:]
    assert one.seen == [len(batch) for batch in batches]


@pytest.fixture(scope="module")
def result() -> NetworkEvaluation:
    return SumStage()([best_of(evaluations(), Objective.ENERGY)])


def test_simple_save_writes_totals(result: NetworkEvaluation, tmp_path: Path) -> None:
    path = tmp_path / "totals.json"
    assert SimpleSaveStage(path=path)(result) is result
    saved = json.loads(path.read_text())
    assert saved == summary_json(result)
    assert saved["total"]["energy"] == result.energy
    assert set(saved["layers"][0]) == {"name", "operator", "energy", "latency", "bound", "gap"}


def test_complete_save_writes_everything(result: NetworkEvaluation, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    assert CompleteSaveStage(path=path)(result) is result
    saved = json.loads(path.read_text())
    assert saved == full_json(result)
    (layer,) = saved["layers"]
    cme = result.layers[0].cme
    assert layer["stall"] == cme.stall
    assert len(layer["levels"]) == len(cme.levels)
    order = [[loop.dimension, loop.size] for loop in cme.temporal_mapping.order]
    assert layer["temporal_mapping"]["order"] == order


def test_saved_results_have_their_bounds(result: NetworkEvaluation, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    bounds = result.layers[0].statistics.bounds
    assert bounds is not None
    bound = ObjectiveBound(objective=Objective.LATENCY, value=bounds.latency)
    bounded = copy_with(result.layers[0], {"bound": bound})
    for of, value in ((result.layers[0], None), (bounded, bounds.latency)):
        CompleteSaveStage(path=path)(NetworkEvaluation(layers=(of,)))
        saved = json.loads(path.read_text())
        (layer,) = saved["layers"]
        assert (layer["bound"], layer["gap"], layer["unproven"]) == (value, of.gap, 0)
        assert layer["bounds"] == bounds.model_dump()
        assert saved["total"]["gap"] == of.gap


SAVE_STAGES = [SimpleSaveStage, CompleteSaveStage]


@pytest.mark.parametrize("save", SAVE_STAGES)
def test_saving_replaces_what_was_there(
    save: type[SimpleSaveStage | CompleteSaveStage], result: NetworkEvaluation, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old, and longer than anything that is new" * 1000)
    save(path=path)(result)
    assert json.loads(path.read_text())["run"] is None
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("save", SAVE_STAGES)
def test_no_folder_is_wrong_input_and_leaves_nothing(
    save: type[SimpleSaveStage | CompleteSaveStage], result: NetworkEvaluation, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        save(path=tmp_path / "missing" / "out.json")(result)
    assert "missing" in caught.value.where
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("save", SAVE_STAGES)
def test_a_folder_is_no_file(
    save: type[SimpleSaveStage | CompleteSaveStage], result: NetworkEvaluation, tmp_path: Path
) -> None:
    folder = tmp_path / "out.json"
    folder.mkdir()
    with pytest.raises(InputError):
        save(path=folder)(result)
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("step", ["write_text", "replace"])
def test_a_failure_on_the_way_leaves_the_old_file_and_no_other(
    step: str, result: NetworkEvaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    write = Path.write_text

    def full(part: Path, *_: object, **__: object) -> int:
        write(part, "{")
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    with pytest.raises(InputError, match="No space left"):
        CompleteSaveStage(path=path)(result)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
