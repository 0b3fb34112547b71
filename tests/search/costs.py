"""Batches with made-up costs, whose rows can be told apart."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from nestmap.model import EvaluationBatch, Infeasibility, MappingBatch, Objective, SearchStatistics
from tests.costmodel.machines import loops, machine, mapped, matmul, memory

Row = tuple[float, int]
"""Energy and latency."""

SPATIAL = mapped(matmul(k=256, c=2), machine(memory("m", served="D1")))
FACTORS = loops("K 128 C 2")


def batch(
    rows: Sequence[Row], first: int = 0, reasons: dict[str, int] | None = None
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


def number(row: EvaluationBatch) -> int:
    """Which row it is."""
    assert len(row) == 1
    return int(row.mappings.cuts[0, 0, 0])


def numbers(batches: Iterable[EvaluationBatch]) -> list[int]:
    """Which rows they are."""
    return [int(cut) for batch in batches for cut in batch.mappings.cuts[:, 0, 0]]


def value(row: Row, objective: Objective) -> float:
    """The objective of a row."""
    energy, latency = row
    return {
        Objective.ENERGY: energy,
        Objective.LATENCY: float(latency),
        Objective.EDP: energy * latency,
    }[objective]


def ranked(rows: Sequence[Row], objective: Objective) -> list[int]:
    """The positions of the rows, best first."""
    return sorted(range(len(rows)), key=lambda i: (value(rows[i], objective), *rows[i], i))


def front(rows: Sequence[Row]) -> list[int]:
    """The positions of the first of each pair of costs that no other dominates."""
    costs = [
        row
        for row in set(rows)
        if not any(x[0] <= row[0] and x[1] <= row[1] for x in set(rows) - {row})
    ]
    return [rows.index(row) for row in sorted(costs)]


few_costs = st.tuples(st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from([3, 4, 8]))
many_costs = st.tuples(st.integers(0, 60).map(float), st.integers(3, 60))
rows_of_costs = st.lists(few_costs, max_size=12) | st.lists(many_costs, max_size=60)
"""With many equal rows, or with hardly any."""

objectives = st.sampled_from(Objective)


@st.composite
def streams(draw: st.DrawFn, rows: Sequence[Row]) -> list[EvaluationBatch]:
    """The rows cut into batches anywhere, batches without rows among them."""
    cuts = draw(st.lists(st.integers(0, len(rows)), max_size=5))
    edges = [0, *sorted(cuts), len(rows)]
    return [batch(rows[low:high], low) for low, high in pairwise(edges)]
