"""Hypothesis strategies for valid models: layers, accelerators, spatial and temporal mappings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from hypothesis import strategies as st

from nestmap.model import (
    MOVEMENTS,
    OUTPUT,
    Accelerator,
    AffineIndex,
    ArraySide,
    Cuts,
    Layer,
    LayerConstraints,
    Loop,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperandLink,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Term,
    Unrolling,
    layer_from_equation,
)
from tests.single_values import BOOLEANS, among, between, either, numbers

MOST_MACS = 2**17
"""Layers stay this small: the reference needs memory and time in proportion to the cycles."""

INPUTS = ("I1", "I2")
MEMORY_OPERANDS = (*INPUTS, OUTPUT)

INNER_SIZES = (8, 16, 32, 64, 64, 128, 512, 512, 4096, 2**15, 2**18, 2**23)
TOP_SIZES = (10**10, 10**10, 10**10, 2**23, 4096)
"""Bits of a memory: registers and buffers, mostly with room for more than one tile; DRAM."""

PORT_PREFIXES = {PortKind.READ: "r", PortKind.WRITE: "w", PortKind.READ_WRITE: "rw"}
"""The reference accepts ports of these names only."""


@dataclass(frozen=True)
class LayerForm:
    """The shape of a family of layers: an equation and its derived indices.

    ``axes`` holds per derived index the dimension that strides and the one that dilates.
    """

    operator: str
    equation: str
    dimensions: str
    axes: tuple[tuple[str, str, str], ...] = ()


FORMS = (
    LayerForm("Gemm", "O[b][k]+=W[k][c]*I[b][c]", "B K C"),
    LayerForm("MatMul", "O[h][m][n]+=W[h][c][n]*I[h][m][c]", "H M N C"),
    LayerForm("Gemm", "O[m][n]+=I[m][c]*W[c][n]", "M N C"),
    LayerForm("Scale", "O[b][k]+=W[]*I[b][k]", "B K"),
    LayerForm("Add", "O[b][k][oy]+=W[b][k][oy]*I[b][k][oy]", "B K OY"),
    LayerForm("Sum", "O[b][k]+=I[b][k][c]", "B K C"),
    LayerForm("Pool", "O[b][k][oy]+=I[b][k][iy]", "B K OY FY", (("IY", "OY", "FY"),)),
    LayerForm("Conv", "O[b][k][ox]+=W[k][c][fx]*I[b][c][ix]", "B K C OX FX", (("IX", "OX", "FX"),)),
    LayerForm(
        "Conv",
        "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        "B G K C OY OX FY FX",
        (("IX", "OX", "FX"), ("IY", "OY", "FY")),
    ),
    LayerForm(
        "DepthwiseConv",
        "O[b][g][oy][ox]+=W[g][fy][fx]*I[b][g][iy][ix]",
        "B G OY OX FY FX",
        (("IX", "OX", "FX"), ("IY", "OY", "FY")),
    ),
)


ENERGIES = st.integers(0, 900_000).map(lambda thousandths: thousandths / 1000)
ARRAY_SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=4)
INPUT_ORDERS = st.permutations(INPUTS)


@st.composite
def layers(draw: st.DrawFn, most_macs: int = MOST_MACS) -> Layer:
    """Layers of all forms, with at most ``most_macs`` multiply-accumulates."""
    form = draw(among(FORMS))
    sizes = draw(loop_sizes(form.dimensions.split(), most_macs))
    relations: list[str] = []
    axes: dict[str, tuple[int | None, tuple[int, int]]] = {}
    all_known = draw(BOOLEANS)
    for name, a, b in form.axes:
        stride, dilation = draw(between(1, 4)), draw(between(1, 3))
        relations.append(f"{name.lower()}={stride}*{a.lower()}+{dilation}*{b.lower()}")
        reached = 1 + stride * (sizes[a] - 1) + dilation * (sizes[b] - 1)
        whole = (sizes[a], sizes[b])
        values = AffineIndex(
            terms=(Term(dimension=a, coefficient=stride), Term(dimension=b, coefficient=dilation))
        ).touched(whole, whole)
        padding = (draw(between(0, min(2, values - 1))), 0)
        skipped = draw(between(0, stride - 1)) if all_known else 0
        length = reached - padding[0] + skipped if all_known else None
        axes[name] = (length, padding)
    final = draw(among((4, 8, 16, 32)))
    return layer_from_equation(
        form.equation,
        sizes,
        name="layer",
        operator=form.operator,
        relations=relations,
        precision={"W": draw(among((1, 4, 8, 16))), "I": draw(among((4, 8, 16))), "O": final},
        partial_precision=max(final, draw(among((8, 16, 24, 32)))),
        axes=axes,
    )


@st.composite
def loop_sizes(draw: st.DrawFn, dimensions: Sequence[str], most: int) -> dict[str, int]:
    """A size for each dimension, their product at most ``most``; primes and ones among them."""
    sizes, room = dict.fromkeys(dimensions, 1), most
    for dimension in draw(st.permutations(dimensions)):
        highest = min(room, 7 if dimension.startswith("F") else 64)
        sizes[dimension] = draw(between(1, highest))
        room //= sizes[dimension]
    return sizes


@st.composite
def accelerators(draw: st.DrawFn) -> Accelerator:
    """1 to 4 array dimensions; 1 to 5 memories, shared or not, some levels missing for some."""
    sizes = draw(ARRAY_SIZES)
    sides = tuple(ArraySide(name=f"D{i}", size=n) for i, n in enumerate(sizes, start=1))
    names = [side.name for side in sides]
    array = OperationalArray(
        sides=sides,
        unit_energy=draw(energies()),
        unit_area=draw(among((0.0, 0.5, 1.0))),
        systolic_dimensions=draw(subsets(names)),
    )
    return Accelerator(name="machine", array=array, memories=draw(hierarchies(names)))


@st.composite
def hierarchies(draw: st.DrawFn, names: Sequence[str]) -> tuple[MemoryLevel, ...]:
    """Memories, innermost first; a memory serves all dimensions that those below it serve."""
    holders = draw(st.lists(subsets(MEMORY_OPERANDS, at_least=1), max_size=4))
    missing = tuple(x for x in MEMORY_OPERANDS if not any(x in operands for operands in holders))
    # Mostly one memory holds everything, as DRAM does; sometimes operands never meet.
    top = draw(among((MEMORY_OPERANDS, MEMORY_OPERANDS, missing)))
    if top:
        holders.append(top)
    served: dict[str, set[str]] = {x: set() for x in MEMORY_OPERANDS}
    levels: list[MemoryLevel] = []
    for number, operands in enumerate(holders):
        is_top = number == len(holders) - 1 and draw(between(0, 4)) > 0
        here = set(names) if is_top else set(draw(subsets(names)))
        here = here.union(*(served[x] for x in operands))
        for x in operands:
            served[x] = here
        size = draw(among(TOP_SIZES if number == len(holders) - 1 else INNER_SIZES))
        levels.append(draw(memory_levels(f"m{number}", operands, sorted(here), size)))
    return tuple(levels)


@st.composite
def memory_levels(
    draw: st.DrawFn, name: str, operands: Sequence[str], served: Sequence[str], size: int
) -> MemoryLevel:
    """A memory for the given operands, with ports of any arrangement."""
    instance = MemoryInstance(
        name=name,
        size=size,
        read_energy=draw(energies()),
        write_energy=draw(energies()),
        area=draw(among((0.0, 0.25, 3.0))),
        ports=draw(port_lists(operands)),
        double_buffered=draw(among((False, False, False, True))),
    )
    return MemoryLevel(instance=instance, operands=tuple(operands), served_dimensions=tuple(served))


@st.composite
def port_lists(draw: st.DrawFn, operands: Sequence[str]) -> tuple[MemoryPort, ...]:
    """Ports that serve every movement of the operands, each movement once."""
    needed = [(Movement.RD_TO_LOW, Movement.WR_BY_HIGH), MOVEMENTS]
    uses = [
        PortUse(operand=x, movement=movement) for x in operands for movement in needed[x == OUTPUT]
    ]
    splits_kinds = draw(BOOLEANS)
    number = draw(between(1, 4))
    groups: dict[tuple[PortKind, int], list[PortUse]] = {}
    for use in uses:
        kind = PortKind.READ_WRITE
        if splits_kinds:
            kind = PortKind.READ if use.movement.reads else PortKind.WRITE
        groups.setdefault((kind, draw(between(1, number))), []).append(use)
    ports: list[MemoryPort] = []
    for (kind, i), allocation in sorted(groups.items()):
        low = draw(either((1, 8, 12, 16, 32, 64), 1, 64))
        ports.append(
            MemoryPort(
                name=f"{PORT_PREFIXES[kind]}_port_{i}",
                kind=kind,
                width_min=low,
                width_max=draw(either((low, 2 * low, 8 * low), low, 512)),
                allocation=tuple(allocation),
            )
        )
    return tuple(ports)


def energies() -> st.SearchStrategy[float]:
    """Energies in pJ with three decimals, as tables have them; zero among them."""
    return ENERGIES


def subsets(names: Sequence[str], at_least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of the names, in their order."""
    return _subsets(tuple(names), at_least)


@lru_cache(maxsize=256)
def _subsets(names: tuple[str, ...], at_least: int) -> st.SearchStrategy[tuple[str, ...]]:
    chosen = st.sets(st.sampled_from(names), min_size=at_least)
    return chosen.map(lambda some: tuple(name for name in names if name in some))


@st.composite
def mapping_problems(draw: st.DrawFn, most_macs: int = MOST_MACS) -> MappingProblem:
    """A layer on an accelerator; either input travels as ``I1``."""
    layer = draw(layers(most_macs))
    chosen = draw(INPUT_ORDERS)
    links = tuple(
        OperandLink(operand=operand.name, memory_operand=memory_operand)
        for operand, memory_operand in zip(layer.inputs, chosen, strict=False)
    )
    constraints = LayerConstraints(links=links if draw(BOOLEANS) else ())
    return MappingProblem(layer=layer, accelerator=draw(accelerators()), constraints=constraints)


@st.composite
def spatial_problems(draw: st.DrawFn, most_macs: int = MOST_MACS) -> SpatialProblem:
    """A layer on an accelerator, unrolled."""
    return draw(unrolled_problems(draw(mapping_problems(most_macs))))


@st.composite
def unrolled_problems(draw: st.DrawFn, problem: MappingProblem) -> SpatialProblem:
    """Up to two loops on each array dimension; whole and ragged, one loop on several dimensions."""
    left = dict(problem.layer.sizes)
    unrollings: list[Unrolling] = []
    for name, units in problem.accelerator.array.sizes.items():
        room, loops = units, list[Loop]()
        for dimension in draw(st.lists(among(tuple(left)), max_size=2, unique=True)):
            factor = draw(between(1, min(room, left[dimension])))
            room //= factor
            left[dimension] //= factor
            loops.append(Loop(dimension=dimension, size=factor))
        if loops:
            unrollings.append(Unrolling(array_dimension=name, loops=tuple(loops)))
    mapping = SpatialMapping(unrollings=tuple(unrollings))
    return SpatialProblem(problem=problem, spatial_mapping=mapping)


@st.composite
def temporal_mappings(draw: st.DrawFn, spatial: SpatialProblem) -> TemporalMapping:
    """Any order of any factors, cut anywhere; what the memories hold need not fit them."""
    loops: list[Loop] = []
    for dimension, size in spatial.layer.sizes.items():
        iterations = ceil(size / spatial.spatial_mapping.factor_of(dimension))
        loops += (Loop(dimension=dimension, size=n) for n in draw(factorings(iterations)))
    order = draw(st.permutations(loops)) or [
        Loop(dimension=spatial.layer.loops[0].dimension, size=1)
    ]
    cuts = tuple(
        Cuts(operand=x.name, positions=draw(cut_positions(spatial, x.name, len(order))))
        for x in spatial.layer.operands
    )
    return TemporalMapping(order=tuple(order), cuts=cuts)


@st.composite
def cut_positions(
    draw: st.DrawFn, spatial: SpatialProblem, operand: str, loops: int
) -> tuple[int, ...]:
    """Ascending cut positions for the operand's levels, the top one at the end."""
    below = len(spatial.problem.levels(operand)) - 1
    inner = draw(numbers(loops, below))
    return (*sorted(inner), loops)


@st.composite
def factorings(draw: st.DrawFn, number: int) -> tuple[int, ...]:
    """Factors above 1 with the given product: primes, some of them multiplied together."""
    factors: list[int] = []
    for prime in primes(number):
        joins = draw(BOOLEANS)
        if factors and joins:
            factors[draw(between(0, len(factors) - 1))] *= prime
        else:
            factors.append(prime)
    return tuple(factors)


def primes(number: int) -> list[int]:
    """The prime factors, smallest first.

    >>> primes(12)
    [2, 2, 3]
    """
    factors, divisor = list[int](), 2
    while number > 1:
        while number % divisor:
            divisor += 1
        factors.append(divisor)
        number //= divisor
    return factors


@dataclass(frozen=True)
class Case:
    """A mapping to evaluate."""

    spatial: SpatialProblem
    temporal: TemporalMapping


@st.composite
def evaluated_cases(draw: st.DrawFn, most_macs: int = MOST_MACS) -> Case:
    """A layer, an accelerator and both mappings."""
    spatial = draw(spatial_problems(most_macs))
    return Case(spatial, draw(temporal_mappings(spatial)))
