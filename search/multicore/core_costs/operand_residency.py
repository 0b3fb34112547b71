"""The operands of a node that are too large for a core's memory and stream from off-chip memory.

Among operands that share an outermost memory, the smallest ones that fit together stay resident;
the tiles that the array uses of the others must also fit. Source: Stream (Symons et al., IEEE TC
2024), too large operands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nestmap.costmodel.zeros import stored_bits
from nestmap.model import IMC_CELLS, Accelerator, MappingProblem, MemoryLevel, SpatialMapping
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.units import Bits
from nestmap.search.spatial.unrolling import precision_of

Held = Mapping[MemoryOperand, Bits]
"""The bits that each memory operand has to hold."""


def streamed_operands(
    levels: Mapping[MemoryOperand, MemoryLevel], held: Held
) -> tuple[MemoryOperand, ...]:
    """The streamed operands: all but the smallest ones that fit their outermost memory together.

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
    """Sets of streamed operands, from the smallest on: each adds the largest resident operand."""
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
    """Whether the array's tiles of the streamed operands fit with the resident operands.

    True if they do for any of the unrollings.
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
    """Bits per memory that resident operands occupy beyond what the layer itself touches."""
    own = {carried: _bits(problem, x) for x, carried in problem.links.items()}
    extra: dict[str, Bits] = {}
    for operand, level in core.top_levels.items():
        if operand in held and operand not in streamed:
            more = max(0, held[operand] - own.get(operand, 0))
            extra[level.name] = extra.get(level.name, 0) + more
    return extra


def reduce_memory(accelerator: Accelerator) -> Accelerator:
    """The accelerator with inner memories reduced until all their instances fit those above.

    Temporal mappings fill memories from the inside out, so small memories of many units could
    otherwise take more of an operand than the outermost memory holds.
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


def _bits(problem: MappingProblem, name: LayerOperand) -> Bits:
    """The bits of a whole operand in its outermost memory."""
    layer, level = problem.layer, problem.levels(name)[-1]
    operand, form = layer.operand(name), level.compression_of(problem.links[name])
    return int(layer.elements(name) * stored_bits(operand.precision, operand.density, form))


def _slices(problem: MappingProblem, mapping: SpatialMapping) -> dict[MemoryOperand, Bits]:
    """The bits of each operand that the array uses at a time."""
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
