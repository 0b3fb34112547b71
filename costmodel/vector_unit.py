"""The cost of a vector operator: operations on lanes, and the traffic of its tensors."""

from __future__ import annotations

from typing import Final

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.model import (
    OUTPUT,
    Accelerator,
    InputError,
    MemoryLevel,
    Movement,
    Tensor,
    VectorEvaluation,
    VectorNode,
    VectorUnit,
)
from nestmap.model.units import Count, Cycles, PicoJoules

_MOST: Final = 2**53
"""Counts up to this number are exact as floats, as everywhere in the cost model."""


def evaluate_vector(
    node: VectorNode, accelerator: Accelerator, home: MemoryLevel | None = None
) -> VectorEvaluation:
    """The cost of one vector operator on an accelerator: energies in pJ, latencies in cycles.

    Every input is read once and every output written once, in ``home``, or else where
    :attr:`~nestmap.model.Accelerator.vector_memory` specifies: the operator takes the place of
    the array, so it uses the ports that serve the output towards the array (``O, tl`` to read,
    ``O, fl`` to write). A tensor takes ``ceil(bits / width_max)`` words of a port and each word
    the memory's energy per access, as in the cost model of layers; a word takes a cycle.
    If the memory has several instances, words are spread over them. Reads
    and writes overlap unless one port serves both. Computation takes
    ``ceil(operations / lanes)`` cycles and overlaps with the traffic. Without a vector unit
    computation has no cost, and only the traffic counts.

    There is no published source for this: it is nestmap's own convention, the compulsory traffic
    of an operator that is neither fused with a layer nor split.

    Raises:
        InputError: if no memory holds outputs, or a count exceeds 2**53.
    """
    memory = home or accelerator.vector_memory
    if memory is None:
        raise InputError(
            f"accelerator {accelerator.name}", "no memory for outputs", f"a memory with {OUTPUT}"
        )
    _check(node)
    ports = _port(memory, Movement.RD_TO_LOW), _port(memory, Movement.WR_BY_LOW)
    words = _words(node.inputs, memory, ports[0]), _words(node.outputs, memory, ports[1])
    busiest = sum(words) if ports[0] == ports[1] else max(words)
    unit = accelerator.vector_unit
    computing = _compute_cycles(node, unit)
    moving = _ceil(busiest, accelerator.instances_of(memory))
    return VectorEvaluation(
        node=node.name,
        operator=node.operator,
        memory=memory.name,
        operations=node.total_operations,
        bits_read=node.bits_read,
        bits_written=node.bits_written,
        words_read=words[0],
        words_written=words[1],
        operation_energy=operation_energy(node.total_operations, unit),
        memory_energy=traffic_energy(words, memory),
        compute_cycles=computing,
        traffic_cycles=moving,
        static_energy=leakage_of(accelerator) * max(computing, moving),
    )


def _check(node: VectorNode) -> None:
    most = max(node.total_operations, node.bits_read, node.bits_written)
    if most > _MOST:
        found = f"{most} operations or bits"
        raise InputError(f"vector operator {node.name}", found, "at most 2**53")


def _port(memory: MemoryLevel, movement: Movement) -> int:
    port = memory.port_index(OUTPUT, movement)
    assert port is not None, "the accelerator's constructor demands these ports"
    return port


def _words(tensors: tuple[Tensor, ...], memory: MemoryLevel, port: int) -> Count:
    """Full-width words of the tensors; each tensor starts in a new word."""
    width = memory.instance.ports[port].width_max
    return sum(_ceil(tensor.bits, width) for tensor in tensors)


def traffic_energy(words: tuple[Count, Count], memory: MemoryLevel) -> PicoJoules:
    """Energy of the words read and written."""
    instance = memory.instance
    return words[0] * instance.read_energy + words[1] * instance.write_energy


def operation_energy(operations: Count, unit: VectorUnit | None) -> PicoJoules:
    """Energy of scalar operations: none without a vector unit."""
    return operations * unit.operation_energy if unit else 0.0


def _compute_cycles(node: VectorNode, unit: VectorUnit | None) -> Cycles:
    return _ceil(node.total_operations, unit.lanes) if unit else 0


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)
