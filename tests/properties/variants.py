"""Changed copies of problems: another memory, other ports, other names."""

from collections.abc import Mapping

from hypothesis import settings

from nestmap.model import (
    Accelerator,
    Layer,
    LayerConstraints,
    MemoryLevel,
    MemoryPort,
    OperandLink,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from tests.sweeps import some_of

# The first call of a kernel compiles it, so no example may have a deadline.
examples = settings(max_examples=some_of(100), deadline=None)
few_examples = settings(max_examples=some_of(30), deadline=None)


def with_accelerator(spatial: SpatialProblem, accelerator: Accelerator) -> SpatialProblem:
    """The same layer and mapping on another machine."""
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"accelerator": accelerator})})


def with_layer(spatial: SpatialProblem, layer: Layer) -> SpatialProblem:
    """Another layer on the same machine."""
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"layer": layer})})


def with_links(spatial: SpatialProblem) -> SpatialProblem:
    """The same problem with all operand links said, so that they do not follow from names."""
    links = tuple(
        OperandLink(operand=operand, memory_operand=memory_operand)
        for operand, memory_operand in spatial.problem.links.items()
    )
    constraints = LayerConstraints(links=links)
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"constraints": constraints})})


def with_memory(
    spatial: SpatialProblem, position: int, updates: Mapping[str, object]
) -> SpatialProblem:
    """The memory at that position with other values."""
    memories = list(spatial.accelerator.memories)
    level = memories[position]
    memories[position] = copy_with(level, {"instance": copy_with(level.instance, dict(updates))})
    return with_accelerator(spatial, copy_with(spatial.accelerator, {"memories": tuple(memories)}))


def with_port(
    spatial: SpatialProblem, position: tuple[int, int], updates: Mapping[str, object]
) -> SpatialProblem:
    """One port, given by its memory and its place there, with other values."""
    memory, place = position
    ports = list(spatial.accelerator.memories[memory].instance.ports)
    ports[place] = copy_with(ports[place], dict(updates))
    return with_memory(spatial, memory, {"ports": tuple(ports)})


def with_private_ports(spatial: SpatialProblem) -> SpatialProblem:
    """Every movement gets a port to itself, as wide as the one it came through."""
    accelerator = spatial.accelerator
    memories = tuple(_with_private_ports(level) for level in accelerator.memories)
    return with_accelerator(spatial, copy_with(accelerator, {"memories": memories}))


def _with_private_ports(level: MemoryLevel) -> MemoryLevel:
    ports: list[MemoryPort] = []
    for port in level.instance.ports:
        for use in port.allocation:
            name = f"{port.name}_{len(ports)}"
            ports.append(copy_with(port, {"name": name, "allocation": (use,)}))
    return copy_with(level, {"instance": copy_with(level.instance, {"ports": tuple(ports)})})
