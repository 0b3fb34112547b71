"""Computes a roofline: operational intensity of layers, bandwidth of memories."""

from collections.abc import Iterator
from typing import NamedTuple

from nestmap.model import (
    MOVEMENTS,
    Accelerator,
    CostModelEvaluation,
    InputError,
    LevelEvaluation,
    MemoryLevel,
    NetworkEvaluation,
)
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.format.numbers import TIMES


class Ceiling(NamedTuple):
    """The bandwidth of all instances of a memory, in bytes per cycle."""

    memory: str
    width: float
    text: str


class Point(NamedTuple):
    """A layer and a memory: MAC per byte moved there, MAC per cycle achieved."""

    layer: str
    memory: str
    intensity: float
    performance: float
    binding: bool
    """Whether this memory's ceiling is the lowest one above the layer."""
    weight: float
    """The latency of the layer and of those that repeat it."""


def peak(accelerator: Accelerator) -> float:
    """MAC per cycle at full utilization of the array."""
    return accelerator.array.units / accelerator.array.operation_cycles


def ceilings(accelerator: Accelerator) -> tuple[Ceiling, ...]:
    """The bandwidth of each memory, over all ports and instances, innermost first."""
    return tuple(_ceilings(accelerator))


def points(evaluation: NetworkEvaluation, accelerator: Accelerator) -> tuple[Point, ...]:
    """A point for each distinct layer and each memory that it accesses.

    Raises:
        InputError: if the accelerator is not that of the evaluation.
    """
    widths = {ceiling.memory: ceiling.width for ceiling in ceilings(accelerator)}
    weights: dict[str, float] = {}
    for result in evaluation.layers:
        first = result.repeats or result.cme.layer
        weights[first] = weights.get(first, 0.0) + result.cme.latency
    return tuple(
        point
        for result in evaluation.layers
        if result.repeats is None
        for point in _layer_points(result.cme, accelerator, widths, weights[result.cme.layer])
    )


def bytes_moved(cme: CostModelEvaluation, accelerator: Accelerator) -> dict[str, float]:
    """Bytes read and written in each memory, in whole words of its ports.

    Raises:
        InputError: if the accelerator is not that of the evaluation.
    """
    moved: dict[str, float] = {}
    for entry in cme.levels:
        moved[entry.memory] = moved.get(entry.memory, 0.0) + _bits(cme, accelerator, entry) / 8
    return {memory: total for memory, total in moved.items() if total}


def _ceilings(accelerator: Accelerator) -> Iterator[Ceiling]:
    for level in accelerator.memories:
        bits, instances = level.instance.peak_bandwidth, accelerator.instances_of(level)
        each = f"{bits:,} bit/cycle"
        text = each if instances == 1 else f"{instances:,} {TIMES} {each}"
        yield Ceiling(level.name, bits * instances / 8, text)


def _layer_points(
    cme: CostModelEvaluation, accelerator: Accelerator, widths: dict[str, float], weight: float
) -> Iterator[Point]:
    intensities = {name: cme.macs / n for name, n in bytes_moved(cme, accelerator).items()}
    lowest = min(intensities, key=lambda name: intensities[name] * widths[name], default=None)
    for memory, intensity in intensities.items():
        performance = cme.macs / cme.latency
        yield Point(cme.layer, memory, intensity, performance, memory == lowest, weight)


def _bits(cme: CostModelEvaluation, accelerator: Accelerator, entry: LevelEvaluation) -> float:
    """Bits of one operand read and written in a memory."""
    level, carried = _place(cme, accelerator, entry)
    bits = 0.0
    for movement, accesses in zip(MOVEMENTS, entry.costs.accesses, strict=True):
        port = level.port_index(carried, movement)
        if accesses and port is not None:
            bits += accesses * level.instance.ports[port].width_max
    return bits


def _place(
    cme: CostModelEvaluation, accelerator: Accelerator, entry: LevelEvaluation
) -> tuple[MemoryLevel, MemoryOperand]:
    """The memory, and its operand that the layer's operand is linked to."""
    where = f"layer {cme.layer} on {cme.accelerator}"
    levels = {level.name: level for level in accelerator.memories}
    if entry.memory not in levels:
        found = f"memory {entry.memory}, which {accelerator.name} lacks"
        raise InputError(where, found, "the accelerator of its evaluation")
    carried = {link.operand: link.memory_operand for link in cme.links}
    if entry.operand not in carried:
        raise InputError(where, f"no link of operand {entry.operand}", "its memory operand")
    return levels[entry.memory], carried[entry.operand]
