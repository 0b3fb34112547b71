"""Small networks on a machine with one buffer, and what of them is fused."""

from functools import lru_cache
from itertools import product

from nestmap.model import (
    Accelerator,
    FusedSegment,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.workload.builders import Precision
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Window
from tests.costmodel.machines import machine, memory


def with_buffer(bits: int) -> Accelerator:
    """Four units with registers for sums, a buffer of so many bits, and a far memory."""
    top = memory("top", size=2**40, served="D1", width=64)
    far = copy_with(top.instance, {"read_energy": 100.0, "write_energy": 100.0})
    return machine(
        memory("register", size=32, operands="O", width=32),
        memory("buffer", size=bits, served="D1", width=64),
        copy_with(top, {"instance": far}),
        sides={"D1": 4},
    )


@lru_cache
def chain(layers: int = 3, size: int = 12) -> Workload:
    """Convolutions of 3 x 3 on an image, one after the other, the second one with a stride."""
    graph = ImageGraph(Precision())
    x = graph.given("image", (1, 2, size, size))
    for n in range(layers):
        x = graph.conv(f"conv{n}", x, 4, Window(3, 2 if n == 1 else 1), then="Relu")
    return Workload(name="chain", nodes=graph.nodes("chain"))


@lru_cache
def residual(size: int = 12) -> Workload:
    """Two convolutions beside a branch that skips them, and one after the addition."""
    graph = ImageGraph(Precision())
    first = graph.conv("first", graph.given("image", (1, 2, size, size)), 4, Window(3))
    second = graph.conv("second", graph.conv("inner", first, 4, Window(3)), 4, Window(3))
    summed = graph.vector("Add", "sum", second, first)
    graph.conv("last", summed, 2, Window(3))
    return Workload(name="residual", nodes=graph.nodes("residual"))


NETWORKS = {"chain": chain, "residual": residual}
BUFFERS = (2048, 4096, 8192, 16384)


def found(
    workload: Workload, accelerator: Accelerator, objective: Objective, *, fuse: bool
) -> NetworkEvaluation:
    """The best of a network, with tensors on chip; with ``fuse``, in tiles as well."""
    plan = SearchPlan(objective=objective, count_vector=True, keep_on_chip=not fuse, fuse=fuse)
    problem = NetworkProblem(workload=workload, accelerator=accelerator)
    return explore_network(problem, plan).total


def segments_of(total: NetworkEvaluation) -> tuple[FusedSegment, ...]:
    """The segments of a result, of which there are some."""
    assert total.on_chip is not None
    assert total.on_chip.segments
    return total.on_chip.segments


def ends_of(total: NetworkEvaluation) -> dict[tuple[str, str], str]:
    """Why neighbours run apart, by the last node of the one and the first of the other."""
    assert total.on_chip is not None
    return {(x.last, x.next): x.reason for x in total.on_chip.ends}


CASES = list(product(NETWORKS, BUFFERS, Objective))
