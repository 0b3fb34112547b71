"""Batches of evaluations as Arrow columns, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nestmap.model import EvaluationBatch, Loop, MappingBatch, SearchStatistics, SpatialProblem

Codes = npt.NDArray[np.uint8]


def levels_of(problem: SpatialProblem) -> tuple[int, ...]:
    """How many memory levels each operand of the layer has, in the layer's order."""
    return tuple(len(problem.problem.levels(x.name)) for x in problem.layer.operands)


def to_arrow(batch: EvaluationBatch, levels: tuple[int, ...], search: int, first: int) -> pa.Table:
    """The rows of a batch as rows of ``evaluation_rows``.

    ``levels`` are those of the batch's problem, ``search`` is the id of its search, ``first`` the
    number of its first row. Cuts of levels that an operand does not have are left out.
    """
    rows = len(batch)
    cuts = batch.mappings.cuts
    flat = cuts.reshape(rows, cuts.shape[1] * cuts.shape[2])
    return pa.table(
        {
            "search": _array(np.full(rows, search, np.int32), pa.int32()),
            "number": _array(np.arange(first, first + rows, dtype=np.int64), pa.int64()),
            "ordering": _lists(batch.mappings.orders),
            "cuts": _lists(flat[:, _real_cuts(cuts.shape[2], levels)]),
            "energy": _array(batch.energy, pa.float64()),
            "latency0": _array(batch.latency0, pa.float64()),
            "latency1": _array(batch.latency1, pa.float64()),
            "latency2": _array(batch.latency2, pa.float64()),
        }
    )


def _real_cuts(depth: int, levels: tuple[int, ...]) -> npt.NDArray[np.intp]:
    return np.concatenate([x * depth + np.arange(count) for x, count in enumerate(levels)])


# pa.array would do for these two as well, but where pandas is installed it takes 0.9 s to import it


def _array(values: npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array[pa.Scalar[pa.DataType]]:
    return pa.Array.from_buffers(kind, len(values), [None, _buffer(values)])


def _lists(codes: Codes) -> pa.Array[pa.Scalar[pa.DataType]]:
    rows, length = codes.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
    items = _array(codes.ravel(), pa.uint8())
    lists = pa.list_(pa.uint8())
    return pa.Array.from_buffers(lists, rows, [None, _buffer(offsets)], children=[items])


def _buffer(values: npt.NDArray[np.generic]) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values).data)


def from_arrow(
    table: pa.Table,
    problem: SpatialProblem,
    factors: tuple[Loop, ...],
    ideal_cycles: int,
    statistics: SearchStatistics,
) -> EvaluationBatch:
    """The batch that those columns of ``evaluation_rows`` hold."""
    rows = table.num_rows
    orders = _codes(table, "ordering").reshape(rows, -1) if rows else np.empty((0, 0), np.uint8)
    mappings = MappingBatch(
        problem=problem,
        factors=factors,
        orders=orders,
        cuts=_all_cuts(_codes(table, "cuts"), orders, levels_of(problem)),
        statistics=statistics,
    )
    return EvaluationBatch(
        mappings=mappings,
        energy=table.column("energy").to_numpy(),
        latency0=table.column("latency0").to_numpy(),
        latency1=table.column("latency1").to_numpy(),
        latency2=table.column("latency2").to_numpy(),
        ideal_cycles=ideal_cycles,
        statistics=statistics,
    )


def _codes(table: pa.Table, name: str) -> Codes:
    values = pc.list_flatten(table.column(name))
    return values.to_numpy().astype(np.uint8, copy=False)


def _all_cuts(codes: Codes, orders: Codes, levels: tuple[int, ...]) -> Codes:
    """Cuts as rows x operands x levels; a level that an operand does not have holds all loops."""
    rows, loops = orders.shape
    cuts = np.full((rows, len(levels), max(levels)), loops, np.uint8)
    parts = np.split(codes.reshape(rows, sum(levels)), np.cumsum(levels)[:-1], axis=1)
    for x, part in enumerate(parts):
        cuts[:, x, : part.shape[1]] = part
    return cuts
