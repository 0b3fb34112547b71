"""The bound of all fused schedules: below each of them, whatever its tiles, and close."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

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
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.render.text.gap import gap_note
from nestmap.pipeline.stages.mapping.fused_bound import NetworkBound, needed_shares
from nestmap.pipeline.stages.mapping.fused_costs import Around, Fused, FusedCosting
from nestmap.pipeline.stages.mapping.layers import layer_problems
from nestmap.pipeline.stages.mapping.on_chip import AT_HOME, Variants
from nestmap.search.fusion.plans import FusedSteps, Plan, fused_steps, is_covered
from nestmap.search.fusion.segment import Grid, axis_tiles
from nestmap.search.tensor_homes import TensorGraph
from tests.costmodel.machines import machine, memory
from tests.pipeline.explore.test_fuse import chain, residual, with_buffer
from tests.search.fusion.networks import random_network
from tests.sweeps import STRESS, every

SCHEDULES = 12
"""Random plans of each segment."""

NETWORKS = 60 if STRESS else 6
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


MACHINES = {
    "one buffer": lambda: with_buffer(6144),
    "several levels": several_levels,
}


class Case:
    """A network on a machine: its segments, and what their layers cost in tiles."""

    def __init__(self, workload: Workload, accelerator: Accelerator) -> None:
        network = NetworkProblem(workload=workload, accelerator=accelerator)
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

    def _segments(self) -> Iterator[FusedSteps]:
        for first, step in enumerate(self.graph.steps):
            if step.layer is None:
                continue
            for last in range(first + 1, len(self.graph.steps)):
                steps = fused_steps(self.graph, self.problems, first, last)
                if isinstance(steps, FusedSteps):
                    yield steps

    def costs(self, draw: random.Random, steps: FusedSteps) -> Fused | None:
        """What a random plan costs, with the tensors around it outside, if it has room."""
        segment = steps.segment
        axes = [
            axis_tiles(segment, a, draw.randint(1, segment.size(a)), retain=draw.random() < 0.5)
            for a in range(len(segment.axes))
        ]
        grid = Grid(segment, tuple(axes))
        home = draw.choice(steps.homes)
        staged = draw.choice(((), steps.staged[home]))
        residence = draw.choice((None, *steps.residences))
        plan = Plan(steps, grid, home, residence, staged)
        if not is_covered(steps, grid):
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
    case, draw = Case(random_network(seed), MACHINES[name]()), random.Random(seed)
    bounds: dict[int, tuple[float, float]] = {}
    for steps in case.segments:
        for _ in range(SCHEDULES):
            fused = case.costs(draw, steps)
            for n, costs in ({} if fused is None else layer_costs(fused)).items():
                step = steps.segment.first + n
                layer = case.graph.steps[step].layer
                assert layer is not None
                if step not in bounds:
                    bounds[step] = case.bound.layer(step, layer)
                for bound, value in zip(bounds[step], costs, strict=True):
                    assert bound <= value * (1 + 1e-9), (layer.name, fused)


def fused(workload: Workload, accelerator: Accelerator, plan: SearchPlan) -> NetworkEvaluation:
    """A network whose output channels are unrolled, in tiles."""
    loop = Loop(dimension="K", size=4)
    mapping = SpatialMapping(unrollings=(Unrolling(array_dimension="D1", loops=(loop,)),))
    every_layer = LayerConstraints(target=DEFAULT_TARGET, spatial_mapping=mapping)
    network = NetworkProblem(
        workload=workload,
        accelerator=accelerator,
        constraints=MappingConstraints(entries=(every_layer,)),
    )
    return explore_network(network, plan).total


BUFFERS = 2048, 4096, 16384
NAMED = {"chain": chain, "residual": residual}


@pytest.mark.parametrize(
    ("name", "bits", "objective"),
    every(5, list(product(NAMED, BUFFERS, Objective))),
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


def test_free_spatial_mappings_have_a_rough_bound() -> None:
    """To compute, and to fetch weights and the image."""
    network = NetworkProblem(workload=chain(), accelerator=with_buffer(4096))
    total = explore_network(network, SearchPlan(objective=Objective.ENERGY, fuse=True)).total
    assert total.bound is not None
    assert 0.5 * sum(x.macs for x in chain().layers) < total.bound.value < total.energy
