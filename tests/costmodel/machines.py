"""Small machines, layers and mappings, made in a line each."""

from collections.abc import Mapping

from nestmap.model import (
    Accelerator,
    ArraySide,
    Cuts,
    Layer,
    Loop,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    layer_from_equation,
    needed_movements,
)

ALL = "I1 I2 O"
READ_ENERGY, WRITE_ENERGY, UNIT_ENERGY = 1.0, 2.0, 0.5


def memory(
    name: str, size: int = 2**30, operands: str = ALL, served: str = "", width: int = 8
) -> MemoryLevel:
    """A memory with one port for each operand."""
    names = tuple(operands.split())
    instance = MemoryInstance(
        name=name,
        size=size,
        read_energy=READ_ENERGY,
        write_energy=WRITE_ENERGY,
        ports=tuple(_port(operand, width) for operand in names),
    )
    return MemoryLevel(instance=instance, operands=names, served_dimensions=tuple(served.split()))


def _port(operand: str, width: int) -> MemoryPort:
    movements = needed_movements(operand, is_top=False)
    return MemoryPort(
        name=f"port_{operand}",
        kind=PortKind.READ_WRITE,
        width_min=width,
        width_max=width,
        allocation=tuple(PortUse(operand=operand, movement=movement) for movement in movements),
    )


def machine(*memories: MemoryLevel, sides: Mapping[str, int] | None = None) -> Accelerator:
    """Memories, innermost first, around an array; without sides a single unit."""
    sizes = sides or {"D1": 1}
    array = OperationalArray(
        sides=tuple(ArraySide(name=name, size=n) for name, n in sizes.items()),
        unit_energy=UNIT_ENERGY,
    )
    return Accelerator(name="machine", array=array, memories=memories)


def matmul(k: int, c: int, b: int = 1) -> Layer:
    """A matrix product in 8 bit, partial sums in 16 bit."""
    return layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]", {"B": b, "K": k, "C": c}, name="layer", operator="Gemm"
    )


def convolution(sizes: Mapping[str, int], relation: str = "ix=1*ox+1*fx") -> Layer:
    """A convolution along one axis; sizes of K, C, OX and FX."""
    return layer_from_equation(
        "O[k][ox]+=W[k][c][fx]*I[c][ix]", sizes, name="layer", relations=[relation]
    )


def loops(text: str) -> tuple[Loop, ...]:
    """``"K 4 C 2"`` as loops."""
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(Loop(dimension=name, size=int(n)) for name, n in pairs)


def mapped(
    layer: Layer, accelerator: Accelerator, unrolled: Mapping[str, str] | None = None
) -> SpatialProblem:
    """A layer on a machine; ``unrolled`` holds loops by array dimension."""
    unrollings = tuple(
        Unrolling(array_dimension=name, loops=loops(text))
        for name, text in (unrolled or {}).items()
    )
    return SpatialProblem(
        problem=MappingProblem(layer=layer, accelerator=accelerator),
        spatial_mapping=SpatialMapping(unrollings=unrollings),
    )


def ordered(order: str, cuts: Mapping[str, tuple[int, ...]]) -> TemporalMapping:
    """Loops, innermost first, and the cuts of each operand."""
    return TemporalMapping(
        order=loops(order),
        cuts=tuple(Cuts(operand=name, positions=positions) for name, positions in cuts.items()),
    )
