"""Layers of the same content: explored once, reported each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nestmap.model import (
    EvaluationBatch,
    Layer,
    LayerConstraints,
    LayerNode,
    MappingConstraints,
    MappingProblem,
    NetworkProblem,
    SpatialMapping,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import Stage, each
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.tables.mapping import front_table
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.gap import front_notes
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.pipeline.stages import (
    CostModelStage,
    EachOnceStage,
    LomaStage,
    MinimalEnergyStage,
    SpatialMappingConversionStage,
    SumStage,
    WorkloadStage,
)
from nestmap.store import Store
from tests.costmodel.machines import machine, matmul, memory
from tests.loma import with_loma

MACHINE = machine(
    memory("register", size=64, operands="I2"), memory("top", served="D1"), sides={"D1": 4}
)


def block(number: int) -> tuple[Layer, Layer]:
    """Two layers of a block; the first one reads the block before."""
    source = None if number == 0 else f"down{number - 1}"
    up, down = matmul(k=8, c=6), matmul(k=6, c=8)
    reads = (up.inputs[0], copy_with(up.inputs[1], {"source": source}))
    follows = (down.inputs[0], copy_with(down.inputs[1], {"source": f"up{number}"}))
    return (
        copy_with(up, {"name": f"up{number}", "inputs": reads}),
        copy_with(down, {"name": f"down{number}", "inputs": follows}),
    )


def blocks(count: int, *constraints: LayerConstraints) -> NetworkProblem:
    layers = [layer for number in range(count) for layer in block(number)]
    return NetworkProblem(
        workload=Workload(name="net", nodes=tuple(LayerNode(layer=layer) for layer in layers)),
        accelerator=MACHINE,
        constraints=MappingConstraints(entries=constraints),
    )


@dataclass
class Seen:
    """Whoever watches what is evaluated."""

    layers: list[str] = field(default_factory=list[str])
    rows: int = 0

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        self.layers.append(batch.mappings.problem.layer.name)
        self.rows += len(batch)

    def recall(self, batch: EvaluationBatch) -> None:
        raise AssertionError("nothing was there before")


def test_every_layer_has_the_result_that_it_has_when_explored_by_itself() -> None:
    search = SpatialMappingConversionStage() >> LomaStage(lpf_limit=4) >> each(CostModelStage())
    best = search >> MinimalEnergyStage()
    one_by_one = (WorkloadStage() >> each(best) >> SumStage())(blocks(3))
    once = (WorkloadStage() >> EachOnceStage(best) >> SumStage())(blocks(3))
    assert [x.cme for x in once.layers] == [x.cme for x in one_by_one.layers]
    assert once.energy == one_by_one.energy
    assert [x.repeats for x in once.layers] == [None, None, "up0", "down0", "up0", "down0"]


def test_only_the_first_of_them_is_searched() -> None:
    one, many = Seen(), Seen()
    first = explore_network(blocks(1), SearchPlan.of(with_loma(lpf_limit=4)), progress=one).total
    total = explore_network(blocks(5), SearchPlan.of(with_loma(lpf_limit=4)), progress=many).total
    assert many.layers == one.layers
    assert set(many.layers) == {"up0", "down0"}
    assert many.rows == one.rows == total.evaluations == first.evaluations
    assert total.energy == pytest.approx(5 * first.energy)
    assert [x.statistics.evaluations > 0 for x in total.layers] == [True] * 2 + [False] * 8


def test_constraints_tell_layers_apart_and_the_names_of_constraints_do_not() -> None:
    named = LayerConstraints(target="up1")
    same = explore_network(
        blocks(2, named, LayerConstraints()), SearchPlan.of(with_loma(lpf_limit=4))
    ).total
    assert [x.repeats for x in same.layers] == [None, None, "up0", "down0"]
    fixed = copy_with(named, {"spatial_mapping": SpatialMapping()})
    other = explore_network(
        blocks(2, fixed, LayerConstraints()), SearchPlan.of(with_loma(lpf_limit=4))
    ).total
    assert [x.repeats for x in other.layers] == [None, None, None, "down0"]


def test_fronts_are_handed_on_as_well() -> None:
    front = explore_front(blocks(2), SearchPlan.of(with_loma(lpf_limit=4))).front
    assert [x.repeats for x in front.layers] == [None, None, "up0", "down0"]
    assert [x.layer for x in front.layers] == ["up0", "down0", "up1", "down1"]
    for first, second in zip(front.layers[:2], front.layers[2:], strict=True):
        assert [cme.energy for cme in first.cmes] == [cme.energy for cme in second.cmes]


def test_the_store_has_every_layer_and_the_evaluations_of_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    explore_network(blocks(3), SearchPlan.of(with_loma(lpf_limit=4)), store=path)
    with Store.open_read_only(path) as store:
        layers = store.query("SELECT layer FROM best ORDER BY position").rows()
        searched = store.query("SELECT DISTINCT layer FROM evaluations ORDER BY 1").rows()
    assert [x["layer"] for x in layers] == ["up0", "down0", "up1", "down1", "up2", "down2"]
    assert [x["layer"] for x in searched] == ["down0", "up0"]


def test_the_table_counts_them() -> None:
    network = blocks(3)
    total = explore_network(network, SearchPlan.of(with_loma(lpf_limit=4))).total
    for width in (60, 1000):
        lines = [x.text for x in table_lines(layer_table(total, network.workload.layers), width)]
        column = slice(lines[0].index("Times"), lines[0].index("Times") + len("Times"))
        times = {line.split()[0]: line[column].strip() for line in lines if line.strip()}
        assert (times["up0"], times["down0"], times["total"]) == ("3", "3", "6")
        assert not {"up1", "down1", "up2", "down2"} & set(times)


def test_the_table_of_fronts_counts_them_too() -> None:
    front = explore_front(blocks(3), SearchPlan.of(with_loma(lpf_limit=4))).front
    lines = [line.text for line in table_lines(front_table(front.layers))]
    named = {line.split()[0]: line.split()[1] for line in lines if line.startswith(("up", "down"))}
    assert named == {"up0": "3", "down0": "3"}
    points = sum(len(layer.cmes) for layer in front.layers[:2])
    assert front_notes(front)[0].startswith(f"{points} of ")
    single = explore_front(blocks(1), SearchPlan.of(with_loma(lpf_limit=4))).front
    assert "Times" not in [column.title for column in front_table(single.layers).columns]


def test_streams_stay_lazy() -> None:
    seen: list[str] = []

    class Name(Stage[MappingProblem, EvaluationBatch]):
        """Notes what it is asked."""

        def __call__(self, problem: MappingProblem, /) -> EvaluationBatch:
            seen.append(problem.layer.name)
            return (
                SpatialMappingConversionStage()
                >> LomaStage(lpf_limit=2)
                >> each(CostModelStage())
                >> MinimalEnergyStage()
            )(problem)

    stream: Iterator[EvaluationBatch] = EachOnceStage(Name())(WorkloadStage()(blocks(2)))
    next(stream)
    assert seen == ["up0"]
    assert [batch.mappings.problem.layer.name for batch in stream] == ["down0", "up1", "down1"]
    assert seen == ["up0", "down0"]
