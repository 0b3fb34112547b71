"""Exact counting: words and busy cycles of whole mappings, executed element by element."""

from collections.abc import Sequence
from math import ceil

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    OUTPUT,
    Accelerator,
    ArraySide,
    Layer,
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
    needed_movements,
)
from tests.costmodel.machines import convolution, machine, mapped, memory, ordered
from tests.executor import execute
from tests.single_values import BOOLEANS, among, between
from tests.strategies import Case, subsets, temporal_mappings
from tests.sweeps import STRESS

SIDES = ("D1", "D2", "D3")
WIDTHS = ((8, 8), (8, 16), (8, 32), (16, 64), (24, 24), (3, 12))
STEPS = ((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (3, 2))
OPERANDS = ("I1", "I2", OUTPUT)


def drawn_memory(
    draw: st.DrawFn, name: str, operands: tuple[str, ...], served: tuple[str, ...], is_top: bool
) -> MemoryLevel:
    """A memory with a port for each operand, of any width."""
    ports: list[MemoryPort] = []
    for operand in operands:
        narrow, wide = draw(among(WIDTHS))
        moves = needed_movements(operand, is_top=is_top)
        ports.append(
            MemoryPort(
                name=f"port_{operand}",
                kind=PortKind.READ_WRITE,
                width_min=narrow,
                width_max=wide,
                allocation=tuple(PortUse(operand=operand, movement=m) for m in moves),
            )
        )
    instance = MemoryInstance(
        name=name,
        size=2**30,
        read_energy=1.0,
        write_energy=1.0,
        ports=tuple(ports),
        window_reuse=not is_top and operands == ("I1",) and draw(BOOLEANS),
    )
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


@st.composite
def tiny_layers(draw: st.DrawFn, axes: str, most: int) -> Layer:
    """Convolutions and matrix products of some hundred operations, of sizes that divide badly."""
    windows = [f"{w}{a}" for a in axes for w in "OF"]
    others, sizes = draw(st.permutations("BKC")), dict.fromkeys(["B", "K", "C", *windows], 1)
    order = [*windows, *others] if draw(BOOLEANS) else draw(st.permutations([*others, *windows]))
    for name in order:
        sizes[name] = draw(between(1, min(most, 5 if name.startswith("F") else 9)))
        most //= sizes[name]
    relations: list[str] = []
    for axis in axes.lower():
        stride, dilation = draw(among(STEPS))
        relations.append(f"i{axis}={stride}*o{axis}+{dilation}*f{axis}")
    out, kernel, inner = ("".join(f"[{w}{a}]" for a in axes.lower()) for w in "ofi")
    return layer_from_equation(
        f"O[b][k]{out}+=W[k][c]{kernel}*I[b][c]{inner}",
        sizes,
        name="tiny",
        relations=relations,
        precision={"W": draw(among((4, 8))), "I": draw(among((4, 8, 16))), "O": 8},
        partial_precision=draw(among((8, 16, 24))),
    )


@st.composite
def drawn_machines(draw: st.DrawFn, served: st.SearchStrategy[tuple[str, ...]]) -> Accelerator:
    """Memories of single operands, perhaps one of all below the top."""
    memories = [
        drawn_memory(draw, f"{x}_{i}", (x,), draw(served), is_top=False)
        for x in OPERANDS
        for i in range(draw(between(0, 2)))
    ]
    if draw(BOOLEANS):
        memories.append(drawn_memory(draw, "buffer", OPERANDS, draw(served), is_top=False))
    memories.append(drawn_memory(draw, "top", OPERANDS, SIDES, is_top=True))
    array = OperationalArray(
        sides=tuple(ArraySide(name=name, size=5) for name in SIDES),
        unit_energy=1.0,
        holds_inputs=draw(BOOLEANS),
    )
    return Accelerator(
        name="machine", array=array, memories=tuple(memories), free_first_sum=draw(BOOLEANS)
    )


def drawn_mapping(
    draw: st.DrawFn, layer: Layer, machine: Accelerator, dimensions: Sequence[str]
) -> Case:
    """A mapping that unrolls these dimensions anywhere, with rests anywhere."""
    unrollings, done = list[Unrolling](), dict.fromkeys(layer.sizes, 1)
    for side in SIDES:
        large = tuple(d for d in dimensions if layer.sizes[d] > done[d])
        is_unrolled = draw(between(0, 4)) > 0
        if large and is_unrolled:
            dimension = draw(among(large))
            factor = draw(between(2, min(5, -(-layer.sizes[dimension] // done[dimension]))))
            done[dimension] *= factor
            loops = (Loop(dimension=dimension, size=factor),)
            unrollings.append(Unrolling(array_dimension=side, loops=loops))
    spatial = SpatialProblem(
        problem=MappingProblem(layer=layer, accelerator=machine),
        spatial_mapping=SpatialMapping(unrollings=tuple(unrollings)),
    )
    assume(not shares_in_part(spatial))
    return Case(spatial, draw(temporal_mappings(spatial)))


@st.composite
def any_cases(draw: st.DrawFn) -> Case:
    """Tiny layers on arrays of three dimensions."""
    layer = draw(tiny_layers(draw(among(("", "X", "XY"))), 400))
    return drawn_mapping(draw, layer, draw(drawn_machines(subsets(SIDES))), tuple(layer.sizes))


@st.composite
def window_cases(draw: st.DrawFn) -> Case:
    """Windows along one axis, both of whose dimensions the array unrolls at one level."""
    layer = draw(tiny_layers("X", 90))
    served = st.sampled_from([(), SIDES])
    return drawn_mapping(draw, layer, draw(drawn_machines(served)), ("OX", "FX"))


def shares_in_part(spatial: SpatialProblem) -> bool:
    """Whether both dimensions of an index are unrolled, over units of different memories.

    What such units share is a mean, as in the reference.
    """
    levels = spatial.problem.levels("I")
    for index in spatial.layer.operand("I").indices:
        places = set[tuple[str, ...]]()
        dimensions = set[str]()
        for side in SIDES:
            for loop in spatial.spatial_mapping.on(side):
                if loop.dimension in index.dimensions and loop.size > 1:
                    served = tuple(x.name for x in levels if side in x.served_dimensions)
                    places.add(served[:1])
                    dimensions.add(loop.dimension)
        if len(places) > 1 and len(dimensions) > 1:
            return True
    return False


CLIPPED_WINDOWS = Case(
    mapped(
        convolution({"K": 1, "C": 1, "OX": 7, "FX": 5}),
        machine(
            memory("register", operands="I1"),
            memory("top", served="D1 D2"),
            sides={"D1": 3, "D2": 2},
        ),
        {"D1": "OX 3", "D2": "FX 2"},
    ),
    ordered("OX 3 FX 3", {"O": (2,), "W": (2,), "I": (2, 2)}),
)
"""Outputs 3, 3 and 1 beside taps 3 and 2, in registers: both dimensions end within a unit."""


def test_units_with_clipped_windows_share_the_largest_one() -> None:
    cme = evaluate(CLIPPED_WINDOWS.spatial, CLIPPED_WINDOWS.temporal)
    # by position: two full windows, the larger of 1 output with 3 taps and 3 with 2, and 1 with 2
    assert cme.level("I", 1).costs.accesses_of(Movement.RD_TO_LOW) == 5 + 5 + 4 + 2


@example(CLIPPED_WINDOWS)
@settings(max_examples=5000 if STRESS else 500, deadline=None)
@given(any_cases() | window_cases())
def test_words_and_busy_cycles_are_those_of_an_execution(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    busy = {(port.memory, port.port): port.busy for port in cme.port_stalls}
    executed = dict.fromkeys(busy, 0)
    for level in cme.levels:
        memory = case.spatial.problem.levels(level.operand)[level.level]
        operand = case.spatial.problem.links[level.operand]
        is_top = level.level + 1 == len(case.spatial.problem.levels(level.operand))
        for move in needed_movements(operand, is_top=is_top):
            words = execute(case.spatial, case.temporal, level.operand, level.level, move)
            port = memory.instance.ports[memory.port_index(operand, move) or 0]
            accesses = ceil(words.narrow * port.width_min / port.width_max)
            assert level.costs.accesses_of(move) == accesses, (level.operand, level.level, move)
            executed[memory.name, port.name] += words.busy
    assert busy == executed
    assert all((cycles or 0) <= cme.latency for cycles in busy.values())
