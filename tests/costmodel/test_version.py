"""The version of the cost model goes up whenever figures change."""

from collections.abc import Iterator
from random import Random
from typing import Final

import numpy as np

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.costmodel.version import VERSION
from nestmap.model import (
    Counting,
    Cuts,
    Loop,
    MappingBatch,
    MemoryLevel,
    SpatialProblem,
    TemporalMapping,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from tests.bundled import problems
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.counting import by_reference
from tests.digest import Figures, digest
from tests.search.temporal.exact.problems import Kind, seeded_problem
from tests.strategies import primes

DIGESTS: Final = {
    1: "2e0e6a000a8e529e",
    2: "6e75c7076ba1eb20",
    3: "c949e1e1b65dd8d3",
    4: "d9b0a9df9bae33ec",
    5: "2c08de758dd44581",
    6: "f692eb05ebc9e089",
    7: "8648cdd13262e59d",
}
"""What the cost model of each version says of the sample."""

MAPPINGS: Final = 12
"""Mappings for each problem of the sample."""

MEANT: Final = f"""
A mapping costs something else than it did under version {VERSION} of the cost model.
If that is not meant, mend the cost model. If it is, raise VERSION in costmodel/version.py by one,
so that stores do not reuse what they know, and add the digest on the left here as that of the new
version. If only the sample has changed (tests/bundled.py, fields of CostModelEvaluation), put it in
place of the old one."""


def uneven_problems() -> Iterator[SpatialProblem]:
    """Words of a third of a port in three units; several factors that divide no loop.

    At last windows that slide where units share words of a tile.
    """
    local = widened(memory("local"), 24)
    yield mapped(matmul(k=3, c=7), machine(local, sides={"D1": 3}), {"D1": "K 3"})
    yield mapped(matmul(k=4, c=5), machine(widened(memory("local"), 24)))
    layer = layer_from_equation(
        "O[b][k][m]+=W[k]*I[b][k][m]", {"B": 3, "K": 9, "M": 5}, name="uneven"
    )
    sides = {"D1": 2, "D2": 2, "D3": 2}
    top = memory("top", served=" ".join(sides))
    unrolled = {"D1": "B 2", "D2": "K 2", "D3": "M 2"}
    yield mapped(layer, machine(memory("local"), top, sides=sides), unrolled)
    yield seeded_problem(Kind.WINDOWS, 73, 20_000, Counting.EXACT).spatial


def widened(level: MemoryLevel, wide: int) -> MemoryLevel:
    """The memory with ports of at most ``wide`` bit/cycle."""
    ports = tuple(copy_with(x, {"width_max": wide}) for x in level.instance.ports)
    return copy_with(level, {"instance": copy_with(level.instance, {"ports": ports})})


def mappings(spatial: SpatialProblem) -> Iterator[TemporalMapping]:
    """Random orders and cuts, always the same; what the memories hold need not fit them."""
    random = Random(7)
    loops = [
        Loop(dimension=dimension, size=prime)
        for dimension, size in spatial.temporal_sizes.items()
        for prime in primes(size)
    ]
    levels = {x.name: len(spatial.problem.levels(x.name)) for x in spatial.layer.operands}
    for _ in range(MAPPINGS):
        order = tuple(sorted(loops, key=lambda _: random.random()))
        cuts = tuple(
            Cuts(operand=name, positions=positions(random, count, len(order)))
            for name, count in levels.items()
        )
        yield TemporalMapping(order=order, cuts=cuts)


def positions(random: Random, levels: int, loops: int) -> tuple[int, ...]:
    below = sorted(int(random.random() * (loops + 1)) for _ in range(levels - 1))
    return (*below, loops)


def figures() -> Iterator[Figures]:
    """All fields of all evaluations; by columns and in full they are the same."""
    drawn = (*problems(), *uneven_problems())
    for spatial in (*map(by_reference, drawn), *drawn):
        for mapping in mappings(spatial):
            cme = evaluate(spatial, mapping)
            batch = evaluate_batch(MappingBatch.of(spatial, mapping))
            columns = (batch.energy, batch.latency0, batch.latency1, batch.latency2)
            in_full = (cme.energy, cme.latency0, cme.latency1, cme.latency2)
            assert tuple(np.concatenate(columns).tolist()) == in_full
            yield cme.model_dump(mode="json", exclude={"area_unit", "dataflows"})  # no figures
            yield list(in_full)


def test_the_version_goes_up_when_figures_change() -> None:
    assert digest(figures()) == DIGESTS.get(VERSION), MEANT


def test_every_version_has_other_figures() -> None:
    assert max(DIGESTS) == VERSION == len(DIGESTS) == len(set(DIGESTS.values()))
