"""The bound of all fused schedules: below each of them, whatever its tiles, and close."""

import random
from collections.abc import Iterator
from itertools import product
from math import inf

import pytest

from nestmap.model import (
    Accelerator,
    LayerConstraints,
    Loop,
    MappingConstraints,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialMapping,
    Unrolling,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.model.workload.builders import Precision, linear, network
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Window
from nestmap.pipeline.render.text.gap import gap_note
from nestmap.pipeline.stages.mapping.fused_bound import NetworkBound, needed_shares
from nestmap.pipeline.stages.mapping.fused_costs import Around, Fused, FusedCosting
from nestmap.pipeline.stages.mapping.layers import layer_problems
from nestmap.pipeline.stages.mapping.on_chip import AT_HOME, Variants
from nestmap.search.fusion import bounds
from nestmap.search.fusion.plans import FusedSteps, Plan, fused_steps, is_covered
from nestmap.search.fusion.tiles import AxisTiles, Grid, axis_tiles
from nestmap.search.tensor_homes import TensorGraph
from tests.costmodel.machines import machine, memory
from tests.pipeline.explore.fused import chain, residual, with_buffer
from tests.search.fusion.networks import random_attention, random_network
from tests.sweeps import STRESS, every

SCHEDULES = 12
"""Random plans of each segment."""

NETWORKS = 60 if STRESS else 3
"""Random networks on each machine."""


def several_levels() -> Accelerator:
    """Registers, two buffers between which words have several widths, and a far memory."""
    wide = memory("outer", size=16384, served="D1 D2", width=64)
    ports = [copy_with(x, {"width_min": 16}) for x in wide.instance.ports]
    outer = copy_with(
        wide.instance, {"ports": tuple(ports), "read_energy": 9.0, "write_energy": 8.0}
    )
    top = memory("top", size=2**40, served="D1 D2", width=64)
    far = copy_with(top.instance, {"read_energy": 70.0, "write_energy": 90.0})
    return machine(
        memory("words", size=64, operands="I1"),
        memory("sums", size=128, operands="O", served="D2", width=32),
        memory("weights", size=512, operands="I2", served="D1", width=16),
        memory("inner", size=3000, operands="I1 O", served="D1 D2", width=32),
        copy_with(wide, {"instance": outer}),
        copy_with(top, {"instance": far}),
        sides={"D1": 3, "D2": 2},
    )


def window_registers() -> Accelerator:
    """Registers that hold what several windows read, which is most of the energy."""
    inner = memory("inner", size=2**16, operands="I1 O", served="D1", width=8)
    dear = copy_with(inner.instance, {"read_energy": 50.0})
    top = memory("top", size=2**40, served="D1", width=64)
    return machine(
        memory("windows", size=1024, operands="I1", served="D1"),
        memory("sums", size=512, operands="O"),
        memory("weights", size=2**16, operands="I2", served="D1"),
        copy_with(inner, {"instance": dear}),
        top,
        sides={"D1": 2},
    )


MACHINES = {
    "window registers": window_registers,
    "one buffer": lambda: with_buffer(2**16),
    "a small buffer": lambda: with_buffer(2500),
    "several levels": several_levels,
}


def unrolled(workload: Workload, accelerator: Accelerator) -> NetworkProblem:
    """The network with output channels on the first side of the array, inputs on another one."""
    loops = zip(accelerator.array.sizes.items(), ("K", "C"), strict=False)
    mapping = SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side, loops=(Loop(dimension=loop, size=size),))
            for (side, size), loop in loops
        )
    )
    every_layer = LayerConstraints(target=DEFAULT_TARGET, spatial_mapping=mapping)
    return NetworkProblem(
        workload=workload,
        accelerator=accelerator,
        constraints=MappingConstraints(entries=(every_layer,)),
    )


class Case:
    """A network on a machine: its segments, and what their layers cost in tiles."""

    def __init__(self, network: NetworkProblem) -> None:
        workload, accelerator = network.workload, network.accelerator
        problems = {x.layer.name: x for x in layer_problems(network, workload.layers)}
        self.problems: dict[str, MappingProblem] = problems
        self.graph = TensorGraph.of(workload, workload.layers)
        plan = SearchPlan(objective=Objective.ENERGY)
        variants = Variants(best_stage(plan), AT_HOME, Objective.ENERGY, problems)
        self.costing = FusedCosting(self.graph, variants, accelerator, count_vector=False)
        self.sizes = {level.name: level.instance.size for level in accelerator.memories}
        self.segments = list(self._segments())
        needed = needed_shares(self.graph, self.segments)
        self.bound = NetworkBound(self.graph, problems, accelerator, needed)
        self._bounds: dict[int, tuple[float, float]] = {}

    def _segments(self) -> Iterator[FusedSteps]:
        for first, step in enumerate(self.graph.steps):
            if step.layer is None:
                continue
            for last in range(first + 1, len(self.graph.steps)):
                steps = fused_steps(self.graph, self.problems, first, last)
                if isinstance(steps, FusedSteps):
                    yield steps

    def layer_bound(self, n: int) -> tuple[float, float]:
        """The bounds of energy and latency of a layer, whatever its tiles."""
        if n not in self._bounds:
            layer = self.graph.steps[n].layer
            assert layer is not None
            self._bounds[n] = self.bound.layer(n, layer)
        return self._bounds[n]

    def random_plan(self, draw: random.Random, steps: FusedSteps) -> Plan:
        """A plan of a segment in tiles of any size."""
        segment = steps.segment
        axes = [
            axis_tiles(segment, a, draw.randint(1, segment.size(a)), retain=draw.random() < 0.5)
            for a in range(len(segment.axes))
        ]
        home = draw.choice(steps.homes)
        copied = steps.staged[home]
        staged = draw.choice(((), copied, tuple(x for x in copied if draw.random() < 0.5)))
        residence = draw.choice((None, *steps.residences))
        return Plan(steps, Grid(segment, tuple(axes)), home, residence, staged)

    def all_plans(self, steps: FusedSteps) -> Iterator[Plan]:
        """All plans of a segment."""
        segment, tiles = steps.segment, list[list[AxisTiles]]()
        for a in range(len(segment.axes)):
            sizes = product(range(1, segment.size(a) + 1), (False, True))
            tiles.append([axis_tiles(segment, a, n, retain=retain) for n, retain in sizes])
        for axes in product(*tiles):
            for home, residence in product(steps.homes, (None, *steps.residences)):
                for staged in {(), steps.staged[home]}:
                    yield Plan(steps, Grid(segment, axes), home, residence, staged)

    def costs(self, plan: Plan) -> Fused | None:
        """What a plan costs, with the tensors around it outside, if it has room."""
        if not is_covered(plan.steps, plan.grid):
            return None
        has_room = all(x[m] <= self.sizes[m] for x in plan.taken for m in x)
        around = Around(dict.fromkeys(range(len(self.graph.tensors))), {})
        return self.costing.costs(plan, around) if has_room else None


def layer_costs(fused: Fused) -> dict[int, tuple[float, float]]:
    """The energy and latency of each layer of a segment in all tiles, copies included."""
    found: dict[int, tuple[float, float]] = {}
    for tile in fused.tiles:
        energy, latency = found.get(tile.node, (0.0, 0.0))
        energy += tile.times * float(tile.best.energy[0])
        found[tile.node] = energy, latency + tile.times * float(tile.best.latency2[0])
    for node, copies in fused.copies:
        energy, latency = found[node]
        found[node] = energy + copies.energy, latency + copies.cycles
    return found


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(NETWORKS))
def test_no_random_schedule_is_below(seed: int, name: str) -> None:
    """Tiles that divide nothing, in all modes, homes and residences: layer by layer."""
    no_schedule_is_below(unrolled(random_network(seed), MACHINES[name]()), seed)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(NETWORKS))
def test_no_random_schedule_of_an_attention_is_below(seed: int, name: str) -> None:
    """Keys and values stay while queries come, or are fetched for each tile."""
    no_schedule_is_below(unrolled(random_attention(seed), MACHINES[name]()), seed)


@pytest.mark.parametrize("few", [0, 16])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", range(NETWORKS))
def test_no_random_schedule_is_below_under_any_spatial_mapping(
    seed: int, name: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operand is bounded on its own, or all together where spatial mappings are few."""
    monkeypatch.setattr(bounds, "MOST_SPATIAL", few)
    workload = random_attention(seed) if seed % 3 == 0 else random_network(seed)
    no_schedule_is_below(NetworkProblem(workload=workload, accelerator=MACHINES[name]()), seed)


def no_schedule_is_below(network: NetworkProblem, seed: int) -> None:
    """The layers of random plans of all segments cost no less than their bounds."""
    case, draw = Case(network), random.Random(seed)
    for steps in case.segments:
        for _ in range(SCHEDULES):
            fused = case.costs(case.random_plan(draw, steps))
            for n, costs in ({} if fused is None else layer_costs(fused)).items():
                step = steps.segment.first + n
                for bound, value in zip(case.layer_bound(step), costs, strict=True):
                    assert bound <= value * (1 + 1e-9), (step, fused)


def between_points(rows: int, columns: int, window: Window) -> Workload:
    """A convolution with a border around its input, between two of single points.

    The channels of a point fill words of 64 bit.
    """
    graph = ImageGraph(Precision())
    x = graph.conv("before", graph.given("image", (1, 8, rows, columns)), 8, Window(1))
    graph.conv("after", graph.conv("windows", x, 8, window), 8, Window(1))
    return Workload(name="between points", nodes=graph.nodes("between points"))


def least_of_all(case: Case) -> dict[int, tuple[float, float]]:
    """The least energy and latency of each layer, over all plans of all steps together."""
    (steps,) = [x for x in case.segments if len(x.segment.nodes) == len(case.graph.steps)]
    least = dict.fromkeys(range(len(case.graph.steps)), (inf, inf))
    for plan in case.all_plans(steps):
        fused = case.costs(plan)
        for n, costs in ({} if fused is None else layer_costs(fused)).items():
            least[n] = min(least[n][0], costs[0]), min(least[n][1], costs[1])
    return least


# Windows that overlap, or not, and with strides that leave no row out.
IMAGES = (5, 4, Window(3)), (4, 5, Window(5)), (5, 5, Window(3, 2)), (8, 5, Window(3, 3))
CLOSE = {
    "window registers": (0.99, 0.83),
    "one buffer": (1.0, 0.95),
    "several levels": (0.95, 0.75),
}
"""How close the bounds of points and of windows are to the least energy."""


@pytest.mark.parametrize(("name", "image"), every(3, list(product(CLOSE, IMAGES))))
def test_the_bound_is_close_to_the_least_of_all_tiles(
    name: str, image: tuple[int, int, Window]
) -> None:
    """Every size, mode, home and residence."""
    case = Case(unrolled(between_points(*image), MACHINES[name]()))
    for n, costs in least_of_all(case).items():
        energy, cycles = case.layer_bound(n)
        assert CLOSE[name][n == 1] * costs[0] <= energy * (1 + 1e-9)
        assert energy <= costs[0] * (1 + 1e-9)
        assert cycles <= costs[1]


def fused(workload: Workload, accelerator: Accelerator, plan: SearchPlan) -> NetworkEvaluation:
    """A network whose output channels are unrolled, in tiles."""
    return explore_network(unrolled(workload, accelerator), plan).total


BUFFERS = 2048, 4096, 16384
NAMED = {"chain": chain, "residual": residual}


@pytest.mark.parametrize(
    ("name", "bits", "objective"), every(5, list(product(NAMED, BUFFERS, Objective)))
)
def test_a_network_has_a_bound_and_a_gap(name: str, bits: int, objective: Objective) -> None:
    """Vector operators are counted in both."""
    plan = SearchPlan(objective=objective, fuse=True, count_vector=True)
    total = fused(NAMED[name](), with_buffer(bits), plan)
    assert total.bound is not None
    assert total.bound.objective is objective
    assert total.bound.value <= objective.of(total) * (1 + 1e-9)
    assert total.gap is not None
    assert gap_note(total).startswith("No schedule of any segments, tiles and homes ")
    assert 0 <= total.gap < (0.1 if bits == max(BUFFERS) else 0.35)


def test_a_layer_that_is_all_unrolled_has_a_bound() -> None:
    graph = ImageGraph(Precision())
    point = graph.conv("unrolled", graph.given("point", (1, 1, 1, 1)), 4, Window(1))
    graph.conv("last", point, 8, Window(1))
    plan = SearchPlan(objective=Objective.ENERGY, fuse=True)
    total = fused(Workload(name="point", nodes=graph.nodes("point")), with_buffer(2**16), plan)
    assert total.gap is not None
    assert 0 <= total.gap < 0.2


def test_free_spatial_mappings_have_a_close_bound() -> None:
    network = NetworkProblem(workload=chain(), accelerator=with_buffer(4096))
    total = explore_network(network, SearchPlan(objective=Objective.ENERGY, fuse=True)).total
    assert total.gap is not None
    assert 0 <= total.gap < 0.35


def few_tokens_at_a_time(tokens: int) -> Accelerator:
    """A buffer of as many tokens before and after a product, and one that holds half of weights."""
    top = memory("top", size=2**40, served="D1", width=64)
    far = copy_with(top.instance, {"read_energy": 100.0, "write_energy": 100.0})
    return machine(
        memory("register", size=32, operands="O", width=32),
        memory("tokens", size=tokens * 2 * FEATURES * 8, operands="I1 O", served="D1", width=64),
        memory("weights", size=FEATURES**2 * 4, operands="I2", served="D1", width=64),
        copy_with(top, {"instance": far}),
        sides={"D1": 4},
    )


FEATURES = 16


def test_a_tile_is_no_larger_than_its_homes() -> None:
    """Each tile fetches all weights, and what a tile reads is beside what it writes."""
    first = linear("first", (1, 64, FEATURES), FEATURES)
    second = linear("second", (1, 64, FEATURES), FEATURES, source="first")
    found: dict[int, float] = {}
    for tokens in (8, 16, 64):
        case = Case(unrolled(network("products", first, second), few_tokens_at_a_time(tokens)))
        for n, costs in least_of_all(case).items():
            assert 0.85 * costs[0] <= case.layer_bound(n)[0] <= costs[0] * (1 + 1e-9)
        found[tokens] = case.layer_bound(0)[0]
    assert found[8] > found[16] > found[64]
