"""Small random problems with everything that the search has to respect.

One generator serves two: with ``random.Random(seed)`` the problems are the same every time, and
Hypothesis draws the same choices from random numbers that it can make smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from random import Random
from typing import Final

from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    Accelerator,
    Counting,
    Dataflow,
    Layer,
    LayerConstraints,
    Loop,
    MappingProblem,
    MappingType,
    Objective,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.model.workload.densities import set_layer_densities
from nestmap.search import best_of, loma
from nestmap.search.temporal.loop_factors import loop_factors
from tests.properties.variants import with_accelerator
from tests.search.temporal.exact.oracle import count_mappings
from tests.search.temporal.exact.random_machines import (
    imc_machine,
    leaking,
    plain_machine,
    skipping_machine,
    sparse_machine,
    stationary_machine,
    wide,
    window_machine,
)
from tests.search.temporal.orderings import constrained
from tests.search.temporal.stationary import has_dataflow
from tests.strategies import FORMS, LayerForm

PRIMES: Final = (2, 2, 2, 2, 2, 3, 3, 5, 7)
FACTORS: Final = (0, 1, 2, *[3, 4, 5, 6] * 5)
"""The number of prime factors that are left in time."""

MOST_MAPPINGS: Final = 40_000
"""Brute force takes about a microsecond for each."""


class Kind(StrEnum):
    """What is special about a problem."""

    PLAIN = "plain"
    EVEN = "even"
    ORDERED = "ordered"
    PINNED = "pinned"
    LEAKING = "leaking"
    IMC = "imc"
    FREE_SUMS = "free_sums"
    STRICT_PORTS = "strict_ports"
    WINDOWS = "windows"
    ZEROS = "zeros"
    DATAFLOW = "dataflow"
    HOPS = "hops"
    SLOW_HOPS = "slow_hops"
    SKIPPING = "skipping"


@dataclass(frozen=True)
class Small:
    """A problem that brute force solves, and which mappings are asked for."""

    spatial: SpatialProblem
    mapping_type: MappingType


def seeded_problem(
    kind: Kind, seed: int, most: int = MOST_MAPPINGS, counting: Counting = Counting.REFERENCE
) -> Small:
    """The problem of that kind and number, with at most ``most`` mappings."""
    return counted(draw_problem(Random(f"{kind} {seed}"), kind, most), counting)


def counted(small: Small, counting: Counting) -> Small:
    """The same problem in this counting."""
    spatial = with_accelerator(small.spatial, small.spatial.accelerator.counted(counting))
    return Small(spatial, small.mapping_type)


@st.composite
def small_problems(draw: st.DrawFn, most: int = MOST_MAPPINGS) -> Small:
    """Problems of all kinds."""
    kind, counting = draw(st.sampled_from(Kind)), draw(st.sampled_from(Counting))
    return counted(draw_problem(draw(st.randoms(use_true_random=False)), kind, most), counting)


def draw_problem(random: Random, kind: Kind, most: int) -> Small:
    """A layer on a machine with up to six prime factors in time.

    There are fewer where six have more than ``most`` mappings.
    """
    machine = draw_machine(random, kind)
    form = random.choice([x for x in FORMS if suits(kind, x)])
    dimensions = form.dimensions.split()
    mapping = draw_unrolling(random, machine.array.sizes, dimensions)
    moving = [d for _, *axis in form.axes for d in axis] if kind is Kind.WINDOWS else []
    temporal = [
        Loop(dimension=random.choice(dimensions + 3 * moving), size=random.choice(PRIMES))
        for _ in range(random.choice(FACTORS))
    ]
    look = Look.drawn(random, dimensions)
    shares = {x: random.choice((1.0, random.uniform(0.01, 1))) for x in "WIO"}
    densities = shares if kind in (Kind.ZEROS, Kind.SKIPPING) else {}
    while True:
        layer = set_layer_densities(layer_of(form, look, temporal, mapping), densities)
        problem = MappingProblem(layer=layer, accelerator=machine)
        spatial = SpatialProblem(problem=problem, spatial_mapping=mapping)
        spatial = constrained(spatial, draw_constraints(random, kind, spatial))
        if count_mappings(spatial) <= most:
            break
        temporal.pop()
    return Small(spatial, MappingType.EVEN if kind is Kind.EVEN else MappingType.UNEVEN)


def draw_machine(random: Random, kind: Kind) -> Accelerator:
    """An accelerator with what is special about the problem."""
    machine = imc_machine(random) if kind is Kind.IMC else plain_machine(random)
    if kind is Kind.LEAKING:
        machine = leaking(random, machine)
    elif kind is Kind.FREE_SUMS:
        machine = copy_with(machine, {"free_first_sum": True})
    elif kind is Kind.STRICT_PORTS:
        machine = copy_with(leaking(random, machine), {"strict_ports": True})
    elif kind is Kind.WINDOWS:
        machine = window_machine(random)
    elif kind is Kind.DATAFLOW:
        machine = stationary_machine(random)
    elif kind is Kind.HOPS:
        machine = with_array(machine, "hop_energy", random.choice((0.01, 1.0, 30.0)))
    elif kind is Kind.SLOW_HOPS:
        machine = leaking(random, random.choice((machine, window_machine(random))))
        machine = with_array(wide(machine), "hop_bandwidth", random.choice((1, 1, 2, 5)))
    elif kind is Kind.SKIPPING:
        machine = skipping_machine(random)
    elif kind is Kind.ZEROS:
        machine = sparse_machine(random, machine)
    return machine


def with_array(machine: Accelerator, field: str, value: float) -> Accelerator:
    """The machine whose array has this value in a field."""
    return copy_with(machine, {"array": copy_with(machine.array, {field: value})})


def suits(kind: Kind, form: LayerForm) -> bool:
    """Whether such a layer has what is special about the problem."""
    match kind:
        case Kind.WINDOWS:
            return bool(form.axes)
        case Kind.DATAFLOW:  # each operand is used again
            return form.operator in {"Gemm", "MatMul", "Conv"}
        case _:
            return True


def draw_unrolling(
    random: Random, units: Mapping[str, int], dimensions: Sequence[str]
) -> SpatialMapping:
    """Up to two loops on each array dimension; one loop on several of them, too."""
    unrollings: list[Unrolling] = []
    for name, most in units.items():
        loops: list[Loop] = []
        for dimension in random.sample(dimensions, min(len(dimensions), random.randint(0, 2))):
            factor = random.randint(1, most // prod(loop.size for loop in loops))
            loops.append(Loop(dimension=dimension, size=factor))
        if loops:
            unrollings.append(Unrolling(array_dimension=name, loops=tuple(loops)))
    return SpatialMapping(unrollings=tuple(unrollings))


@dataclass(frozen=True)
class Look:
    """What a layer has beside its equation and the iterations in time."""

    missing: Mapping[str, float]  # share of the last iteration of a dimension that is not needed
    steps: tuple[tuple[int, int], ...]  # stride and dilation of each derived index
    bits: Mapping[str, int]
    partial_bits: int

    @classmethod
    def drawn(cls, random: Random, dimensions: Sequence[str]) -> Look:
        """Mostly whole unrollings; any precision from 1 to 32 bit."""
        final = random.choice((1, 4, 8, 16, 32))
        return cls(
            missing={d: random.choice((0.0, 0.0, random.random())) for d in dimensions},
            steps=tuple((random.randint(1, 3), random.randint(1, 2)) for _ in range(2)),
            bits={"W": random.choice((1, 4, 8)), "I": random.choice((2, 4, 8, 16)), "O": final},
            partial_bits=max(final, random.choice((4, 8, 16, 24, 32))),
        )


def layer_of(
    form: LayerForm, look: Look, temporal: Sequence[Loop], mapping: SpatialMapping
) -> Layer:
    """A layer that is left with these temporal loops under the mapping."""
    sizes: dict[str, int] = {}
    for dimension in form.dimensions.split():
        iterations = prod(loop.size for loop in temporal if loop.dimension == dimension)
        unrolled = mapping.factor_of(dimension)
        missing = int(look.missing[dimension] * unrolled) if iterations > 1 else 0
        sizes[dimension] = iterations * unrolled - missing
    relations = [
        f"{name.lower()}={stride}*{a.lower()}+{dilation}*{b.lower()}"
        for (name, a, b), (stride, dilation) in zip(form.axes, look.steps, strict=False)
    ]
    return layer_from_equation(
        form.equation,
        sizes,
        name="layer",
        operator=form.operator,
        relations=relations,
        precision=look.bits,
        partial_precision=look.partial_bits,
    )


def draw_constraints(random: Random, kind: Kind, spatial: SpatialProblem) -> LayerConstraints:
    """What the user fixes."""
    match kind:
        case Kind.ORDERED:
            return draw_ordering(random, spatial)
        case Kind.PINNED:
            return draw_levels(random, spatial)
        case Kind.DATAFLOW:
            return LayerConstraints(dataflow=draw_dataflow(random, spatial))
        case _:
            return LayerConstraints()


def draw_dataflow(random: Random, spatial: SpatialProblem) -> Dataflow:
    """Mostly one that the best mapping does not have by itself."""
    batches = map(evaluate_batch, loma(spatial, 4, MappingType.UNEVEN))
    best = best_of(batches, random.choice(list(Objective)))
    if not len(best) or random.random() < 0.2:
        return random.choice(list(Dataflow))
    mapping = best.mappings.row(0)
    others = [x for x in Dataflow if not has_dataflow(spatial, mapping, x)]
    return random.choice(others or list(Dataflow))


def draw_ordering(random: Random, spatial: SpatialProblem) -> LayerConstraints:
    """An ordering that can be met: loops inside and outside, of a size or any of a dimension.

    Some sizes are products of two factors.
    """
    loops = [loop for loop in loop_factors(spatial, None) if loop.size > 1]
    random.shuffle(loops)
    items: list[OrderedLoop] = []
    for _ in range(random.randint(1, 3)):
        if not loops:
            break
        loop = loops.pop()
        size = loop.size
        same = [other for other in loops if other.dimension == loop.dimension]
        if same and random.random() < 0.4:
            loops.remove(same[0])
            size *= same[0].size
        is_open = size == loop.size and random.random() < 0.4
        items.append(OrderedLoop(dimension=loop.dimension, size=None if is_open else size))
    inner = random.randint(0, len(items))
    return LayerConstraints(
        temporal_ordering=tuple(items[:inner]), outer_ordering=tuple(items[inner:])
    )


def draw_levels(random: Random, spatial: SpatialProblem) -> LayerConstraints:
    """A whole order with the loops of each memory, which leave one mapping; it may not fit."""
    loops = [loop for loop in loop_factors(spatial, None) if loop.size > 1]
    random.shuffle(loops)
    levels: list[PinnedLevels] = []
    for operand in spatial.layer.operands:
        *inner, top = (level.name for level in spatial.problem.levels(operand.name))
        cuts = sorted(random.randint(0, len(loops)) for _ in inner)
        memories = tuple(
            PinnedMemory(memory=name, loops=cut)
            for name, cut in zip([*inner, top], [*cuts, len(loops)], strict=True)
        )
        levels.append(PinnedLevels(operand=operand.name, memories=memories))
    return LayerConstraints(
        temporal_ordering=tuple(OrderedLoop(dimension=x.dimension, size=x.size) for x in loops),
        memory_levels=tuple(levels),
    )
