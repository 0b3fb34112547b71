"""The cost of a vector operator: operations on lanes, and the traffic of its tensors."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.model import (
    OUTPUT,
    Accelerator,
    InputError,
    MemoryLevel,
    Movement,
    VectorEvaluation,
    VectorNode,
    VectorUnit,
)
from nestmap.model.units import Count, Cycles, PicoJoules, Width

_MOST: Final = 2**53
"""Counts up to this number are exact as floats, as everywhere in the cost model."""


def evaluate_vector(
    node: VectorNode,
    accelerator: Accelerator,
    home: MemoryLevel | None = None,
    sources: Sequence[MemoryLevel | None] | None = None,
) -> VectorEvaluation:
    """The cost of one vector operator on an accelerator: energies in pJ, latencies in cycles.

    Every input is read once and every output written once, in ``home``, or else where
    :attr:`~nestmap.model.Accelerator.vector_memory` specifies; ``sources`` are the memories of the
    inputs where they differ. The operator takes the place of the array, so it uses the ports that
    serve the output towards the array (``O, tl`` to read, ``O, fl`` to write). A tensor takes
    ``ceil(bits / width_max)`` words of a port and each word the memory's energy per access, as in
    the cost model of layers; a word takes a cycle. If a memory has several instances, words are
    spread over them. Reads and writes overlap unless one port serves both. Computation takes
    ``ceil(operations / lanes)`` cycles and overlaps with the traffic. Without a vector unit
    computation has no cost, and only the traffic counts.

    There is no published source for this: it is nestmap's own convention, the compulsory traffic
    of an operator. One that runs in tiles is evaluated tile by tile.

    Raises:
        InputError: if no memory holds outputs, or a count exceeds 2**53.
    """
    memory = home or accelerator.vector_memory
    if memory is None:
        raise InputError(
            f"accelerator {accelerator.name}", "no memory for outputs", f"a memory with {OUTPUT}"
        )
    _check(node)
    usual = accelerator.vector_memory or memory
    read_from = [memory] * len(node.inputs) if sources is None else [x or usual for x in sources]
    traffic = list(_traffic(node, memory, read_from))
    unit = accelerator.vector_unit
    computing = _compute_cycles(node, unit)
    moving = max((_busy_cycles(x, traffic, accelerator) for x in traffic), default=0)
    words = _words(traffic)
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
        memory_energy=_traffic_energies(traffic),
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


class _Traffic(NamedTuple):
    """The full-width words of a tensor at a port of a memory; each tensor starts in a new word."""

    memory: MemoryLevel
    port: int
    read: Count
    written: Count


def _traffic(
    node: VectorNode, memory: MemoryLevel, sources: Sequence[MemoryLevel]
) -> Iterator[_Traffic]:
    """What each tensor takes at its memory."""
    for level, tensor in zip(sources, node.inputs, strict=True):
        port = _port(level, Movement.RD_TO_LOW)
        yield _Traffic(level, port, _ceil(tensor.bits, _width(level, port)), 0)
    port = _port(memory, Movement.WR_BY_LOW)
    for tensor in node.outputs:
        yield _Traffic(memory, port, 0, _ceil(tensor.bits, _width(memory, port)))


def _width(memory: MemoryLevel, port: int) -> Width:
    return memory.instance.ports[port].width_max


def _traffic_energies(traffic: Sequence[_Traffic]) -> PicoJoules:
    """The energy of all words, memory by memory."""
    memories = {x.memory.name: x.memory for x in traffic}
    parts = (
        traffic_energy(_words(x for x in traffic if x.memory.name == name), memory)
        for name, memory in memories.items()
    )
    return sum(parts, 0.0)


def _words(traffic: Iterable[_Traffic]) -> tuple[Count, Count]:
    """All words that are read, and all that are written."""
    parts = [(x.read, x.written) for x in traffic]
    return sum(read for read, _ in parts), sum(written for _, written in parts)


def _busy_cycles(one: _Traffic, traffic: Sequence[_Traffic], accelerator: Accelerator) -> Cycles:
    """The cycles in which the port of one tensor is busy with all that it moves."""
    words = _words(x for x in traffic if (x.memory.name, x.port) == (one.memory.name, one.port))
    return _ceil(sum(words), accelerator.instances_of(one.memory))


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
