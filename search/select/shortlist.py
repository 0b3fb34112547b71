"""Selects a few evaluations from a stream that is too long to store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from nestmap.model import EvaluationBatch, Layer, MappingProblem, SearchStatistics
from nestmap.model.arrays import Floats, Rows
from nestmap.model.base import copy_with

Columns = tuple[Floats, ...]

Compared = Callable[[EvaluationBatch], Columns]
"""The columns by which the rows of a batch are compared."""

Choose = Callable[[Columns], Rows]
"""Maps such columns to the indices of the rows to keep, in order.

Ties must go to the first row, and a row rejected among some rows must be rejected among any
superset of them, so that the batches of a stream do not affect the result.
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """The rows selected among all evaluations of a layer, in order, each as a batch of one.

    They may belong to different spatial mappings. ``statistics`` are those of the entire stream;
    each row has them too. If there are no rows, no mapping fits, and the statistics give the
    reasons.
    """

    problem: MappingProblem
    rows: tuple[EvaluationBatch, ...]
    statistics: SearchStatistics

    def __len__(self) -> int:
        return len(self.rows)

    def for_layer(self, layer: Layer) -> Shortlist:
        """The same rows and bounds for another layer with equal content, without a search."""
        return Shortlist(
            problem=copy_with(self.problem, {"layer": layer}),
            rows=tuple(row.for_layer(layer) for row in self.rows),
            statistics=self.statistics.without_counts,
        )

    @property
    def energies(self) -> tuple[float, ...]:
        """Energy of each row, in pJ."""
        return tuple(float(row.energy[0]) for row in self.rows)

    @property
    def latencies(self) -> tuple[float, ...]:
        """Latency (``latency2``) of each row, in cycles."""
        return tuple(float(row.latency2[0]) for row in self.rows)


def shortlist(batches: Iterable[EvaluationBatch], compared: Compared, choose: Choose) -> Shortlist:
    """Applies ``choose`` to a stream batch by batch and returns the remaining rows.

    Memory holds only the rows selected so far and one batch.

    Raises:
        ValueError: if there is no batch at all.
    """
    rows, nothing = choose_rows(batches, compared, choose)
    statistics = nothing.statistics
    return Shortlist(
        problem=nothing.mappings.problem.problem,
        rows=tuple(row.with_statistics(statistics) for row in rows),
        statistics=statistics,
    )


def choose_rows(
    batches: Iterable[EvaluationBatch], compared: Compared, choose: Choose
) -> tuple[tuple[EvaluationBatch, ...], EvaluationBatch]:
    """The selected rows, and a batch without rows that has the statistics of all batches.

    Raises:
        ValueError: if there is no batch at all.
    """
    kept, nothing, statistics = _ChosenRows(), None, SearchStatistics()
    for batch in batches:
        statistics = statistics + batch.statistics
        if nothing is None:
            nothing = batch.take(np.empty(0, np.intp))
        kept = kept.merged(batch, compared(batch), choose)
    if nothing is None:
        raise ValueError("there is no batch to choose from")
    return kept.rows, nothing.with_statistics(statistics)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _ChosenRows:
    """The rows selected so far, and their columns."""

    rows: tuple[EvaluationBatch, ...] = ()
    columns: Columns = ()

    def merged(self, batch: EvaluationBatch, columns: Columns, choose: Choose) -> _ChosenRows:
        """Selects among these rows and those of a batch, which follow them."""
        old = len(self.rows)
        if old:
            pairs = zip(self.columns, columns, strict=True)
            columns = tuple(np.concatenate(pair) for pair in pairs)
        chosen = choose(columns)
        rows = tuple(
            self.rows[i] if i < old else batch.take(np.array([i - old], np.intp))
            for i in map(int, chosen)
        )
        return _ChosenRows(rows, tuple(column[chosen] for column in columns))
