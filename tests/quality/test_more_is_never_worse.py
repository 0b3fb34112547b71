"""A search of more spatial mappings never finds a worse mapping, where time does not limit it.

``make stress`` (``NESTMAP_STRESS=1``) compares searches of whole networks, which takes hours.
"""

from itertools import pairwise, product

import pytest

import nestmap
from nestmap.model import LayerConstraints, MappingProblem, Objective
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from tests.quality.layers import bundled_layer
from tests.sweeps import STRESS

NETWORKS = ("light:squeezenet", "light:alexnet", "mobilenet-v2")
MACHINES = ("meta_prototype", "tpu_like", "eyeriss_like", "tesla_npu_like", "edge_tpu_like")
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
    every = nestmap.explore(network, machine, "free", objective=objective)
    found = [objective.value_of(x.total.energy, x.total.latency) for x in (bundled, *few, every)]
    for fewer, more in pairwise(found):
        assert more <= fewer * EQUAL
