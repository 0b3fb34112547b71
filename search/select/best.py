"""Selects the best evaluation, the ``k`` best, or sorts all of them."""

from collections.abc import Iterable

import numpy as np

from nestmap.model import EvaluationBatch, Objective
from nestmap.model.arrays import Rows
from nestmap.search.select.shortlist import (
    Choose,
    Columns,
    Compared,
    Shortlist,
    choose_rows,
    shortlist,
)


def best_of(batches: Iterable[EvaluationBatch], objective: Objective) -> EvaluationBatch:
    """One row: the smallest objective, of equals the least energy, then latency, then the first.

    Its statistics are the sum over all batches. If no batch has a row, the result has none.
    The row is the first of :func:`k_best`.

    Raises:
        ValueError: if there is no batch at all.
    """
    rows, nothing = choose_rows(batches, _compared(objective), _choose(1))
    return rows[0].with_statistics(nothing.statistics) if rows else nothing


def k_best(batches: Iterable[EvaluationBatch], objective: Objective, k: int) -> Shortlist:
    """The ``k`` best rows in the order of :func:`best_of`, best first.

    Raises:
        ValueError: if there is no batch at all, or ``k`` is not positive.
    """
    if k < 1:
        raise ValueError(f"k is {k}; expected at least 1")
    return shortlist(batches, _compared(objective), _choose(k))


def best_first(
    batches: Iterable[EvaluationBatch], objective: Objective
) -> tuple[EvaluationBatch, ...]:
    """All rows, each batch sorted best first, and the batch with the best row first.

    Batches without rows come last.
    """
    compared = _compared(objective)
    ordered = [batch.take(_order(compared(batch))) for batch in batches]
    return tuple(sorted(ordered, key=lambda batch: _head(compared(batch))))


def _compared(objective: Objective) -> Compared:
    return lambda batch: (batch.values(objective), batch.energy, batch.latency2)


def _choose(k: int) -> Choose:
    def choose(columns: Columns) -> Rows:
        rows = _smallest(columns, np.arange(len(columns[0])), k)
        return rows[_order(tuple(column[rows] for column in columns))]

    return choose


def _smallest(columns: Columns, rows: Rows, k: int) -> Rows:
    """The ``k`` smallest of some rows, ties in order; takes linear time.

    Includes all rows below the k-th smallest value, and as many equal to it as necessary.
    """
    if len(rows) <= k or not columns:
        return rows[:k]
    values = columns[0][rows]
    bound = values.min() if k == 1 else np.partition(values, k - 1)[k - 1]
    below, equal = rows[values < bound], rows[values == bound]
    return np.concatenate([below, _smallest(columns[1:], equal, k - len(below))])


def _order(columns: Columns) -> Rows:
    return np.lexsort(columns[::-1])


def _head(columns: Columns) -> tuple[float, ...]:
    """The first row as a sort key; batches without rows come last."""
    return tuple(float(column[0]) if len(column) else np.inf for column in columns)
