"""The best row of a stream of batches, however the stream is cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from weakref import ReferenceType, ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    EvaluationBatch,
    Infeasibility,
    MappingBatch,
    Objective,
    SearchStatistics,
)
from nestmap.model.batch import Floats
from nestmap.search import best_of
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.properties.variants import examples

Row = tuple[float, int]
"""Energy and latency."""

SPATIAL = mapped(matmul(k=256, c=2), machine(memory("m", served="D1")))
FACTORS = loops("K 128 C 2")


def batch(
    rows: list[Row], first: int = 0, reasons: dict[str, int] | None = None
) -> EvaluationBatch:
    """Made-up costs; the cuts number the rows, from ``first`` on."""
    orders = np.tile(np.array([0, 1], np.uint8), (len(rows), 1))
    numbers = np.arange(first, first + len(rows), dtype=np.uint8)
    infeasible = tuple(Infeasibility(reason=r, count=n) for r, n in (reasons or {}).items())
    latencies = np.array([latency for _, latency in rows], np.float64)
    return EvaluationBatch(
        mappings=MappingBatch(SPATIAL, FACTORS, orders, numbers.reshape(-1, 1, 1)),
        energy=np.array([energy for energy, _ in rows], np.float64),
        latency0=latencies - 2,
        latency1=latencies - 1,
        latency2=latencies,
        ideal_cycles=1,
        statistics=SearchStatistics(evaluations=len(rows), infeasible=infeasible),
    )


def number(best: EvaluationBatch) -> int:
    """Which row it is."""
    assert len(best) == 1
    return int(best.mappings.cuts[0, 0, 0])


def value(row: Row, objective: Objective) -> float:
    energy, latency = row
    return {
        Objective.ENERGY: energy,
        Objective.LATENCY: float(latency),
        Objective.EDP: energy * latency,
    }[objective]


rows_of_costs = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from([3, 4, 8])), min_size=1, max_size=12
)
objectives = st.sampled_from(Objective)


@examples
@given(rows_of_costs, objectives)
def test_the_first_of_the_smallest_wins(rows: list[Row], objective: Objective) -> None:
    # of equal values the least energy, of equal energies the least latency, then the first
    expected = min(range(len(rows)), key=lambda i: (value(rows[i], objective), *rows[i], i))
    assert number(best_of([batch(rows)], objective)) == expected


@examples
@given(rows_of_costs, objectives, st.data())
def test_chunks_do_not_matter(rows: list[Row], objective: Objective, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4))
    edges = [0, *sorted(cuts), len(rows)]
    chunks = [batch(rows[low:high], low) for low, high in pairwise(edges)]
    best = best_of(iter(chunks), objective)
    assert number(best) == number(best_of([batch(rows)], objective))
    assert best.statistics.evaluations == len(rows)


def test_the_row_comes_with_all_its_costs() -> None:
    best = best_of([batch([(4.0, 9), (2.0, 8), (3.0, 7)])], Objective.ENERGY)
    costs = (best.energy, best.latency0, best.latency1, best.latency2)
    assert [column.tolist() for column in costs] == [[2.0], [6.0], [7.0], [8.0]]


def test_statistics_add_up_by_reason() -> None:
    batches = [
        batch([(1.0, 5)], reasons={"too small": 3, "too odd": 1}),
        batch([], reasons={"too small": 4}),
        batch([(2.0, 5), (3.0, 5)], reasons={"too late": 2}),
    ]
    statistics = best_of(batches, Objective.ENERGY).statistics
    assert statistics.evaluations == 3
    counts = {entry.reason: entry.count for entry in statistics.infeasible}
    assert counts == {"too small": 7, "too odd": 1, "too late": 2}


def test_empty_batches_do_not_win() -> None:
    full, empty = batch([(1.0, 5)], first=7), batch([])
    for batches in ([full, empty], [empty, full], [empty, full, empty]):
        assert number(best_of(batches, Objective.LATENCY)) == 7


def test_without_rows_there_is_none_but_the_reasons() -> None:
    best = best_of([batch([], reasons={"too small": 3}), batch([])], Objective.ENERGY)
    assert len(best) == 0
    assert best.statistics.infeasible == (Infeasibility(reason="too small", count=3),)


def test_without_batches_there_is_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="no batch"):
        best_of([], Objective.ENERGY)


def test_batches_are_not_kept() -> None:
    alive = 0

    def stream() -> Iterator[EvaluationBatch]:
        nonlocal alive
        for first in range(50):
            made = batch([(float(50 - first), 5)], first)
            references.append(ref(made.energy))
            yield made
            del made
            alive = max(alive, sum(reference() is not None for reference in references))

    references: list[ReferenceType[Floats]] = []
    best_of(stream(), Objective.ENERGY)
    assert alive <= 2
