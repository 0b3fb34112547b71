"""Spatial mappings that are searched once, beside all temporal mappings of each."""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.flatten import flatten
from nestmap.model import (
    Layer,
    LayerConstraints,
    MappingProblem,
    MappingType,
    SpatialProblem,
    layer_from_equation,
)
from nestmap.model.arrays import Floats
from nestmap.model.base import copy_with
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from nestmap.search.temporal.exact.equal_rows import count_equals, equal_rows, exchanged_dimensions
from tests.bundled import problems
from tests.costmodel.machines import machine, memory
from tests.search.temporal.exact.oracle import all_mappings, count_mappings, feasible
from tests.search.temporal.exact.problems import Kind, draw_machine, seeded_problem

SEEDS = 30
MOST_MAPPINGS = 3000
MOST_PAIRS = 4
"""Pairs of equal rows of a layer that are compared."""


@pytest.mark.parametrize("kind", Kind)
def test_equal_rows_cost_the_same(kind: Kind) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        problem = seeded_problem(kind, seed, 500).spatial.problem
        seen.update(compare(copy_with(problem, {"constraints": LayerConstraints()}), seed))
    assert seen["equal"]


@pytest.mark.parametrize("kind", Kind)
def test_rows_with_exchanged_dimensions_cost_the_same(kind: Kind) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        problem = MappingProblem(layer=square(random), accelerator=draw_machine(random, kind))
        seen.update(compare(problem, seed))
    assert seen["equal"]
    assert seen["exchanged"]


def compare(problem: MappingProblem, seed: int) -> Iterator[str]:
    """Compares the costs of some equal rows; yields what they are."""
    candidates = all_spatial_mappings(problem, mixed=True)
    same = equal_rows(candidates)
    assert (same[same] == same).all()
    rows = np.flatnonzero(same != np.arange(len(same))).tolist()
    for row in Random(seed).sample(rows, min(MOST_PAIRS, len(rows))):
        one, other = candidates.spatial(row), candidates.spatial(int(same[row]))
        if count_mappings(one) > MOST_MAPPINGS:
            continue
        drains_later = flatten(one).drain > flatten(other).drain
        for least, found in zip(costs(other), costs(one), strict=True):
            assert len(least) == len(found)
            assert drains_later or least.tolist() == found.tolist(), (seed, row)
            assert (least <= found).all(), (seed, row)
        yield "equal" if one.temporal_sizes == other.temporal_sizes else "exchanged"


def costs(spatial: SpatialProblem) -> tuple[Floats, Floats]:
    """The energies and the latencies of all mappings that fit, ascending."""
    energy, latency = list[float](), list[float]()
    for batch in all_mappings(spatial):
        found = evaluate_batch(feasible(batch, MappingType.UNEVEN))
        energy += found.energy.tolist()
        latency += found.latency2.tolist()
    return np.sort(energy), np.sort(latency)


def square(random: Random) -> Layer:
    """A small square convolution."""
    size, kernel, stride = (random.choice(x) for x in ((4, 5, 6), (1, 1, 2), (1, 2)))
    return conv(
        (stride, stride),
        {"K": random.choice((2, 3, 5)), "C": random.choice((1, 3)), "OX": size, "OY": size}
        | {"FX": kernel, "FY": kernel},
    )


def conv(strides: tuple[int, int], sizes: Mapping[str, int]) -> Layer:
    """A convolution."""
    return layer_from_equation(
        "O[k][ox][oy]+=W[k][c][fx][fy]*I[c][ix][iy]",
        sizes,
        name="conv",
        relations=[f"ix={strides[0]}*ox+1*fx", f"iy={strides[1]}*oy+1*fy"],
    )


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (conv((1, 1), {"K": 8, "C": 4, "OX": 6, "OY": 6, "FX": 3, "FY": 3}), "OY OX FY FX"),
        (conv((2, 2), {"K": 8, "C": 4, "OX": 6, "OY": 6, "FX": 1, "FY": 1}), "OY OX FY FX"),
        (conv((1, 1), {"K": 8, "C": 4, "OX": 6, "OY": 6, "FX": 3, "FY": 2}), "OX OY FX FY"),
        (conv((2, 1), {"K": 8, "C": 4, "OX": 6, "OY": 6, "FX": 3, "FY": 3}), "OX OY FX FY"),
        (conv((1, 1), {"K": 8, "C": 4, "OX": 6, "OY": 5, "FX": 3, "FY": 3}), "OX OY FX FY"),
    ],
)
def test_dimensions_are_exchanged_if_the_layer_stays_the_same(layer: Layer, expected: str) -> None:
    top = memory("top", served="D1 D2", width=64)
    problem = MappingProblem(layer=layer, accelerator=machine(top, sides={"D1": 4, "D2": 4}))
    names = list(layer.sizes)
    assert [names[d] for d in exchanged_dimensions(problem)] == ["K", "C", *expected.split()]


def test_no_rows_have_no_equals() -> None:
    candidates = all_spatial_mappings(next(iter(problems())).problem)
    assert not len(equal_rows(candidates.take(np.empty(0, np.int64))))


def test_most_rows_of_bundled_machines_are_equal_to_others() -> None:
    shares = [distinct_share(x.problem) for x in problems()]
    assert min(shares) < 0.2
    assert sum(shares) / len(shares) < 0.6


def distinct_share(problem: MappingProblem) -> float:
    """The share of all spatial mappings that is searched."""
    free = copy_with(problem, {"constraints": LayerConstraints()})
    same = equal_rows(all_spatial_mappings(free, mixed=True)).tolist()
    return len(set(same)) / len(same)


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.IMC])
def test_equal_rows_are_counted(kind: Kind) -> None:
    counts = list[int]()
    for seed in range(SEEDS):
        candidates = all_spatial_mappings(seeded_problem(kind, seed, 500).spatial.problem)
        same = equal_rows(candidates)
        for row in range(0, len(candidates), 5):
            counts.append(count_equals(candidates.spatial(row), candidates))
            assert counts[-1] == np.count_nonzero(same == same[row]) - 1
    assert 0 in counts
    assert max(counts) > 0
