"""Fused mapping: never worse, the sum of its tiles, never below what must move, said and kept."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from nestmap.model import (
    OUTPUT,
    Accelerator,
    InputError,
    Layer,
    Loop,
    NetworkProblem,
    Objective,
    SegmentPin,
    SpatialMapping,
    Tensor,
    Unrolling,
    VectorNode,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.workload.builders import Precision, conv2d
from nestmap.pipeline.analysis.network.roofline import bytes_moved
from nestmap.pipeline.explore.api import explore, explore_front, explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.explore.reprice import reprice_results
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph
from nestmap.pipeline.render.json.results import full_json
from nestmap.pipeline.render.text.results import kept_notes
from nestmap.pipeline.stages.mapping.fused_costs import Around, Fused, FusedCosting
from nestmap.pipeline.stages.mapping.layers import layer_problems
from nestmap.pipeline.stages.mapping.on_chip import AT_HOME, Variant, Variants, vector_costs
from nestmap.search.fusion.plans import FusedSteps, fused_steps, plans_of
from nestmap.search.fusion.segment import segment_of
from nestmap.search.tensor_homes import (
    Costs,
    Home,
    Homes,
    Leap,
    OpenHomes,
    TensorGraph,
    Visit,
    place,
)
from nestmap.store import Parameter, Store
from tests.pipeline.explore.fused import (
    BUFFERS,
    CASES,
    NETWORKS,
    chain,
    ends_of,
    found,
    segments_of,
    with_buffer,
)
from tests.search.fusion.networks import random_network
from tests.sweeps import STRESS, every


@pytest.mark.parametrize(("name", "bits", "objective"), every(5, CASES))
def test_tiles_are_never_worse(name: str, bits: int, objective: Objective) -> None:
    """All layers by themselves are one of the ways through a network."""
    workload, accelerator = NETWORKS[name](), with_buffer(bits)
    whole = found(workload, accelerator, objective, fuse=False)
    tiled = found(workload, accelerator, objective, fuse=True)
    assert objective.of(tiled) <= objective.of(whole) * (1 + 1e-9)


MACHINES = accelerator_names() if STRESS else ("ascend_like", "eyeriss_like")


@pytest.mark.parametrize("accelerator", MACHINES)
def test_whole_networks_are_never_worse(accelerator: str) -> None:
    """Vector operators beside segments count at the homes that were chosen for their tensors."""
    kept = SearchOptions(objective="energy", count_vector=True, keep_on_chip=True)
    fused = SearchOptions(objective="energy", count_vector=True, fuse=True)
    whole, tiled = (explore("light:squeezenet", accelerator, **x) for x in (kept, fused))
    assert tiled.energy <= whole.energy * (1 + 1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_small_buffer_saves_traffic_by_tiles(name: str) -> None:
    """Tensors that do not fit as a whole stay on chip in tiles."""
    workload, accelerator = NETWORKS[name](), with_buffer(4096)
    whole = found(workload, accelerator, Objective.ENERGY, fuse=False)
    tiled = found(workload, accelerator, Objective.ENERGY, fuse=True)
    assert tiled.energy < 0.9 * whole.energy
    (first, *_) = segments_of(tiled)
    assert first.tiles > 1
    assert first.home == "buffer"


@pytest.mark.parametrize(("name", "bits"), list(product(NETWORKS, BUFFERS)))
def test_no_less_moves_than_enters_and_leaves(name: str, bits: int) -> None:
    """The far memory gives each weight and input once at least, and takes the outputs."""
    workload, accelerator = NETWORKS[name](), with_buffer(bits)
    total = found(workload, accelerator, Objective.ENERGY, fuse=True)
    layers = workload.layers
    weights = sum(layer.elements("W") for layer in layers)
    moved = sum(bytes_moved(x.cme, accelerator).get("top", 0.0) for x in total.layers)
    moved += sum(x.words_written * 8 for x in total.vector if x.memory == "top")
    compulsory = weights + layers[0].elements("I") + layers[-1].elements(OUTPUT)
    assert moved >= compulsory


Part = Fused | Variant


def best_of_all_plans(workload: Workload, accelerator: Accelerator, objective: Objective) -> float:
    """The least total where each plan of each segment is costed exactly, without estimates."""
    plan = SearchPlan(objective=objective)
    network = NetworkProblem(workload=workload, accelerator=accelerator)
    problems = {x.layer.name: x for x in layer_problems(network, workload.layers)}
    graph = TensorGraph.of(workload, workload.layers)
    homes = OpenHomes.of(graph, problems)
    variants = Variants(best_stage(plan), AT_HOME, objective, problems)
    costing = FusedCosting(graph, variants, accelerator, count_vector=False)
    is_vector = [isinstance(x.node, VectorNode) for x in graph.steps] + [False]
    known: dict[tuple[int, int, Homes], list[Costs[Part]]] = {}

    def leaps(step: int, key: Homes) -> Iterator[Leap[Part]]:
        for last in range(step + 1, len(graph.steps)):
            steps = fused_steps(graph, problems, step, last)
            if isinstance(steps, str) or is_vector[step] or is_vector[last + 1]:
                continue
            outer = {
                graph.tensor_of[x.step.written]
                for n, x in enumerate(steps.segment.nodes)
                if n not in steps.inner
            }
            new = sorted(outer - {*dict(key)})
            for chosen in product(*(homes.options[t] for t in new)):
                around = {**dict(key), **dict(zip(new, chosen, strict=True))}
                inner = [(t, steps.homes[0]) for t in steps.tensors]
                for costs in costed(steps, around):
                    yield Leap(last + 1, (*zip(new, chosen, strict=True), *inner), costs)

    def costed(steps: FusedSteps, around: dict[int, Home]) -> list[Costs[Part]]:
        key = steps.segment.first, steps.segment.last, tuple(sorted(around.items()))
        if key not in known:
            taken = {
                memory: sum(
                    graph.buffers[b].bits
                    for t, home in around.items()
                    if home == memory
                    for b in graph.tensors[t].buffers
                )
                for memory in {x for x in around.values() if x is not None}
            }
            plans = plans_of(steps, taken, around, homes.sizes, SegmentPin(last=""))
            fused = [costing.costs(x, Around(around, taken)) for x in plans]
            some = (x for x in fused if x is not None)
            known[key] = [Costs[Part](x.energy, x.latency, None, x) for x in some]
        return known[key]

    def alone(layer: Layer, visit: Visit) -> Costs[Part] | None:
        best = variants.costs(layer, visit)
        return None if best is None else Costs[Part](*best[:3], best.found)

    vector = vector_costs(accelerator, counted=False)
    placed = place(graph, homes, (alone, vector), objective, leaps)
    parts = [costs_of(x) for x in placed.found]
    return objective.value_of(sum(x for x, _ in parts), sum(x for _, x in parts))


def costs_of(part: Part) -> tuple[float, float]:
    """Energy and latency of a segment, or of a layer by itself."""
    if isinstance(part, Fused):
        return part.energy, part.latency
    return float(part.best.energy[0]), float(part.best.latency2[0])


@pytest.mark.parametrize(
    ("name", "bits", "objective"),
    every(7, list(product(NETWORKS, BUFFERS, (Objective.ENERGY, Objective.LATENCY)))),
)
def test_estimates_lose_little(name: str, bits: int, objective: Objective) -> None:
    """Compared with all plans of all segments, each costed exactly."""
    workload, accelerator = NETWORKS[name](size=8), with_buffer(bits)
    plan = SearchPlan(objective=objective, fuse=True)
    problem = NetworkProblem(workload=workload, accelerator=accelerator)
    tiled = explore_network(problem, plan).total
    best = best_of_all_plans(workload, accelerator, objective)
    assert best * (1 - 1e-9) <= objective.of(tiled) <= best * 1.03


def test_a_layer_under_a_fixed_spatial_mapping_is_another_question() -> None:
    """A tile that is the whole layer must not answer for the layer under all spatial mappings."""
    workload, accelerator = chain(), with_buffer(16384)
    network = NetworkProblem(workload=workload, accelerator=accelerator)
    problems = {x.layer.name: x for x in layer_problems(network, workload.layers)}
    variants = Variants(
        best_stage(SearchPlan(objective=Objective.LATENCY)), AT_HOME, Objective.LATENCY, problems
    )
    problem = problems["conv1"]
    outside = Visit(tuple((x.name, None) for x in problem.layer.operands), ())
    three = Unrolling(array_dimension="D1", loops=(Loop(dimension="FX", size=3),))
    mapping = SpatialMapping(unrollings=(three,))  # of four units
    constraints = copy_with(problem.constraints, {"spatial_mapping": mapping})
    fixed = variants.costs_of(copy_with(problem, {"constraints": constraints}), outside)
    free = variants.costs(problem.layer, outside)
    assert fixed is not None
    assert free is not None
    assert free.latency < fixed.latency


def test_a_layer_is_the_sum_over_its_tiles() -> None:
    """The totals are those by which segments were chosen, operations are those that run."""
    workload, accelerator = chain(), with_buffer(4096)
    total = found(workload, accelerator, Objective.ENERGY, fuse=True)
    segments = segments_of(total)
    inside = {name for segment in segments for name in segment.nodes}
    layers = [x.cme for x in total.layers if x.cme.layer in inside]
    vector = [x for x in total.vector if x.node in inside]
    energy = sum(x.energy for x in layers) + sum(x.energy for x in vector)
    latency = sum(x.latency for x in layers) + sum(x.latency for x in vector)
    assert energy == pytest.approx(sum(x.energy for x in segments))
    assert latency == pytest.approx(sum(x.latency for x in segments))
    wanted = {layer.name: layer.macs for layer in workload.layers}
    for cme in layers:
        assert cme.macs >= wanted[cme.layer]
        costs = sum(level.costs.energy for level in cme.levels)
        assert cme.memory_energy == pytest.approx(costs)
    assert [x.cme.layer for x in total.layers] == [layer.name for layer in workload.layers]


def test_text_json_and_store_have_the_segments(tmp_path: Path) -> None:
    """Each says which nodes run together, and where what is between them stays."""
    options = SearchOptions(objective="energy", fuse=True, count_vector=True)
    store = tmp_path / "store.duckdb"
    result = explore(chain(), with_buffer(4096), "free", store=store, **options)
    (first, *_) = segments = segments_of(result.total)
    notes = [x for x in kept_notes(result.total) if x.startswith("Together run")]
    assert len(notes) == len(segments)
    assert f"{first.nodes[0]} to {first.nodes[-1]} ({len(first.nodes)} nodes)" in notes[0]
    assert f"tensors between them in {first.home}" in notes[0]
    written = full_json(result.total)
    assert isinstance(written, dict)
    assert written["segments"] == [x.model_dump() for x in segments]
    assert result.total.on_chip is not None
    assert written["segment_ends"] == [x.model_dump() for x in result.total.on_chip.ends]
    with Store.open(store) as opened:
        assert result.run is not None
        rows = list(opened.ask("segments", {Parameter.RUN: str(result.run)}))
        assert [(row["first"], row["last"], row["home"]) for row in rows] == [
            (x.nodes[0], x.nodes[-1], x.home) for x in segments
        ]
        read = opened.best(result.run)
    assert read.energy == pytest.approx(result.energy)
    assert read.on_chip == result.total.on_chip
    again = explore(chain(), with_buffer(4096), "free", store=store, **options)
    assert again.total.energy == result.total.energy
    assert segments_of(again.total) == segments


@pytest.mark.parametrize(("name", "bits", "objective"), every(5, CASES))
def test_each_end_has_a_reason(name: str, bits: int, objective: Objective) -> None:
    """Whatever runs apart is told to, in the order of the network, each end once."""
    workload = NETWORKS[name]()
    total = found(workload, with_buffer(bits), objective, fuse=True)
    assert total.on_chip is not None
    segments = {x.nodes[0]: x.nodes for x in total.on_chip.segments or ()}
    together = {n for nodes in segments.values() for n in nodes}
    alone = [x.name for x in workload.layers if x.name not in together]
    firsts = [x.name for x in workload.nodes if x.name in segments or x.name in alone]
    ends = ends_of(total)
    assert [following for _, following in ends] == firsts[1:]
    assert all(ends.values())


def test_memory_that_is_short_ends_a_segment() -> None:
    """The least room of all tiles that are tried, and what is left."""
    total = found(chain(), with_buffer(256), Objective.ENERGY, fuse=True)
    took = "even in the smallest tiles tensors between them take 40 B; buffer has 32 B for them"
    assert set(ends_of(total).values()) == {took}


def test_depth_ends_a_segment_and_more_is_never_worse() -> None:
    """With a depth of one, layers run with their vector operators only."""
    energies: list[float] = []
    for depth in (1, 2, 3, 8):
        options = SearchOptions(objective="energy", fuse=True, fuse_depth=depth, count_vector=True)
        result = explore(chain(), with_buffer(4096), "free", **options)
        layers = {x.name for x in chain().layers}
        assert result.total.on_chip is not None
        for segment in result.total.on_chip.segments or ():
            assert len(layers.intersection(segment.nodes)) <= depth
        if depth == 1:
            reasons = ends_of(result.total).values()
            assert all("together they have 2 layers, and at most 1 " in x for x in reasons)
        energies.append(result.energy)
    assert energies == sorted(energies, reverse=True)
    assert energies[0] > energies[-1]


def test_the_number_of_workers_does_not_matter() -> None:
    """Estimates and costs are the same with any number of threads."""
    results = [
        explore(chain(), with_buffer(4096), "free", objective="edp", fuse=True, workers=n).total
        for n in (1, 2)
    ]
    assert results[0] == results[1]


def test_what_does_not_go_together_is_said() -> None:
    """Options that exclude each other are told by name."""
    accelerator = with_buffer(4096)
    problem = NetworkProblem(workload=chain(), accelerator=accelerator)
    plan = SearchPlan(fuse=True)
    with pytest.raises(InputError, match="fuse cannot be combined with a search for fronts"):
        explore_front(problem, plan)
    with pytest.raises(InputError, match="fuse_depth without fuse"):
        SearchPlan().with_options({"fuse_depth": 4})
    for other in (SearchOptions(pad=5.0), SearchOptions(at_most="latency=1.1x")):
        with pytest.raises(InputError, match="fuse with"):
            plan.with_options(other)
    with pytest.raises(InputError, match="expected the exact counting"):
        explore_network(problem, plan.with_options({"reference": True}))
    total = explore_network(problem, copy_with(plan, {"objective": Objective.ENERGY})).total
    with pytest.raises(InputError, match="run together in tiles"):
        reprice_results(total, accelerator, copy_with(accelerator, {"name": "other"}))


def test_layers_that_cannot_be_tiled_stand_alone() -> None:
    """What tiles cannot pass through ends a segment; nothing fails."""
    first = conv2d("first", (1, 2, 8, 8), (4, 2, 3, 3), padding=1)
    softmax = VectorNode(
        name="unknown",
        operator="Mystery",
        sources=("first",),
        iterations=(4 * 64,),
        inputs=(Tensor(name="first", sizes=(1, 4, 8, 8), precision=8),),
        outputs=(Tensor(name="unknown", sizes=(1, 4, 8, 8), precision=8),),
    )
    workload = Workload.of(first, softmax)
    total = found(workload, with_buffer(4096), Objective.ENERGY, fuse=True)
    assert total.on_chip is not None
    assert total.on_chip.segments == ()
    assert "No layers run together" in " ".join(kept_notes(total))


def test_a_step_of_which_nothing_is_needed_is_in_no_segment() -> None:
    """The last layer reads padding and a corner that the pooling before it does not give."""
    total = found(random_network(19), with_buffer(4096), Objective.ENERGY, fuse=True)
    assert {x.cme.layer for x in total.layers} == {x.name for x in random_network(19).layers}


def test_a_tensor_that_is_also_read_transposed_ends_a_segment() -> None:
    """A layer that reads a result in another order needs all of it."""
    graph = ImageGraph(Precision())
    rows = graph.linear("rows", graph.given("tokens", (1, 16, 16)), 16)
    graph.product("gram", rows, graph.permuted("turned", rows, 0, 2, 1))
    workload = Workload(name="gram", nodes=graph.nodes("gram"))
    total = found(workload, with_buffer(2048), Objective.ENERGY, fuse=True)
    assert total.on_chip is not None
    assert total.on_chip.segments == ()
    tensors = TensorGraph.of(workload, workload.layers)
    reason = segment_of(tensors, 0, 1)
    assert reason == "gram reads another shape or part than is written"


@pytest.mark.skipif(not STRESS, reason="takes minutes")
@pytest.mark.parametrize("size", [16, 32])
def test_larger_images_have_the_same_tiles_again(size: int) -> None:
    """The same machine and network give the same tiles again."""
    results = [found(chain(4, size), with_buffer(8192), Objective.LATENCY, fuse=True) for _ in "ab"]
    assert results[0] == results[1]
