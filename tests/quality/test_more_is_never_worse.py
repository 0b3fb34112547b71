"""More is never worse: more spatial mappings to search, a larger memory, a wider port.

No search has a limit of time. ``make stress`` (``NESTMAP_STRESS=1``) compares searches of whole
networks, which takes hours.
"""

from itertools import pairwise, product
from math import inf
from random import Random

import pytest

import nestmap
from nestmap.model import LayerConstraints, MappingProblem, MemoryLevel, Objective
from nestmap.model.base import copy_with
from nestmap.model.workload.builders.conv import conv2d
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from tests.quality.layers import bundled_layer
from tests.sweeps import STRESS, every

NETWORKS = ("light:squeezenet", "light:alexnet", "mobilenet-v2")
MACHINES = ("meta_prototype", "tpu_like", "eyeriss_like", "tesla_npu_like", "edge_tpu_like")
SPACES = range(40)
LARGER = (1, 2, 4, 8)
CASES = tuple(product(NETWORKS, MACHINES, (Objective.ENERGY, Objective.LATENCY)))
EQUAL = 1 + 1e-12


def test_twelve_spatial_mappings_are_not_worse_than_four() -> None:
    """Six of the twelve took all work, and the best of the four was not searched."""
    network = read_network("mobilenet-v2", "eyeriss_like", "free")
    [layer] = (x for x in network.workload.layers if x.name == "stage1/block0/depthwise")
    problem = MappingProblem(
        layer=layer, accelerator=network.accelerator, constraints=LayerConstraints()
    )
    few, more = (
        best_stage(SearchPlan.of({"spatial_mappings": most, "objective": "latency"}))(problem)
        for most in (4, 12)
    )
    assert more.latency2[0] <= few.latency2[0]


def test_a_layer_whose_spatial_mappings_take_much_work_is_proven() -> None:
    """Twelve of them found 122,112 cycles, when all of them left some without a search."""
    layer = bundled_layer("light:alexnet", "tesla_npu_like", "n8").problem
    problem = MappingProblem(
        layer=layer.layer, accelerator=layer.accelerator, constraints=LayerConstraints()
    )
    best = best_stage(SearchPlan(objective=Objective.LATENCY))(problem)
    assert best.latency2.tolist() == [122_112.0]
    assert best.statistics.unproven == 0


@pytest.mark.parametrize(("network", "machine", "objective"), CASES if STRESS else [])
def test_more_is_never_worse(network: str, machine: str, objective: Objective) -> None:
    choices = ((4, False), (12, False), (12, True), (40, True))
    few = [
        nestmap.explore(
            network, machine, "free", objective=objective, spatial_mappings=most, mixed=mixed
        )
        for most, mixed in choices
    ]
    bundled = nestmap.explore(network, machine, objective=objective)
    whole = nestmap.explore(network, machine, "free", objective=objective)
    found = [objective.value_of(x.total.energy, x.total.latency) for x in (bundled, *few, whole)]
    for fewer, more in pairwise(found):
        assert more <= fewer * EQUAL


@pytest.mark.parametrize("seed", every(8, SPACES))
def test_larger_memories_and_wider_ports_are_never_worse(seed: int) -> None:
    """An access costs the same, however many bits it may have."""
    random = Random(seed)
    machine = read_accelerator(random.choice(MACHINES))
    inputs, outputs = random.choice((16, 24, 32, 64, 96)), random.choice((16, 32, 48, 64, 96))
    size, kernel = random.choice((7, 12, 14, 20, 28)), random.choice((1, 3))
    image, weights = (1, inputs, size, size), (outputs, inputs, kernel, kernel)
    layer = conv2d("layer", image, weights, padding=kernel // 2)
    place, is_port = random.randrange(1, len(machine.memories) - 1), random.random() < 0.5
    objective = random.choice((Objective.ENERGY, Objective.LATENCY))
    search = best_stage(SearchPlan(objective=objective))
    found: list[float] = []
    for factor in LARGER:
        levels = list(machine.memories)
        levels[place] = grown(levels[place], factor, is_port=is_port)
        best = search(
            MappingProblem(
                layer=layer,
                accelerator=copy_with(machine, {"memories": tuple(levels)}),
                constraints=LayerConstraints(),
            )
        )
        found.append(min(best.values(objective).tolist(), default=inf))
    for smaller, larger in pairwise(found):
        assert larger <= smaller * EQUAL


def grown(level: MemoryLevel, factor: int, *, is_port: bool) -> MemoryLevel:
    """A memory with wider ports, or of another size: a quarter of its own, times the factor."""
    instance = level.instance
    ports = tuple(copy_with(x, {"width_max": x.width_max * factor}) for x in instance.ports)
    size = max(1, instance.size * factor // 4)
    changed = copy_with(instance, {"ports": ports} if is_port else {"size": size})
    return copy_with(level, {"instance": changed})
