"""A small network on a small machine with several spatial mappings worth trying."""

from typing import Final

from nestmap.model import (
    Accelerator,
    LayerConstraints,
    MappingConstraints,
    NetworkProblem,
    Workload,
)
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, matmul, memory

MACHINE: Final[Accelerator] = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=512, served="D1 D2", width=64),
    memory("top", served="D1 D2", width=64),
    sides={"D1": 4, "D2": 2},
)
FIRST: Final = copy_with(matmul(k=8, c=12, b=2), {"name": "first"})
SECOND: Final = copy_with(matmul(k=6, c=10), {"name": "second"})
NETWORK: Final = Workload.of(FIRST, SECOND, name="net")
PROBLEM: Final = NetworkProblem(workload=NETWORK, accelerator=MACHINE)


def constrained(*entries: LayerConstraints) -> NetworkProblem:
    """The small network under constraints."""
    constraints = MappingConstraints(entries=entries)
    return NetworkProblem(workload=NETWORK, accelerator=MACHINE, constraints=constraints)
