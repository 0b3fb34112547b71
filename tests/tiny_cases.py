"""Tiny cases for the brute-force simulator: every element is as wide as every port."""

from hypothesis import strategies as st

from nestmap.model import (
    OUTPUT,
    Accelerator,
    ArraySide,
    Loop,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    layer_from_equation,
)
from tests.single_values import BOOLEANS, among
from tests.strategies import Case, subsets, temporal_mappings

BITS = 8
EQUATIONS = (
    ("O[b][k]+=W[k][c]*I[b][c]", "B K C"),
    ("O[m][n]+=I[m][c]*W[c][n]", "M N C"),
    ("O[b][k]+=I[b][k][c]", "B K C"),
    ("O[b][g][k]+=W[g][k][c]*I[b][g][c]", "B G K C"),
    ("O[b][k]+=W[b][k]*I[b][k]", "B K"),
)


def memory(name: str, operands: tuple[str, ...], served: tuple[str, ...]) -> MemoryLevel:
    """A memory whose port moves exactly one element at a time."""
    port = MemoryPort(
        name="rw_port_1",
        kind=PortKind.READ_WRITE,
        width_min=BITS,
        width_max=BITS,
        allocation=tuple(PortUse(operand=x, movement=m) for x in operands for m in Movement),
    )
    instance = MemoryInstance(
        name=name, size=2**20, read_energy=1.0, write_energy=1.0, ports=(port,)
    )
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


@st.composite
def tiny_cases(draw: st.DrawFn) -> Case:
    """Layers of a few hundred operations, every element as wide as every port."""
    equation, dimensions = draw(among(EQUATIONS))
    sizes = {d: draw(among((1, 2, 3, 4, 6))) for d in dimensions.split()}
    layer = layer_from_equation(
        equation,
        sizes,
        name="tiny",
        precision={"W": BITS, "I": BITS, "O": BITS},
        partial_precision=BITS,
    )
    names = ("D1", "D2")
    array = OperationalArray(
        sides=tuple(ArraySide(name=name, size=6) for name in names), unit_energy=1.0
    )
    registers = [
        memory(f"register_{x}", (x,), draw(subsets(names)))
        for x in draw(subsets(("I1", "I2", OUTPUT)))
    ]
    everything = ("I1", "I2", OUTPUT)
    buffers = [memory("buffer", everything, names)] if draw(BOOLEANS) else []
    memories = (*registers, *buffers, memory("dram", everything, names))
    left, unrollings = dict(sizes), list[Unrolling]()
    for name in names:
        dimension = draw(among(tuple(sizes)))
        divisors = [n for n in range(1, left[dimension] + 1) if left[dimension] % n == 0]
        factor = draw(among(tuple(divisors)))
        left[dimension] //= factor
        unrollings.append(
            Unrolling(array_dimension=name, loops=(Loop(dimension=dimension, size=factor),))
        )
    spatial = SpatialProblem(
        problem=MappingProblem(
            layer=layer, accelerator=Accelerator(name="machine", array=array, memories=memories)
        ),
        spatial_mapping=SpatialMapping(unrollings=tuple(unrollings)),
    )
    return Case(spatial, draw(temporal_mappings(spatial)))
