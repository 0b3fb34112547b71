"""Which operands of a node are too large for a core's memory, and stream from off the chip.

Of those that share an outermost memory the smallest ones stay that fit together; there has to be
room for what the array works on at a time of the others. Source: Stream (Symons et al., IEEE TC
2024), too large operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nestmap.model import IMC_CELLS, Accelerator, Layer, MappingProblem, MemoryLevel, SpatialMapping
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.units import Bits
from nestmap.search.spatial.unrolling import precision_of

Held = Mapping[MemoryOperand, Bits]
"""Bits that each memory operand has to hold."""


def streamed_operands(
    levels: Mapping[MemoryOperand, MemoryLevel], held: Held
) -> tuple[MemoryOperand, ...]:
    """The operands that stream: all but the smallest ones that fit their outermost memory together.

    ``levels`` are the outermost memories of the operands.
    """
    streamed: list[MemoryOperand] = []
    for level in _distinct(levels[operand] for operand in held):
        room = level.instance.size
        for operand in sorted(_held_in(level, levels, held), key=lambda x: (held[x], x)):
            room -= held[operand]
            if room < 0:
                streamed.append(operand)
    return tuple(sorted(streamed))


def by_size(
    levels: Mapping[MemoryOperand, MemoryLevel], held: Held
) -> Iterator[tuple[MemoryOperand, ...]]:
    """What streams at least, then more and more: the largest operand next that still stays."""
    streamed = streamed_operands(levels, held)
    yield streamed
    staying = sorted((x for x in held if x not in streamed), key=lambda x: (held[x], x))
    while staying:
        streamed = tuple(sorted((*streamed, staying.pop())))
        yield streamed


def fits_with_tile(
    problem: MappingProblem,
    core: ComputeCore,
    held: Held,
    streamed: Sequence[MemoryOperand],
    mappings: Iterable[SpatialMapping],
) -> bool:
    """Whether the array's tiles of the streamed operands fit next to what stays.

    With any of the unrollings, that is.
    """
    levels = core.top_levels
    slices = [_slices(problem, mapping) for mapping in mappings]
    for level in _distinct(levels[operand] for operand in streamed):
        here = _held_in(level, levels, held)
        stays = sum(held[operand] for operand in here if operand not in streamed)
        passing = [operand for operand in here if operand in streamed]
        needed = max(sum(each[operand] for operand in passing) for each in slices)
        if stays and stays + needed > level.instance.size:
            return False
    return True


def reserved_bits(
    problem: MappingProblem, core: ComputeCore, held: Held, streamed: Sequence[MemoryOperand]
) -> dict[str, Bits]:
    """Bits by memory that staying operands take beyond what the layer itself touches of them."""
    own = {carried: _bits(problem.layer, x) for x, carried in problem.links.items()}
    extra: dict[str, Bits] = {}
    for operand, level in core.top_levels.items():
        if operand in held and operand not in streamed:
            more = max(0, held[operand] - own.get(operand, 0))
            extra[level.name] = extra.get(level.name, 0) + more
    return extra


def reduce_memory(accelerator: Accelerator) -> Accelerator:
    """The accelerator with inner memories that all instances together fit those above.

    Filled from the inside out, as temporal mappings are, small memories of many units may take more
    of an operand than the outermost one can pass on to them.
    """
    return copy_with(
        accelerator,
        {"memories": tuple(_tightened(accelerator, level) for level in accelerator.memories)},
    )


def _tightened(accelerator: Accelerator, level: MemoryLevel) -> MemoryLevel:
    tops = [accelerator.levels_of(operand)[-1] for operand in level.operands]
    if level in tops or level.name == IMC_CELLS:
        return level
    count = accelerator.instances_of(level)
    room = min(top.instance.size // (count * len(top.operands)) for top in tops)
    size = min(level.instance.size, max(1, room))
    return copy_with(level, {"instance": copy_with(level.instance, {"size": size})})


def _bits(layer: Layer, name: LayerOperand) -> Bits:
    return layer.elements(name) * layer.operand(name).precision


def _slices(problem: MappingProblem, mapping: SpatialMapping) -> dict[MemoryOperand, Bits]:
    """What the array works on at a time of each operand, in bits."""
    layer = problem.layer
    unrolled = {d: min(n, mapping.factor_of(d)) for d, n in layer.sizes.items()}
    slices: dict[MemoryOperand, Bits] = {}
    for operand in layer.operands:
        bits = precision_of(problem, operand.name)
        for index in operand.indices:
            whole = tuple(layer.sizes[d] for d in index.dimensions)
            bits *= index.touched(tuple(unrolled[d] for d in index.dimensions), whole)
        slices[problem.links[operand.name]] = bits
    return slices


def _held_in(
    level: MemoryLevel, levels: Mapping[MemoryOperand, MemoryLevel], held: Held
) -> list[MemoryOperand]:
    return [operand for operand in held if levels[operand].name == level.name]


def _distinct(levels: Iterable[MemoryLevel]) -> tuple[MemoryLevel, ...]:
    """Each memory once."""
    return tuple({level.name: level for level in levels}.values())
