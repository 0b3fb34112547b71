"""Batches of evaluations as Arrow columns, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nestmap.model import EvaluationBatch, Loop, MappingBatch, SearchStatistics, SpatialProblem
from nestmap.store.rows.codes import Codes, Words, code_bits, code_counts, pack, unpack

Numbers = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)
_Array: TypeAlias = "pa.Array[pa.Scalar[pa.DataType]]"


class ListArray(Protocol):
    """An array of lists; the stubs do not say what its items are."""

    @property
    def offsets(self) -> _Array:
        """The index in ``values`` at which each list begins, and the end of the last one."""
        ...

    @property
    def values(self) -> _Array:
        """The items of all lists, one after the other."""
        ...


class MappingCoding(NamedTuple):
    """The coding of the mappings of a search: the loops that codes index, and the bits per code."""

    factors: tuple[Loop, ...]
    bits: int


def take_rows(table: pa.Table, rows: npt.NDArray[np.intp]) -> pa.Table:
    """The rows of a table with these indices, in that order."""
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, _buffer(rows.astype(np.int64))])
    return table.take(indices)


def levels_of(problem: SpatialProblem) -> tuple[int, ...]:
    """The number of memory levels of each operand of the layer, in the layer's order."""
    return tuple(len(problem.problem.levels(x.name)) for x in problem.layer.operands)


def to_arrow(batch: EvaluationBatch, search: int, numbers: Numbers) -> pa.Table:
    """The rows of a batch as rows of ``evaluation_rows``.

    ``search`` is the id of the search, ``numbers`` the numbers of the rows within it. Cuts of
    levels that an operand does not have are left out.
    """
    rows, bits = len(batch), code_bits(batch.mappings.problem)
    cuts = batch.mappings.cuts
    levels = levels_of(batch.mappings.problem)
    flat = cuts.reshape(rows, cuts.shape[1] * cuts.shape[2])
    return pa.table(
        {
            "search": _array(np.full(rows, search, np.int64), pa.int64()),
            "number": _array(numbers, pa.int64()),
            "ordering": _lists(pack(batch.mappings.orders, bits)),
            "cuts": _lists(pack(flat[:, _real_cuts(cuts.shape[2], levels)], bits)),
            "energy": _array(batch.energy, pa.float64()),
            "latency0": _array(batch.latency0, pa.float64()),
            "latency1": _array(batch.latency1, pa.float64()),
            "latency2": _array(batch.latency2, pa.float64()),
        }
    )


def _real_cuts(depth: int, levels: tuple[int, ...]) -> npt.NDArray[np.intp]:
    return np.concatenate([x * depth + np.arange(count) for x, count in enumerate(levels)])


# Not pa.array: if pandas is installed, it takes 0.9 s to import it


def _array(values: npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array[pa.Scalar[pa.DataType]]:
    return pa.Array.from_buffers(kind, len(values), [None, _buffer(values)])


def numbers_table(
    columns: Mapping[str, npt.NDArray[np.int64] | npt.NDArray[np.float64]],
) -> pa.Table:
    """A table with columns of BIGINT and DOUBLE."""
    kinds: dict[str, pa.DataType] = {"i": pa.int64(), "f": pa.float64()}
    return pa.table({name: _array(x, kinds[x.dtype.kind]) for name, x in columns.items()})


def _lists(words: Words) -> pa.Array[pa.Scalar[pa.DataType]]:
    rows, length = words.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
    items = _array(words.ravel(), pa.uint64())
    lists = pa.list_(pa.uint64())
    return pa.Array.from_buffers(lists, rows, [None, _buffer(offsets)], children=[items])


def _buffer(values: npt.NDArray[np.generic]) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values).data)


def from_arrow(
    table: pa.Table,
    problem: SpatialProblem,
    coding: MappingCoding,
    ideal_cycles: int,
    statistics: SearchStatistics,
) -> tuple[EvaluationBatch, ...]:
    """The batches in columns of ``evaluation_rows``; the first batch has the statistics.

    There is one batch for each run of rows whose mappings have the same number of loops, and one
    empty batch if there are no rows.
    """
    if not table.num_rows:
        return (_empty_batch(problem, ideal_cycles, statistics),)
    batches: list[EvaluationBatch] = []
    for part in _split_by_loop_count(table, coding.bits):
        counted = SearchStatistics() if batches else statistics
        batches.append(_batch(part, problem, coding, ideal_cycles, counted))
    return tuple(batches)


def _split_by_loop_count(table: pa.Table, bits: int) -> Iterator[pa.Table]:
    """The table split where the number of loops changes."""
    counts = [np.diff(_offsets(x)) for x in _list_chunks(table, "ordering")]
    for part in _split_at_changes(table, np.concatenate(counts)):
        yield from _split_at_changes(part, code_counts(_codes(part, "ordering", bits), bits))


def _split_at_changes(table: pa.Table, values: npt.NDArray[np.signedinteger]) -> Iterator[pa.Table]:
    """The table split where these values, one per row, change."""
    inner: list[int] = (np.flatnonzero(np.diff(values)) + 1).tolist()
    for first, end in pairwise([0, *inner, table.num_rows]):
        yield table.slice(first, end - first)


def _empty_batch(
    problem: SpatialProblem, ideal_cycles: int, statistics: SearchStatistics
) -> EvaluationBatch:
    nothing = np.empty(0)
    return EvaluationBatch(
        mappings=MappingBatch.empty(problem, statistics),
        energy=nothing,
        latency0=nothing,
        latency1=nothing,
        latency2=nothing,
        ideal_cycles=ideal_cycles,
        statistics=statistics,
    )


def _batch(
    table: pa.Table,
    problem: SpatialProblem,
    coding: MappingCoding,
    ideal_cycles: int,
    statistics: SearchStatistics,
) -> EvaluationBatch:
    """Rows whose mappings have the same number of loops."""
    bits = coding.bits
    codes = _codes(table, "ordering", bits)
    orders = np.ascontiguousarray(codes[:, : code_counts(codes[:1], bits)[0]])
    mappings = MappingBatch(
        problem=problem,
        factors=coding.factors,
        orders=orders,
        cuts=_all_cuts(_codes(table, "cuts", bits), orders, levels_of(problem)),
        statistics=statistics,
    )
    _check_codes(mappings)
    return EvaluationBatch(
        mappings=mappings,
        energy=floats(table, "energy"),
        latency0=floats(table, "latency0"),
        latency1=floats(table, "latency1"),
        latency2=floats(table, "latency2"),
        ideal_cycles=ideal_cycles,
        statistics=statistics,
    )


def _check_codes(mappings: MappingBatch) -> None:
    """Rejects codes that name no loop or no place among the loops: kernels do not check them."""
    rows, loops = mappings.orders.shape
    if rows and (
        mappings.orders.max(initial=0) >= len(mappings.factors) or mappings.cuts.max() > loops
    ):
        raise ValueError("an evaluation has codes that do not fit its search")


def floats(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    """A column of DOUBLE, all finite.

    Raises:
        ValueError: if one is not.
    """
    values = _numbers(table.column(name).chunks, np.float64)
    if table.column(name).null_count or not np.isfinite(values).all():
        raise ValueError(f"{name} of an evaluation is not finite")
    return values


def integers(table: pa.Table, name: str) -> Numbers:
    """A column of BIGINT."""
    return _numbers(table.column(name).chunks, np.int64)


def _codes(table: pa.Table, name: str, bits: int) -> Codes:
    """A column of packed codes; all rows have the same number of words."""
    values = [list_items(x) for x in _list_chunks(table, name)]
    return unpack(_numbers(values, np.uint64).reshape(table.num_rows, -1), bits)


def _list_chunks(table: pa.Table, name: str) -> Sequence[ListArray]:
    """The chunks of a column of lists that have rows."""
    return [x for x in cast("list[ListArray]", table.column(name).chunks) if len(x.offsets) > 1]


def list_items(lists: ListArray) -> _Array:
    """The items of all lists of an array without NULLs.

    Its ``flatten`` and ``value_lengths`` import pyarrow.compute, which takes 0.1 s.
    """
    offsets = _offsets(lists)
    return lists.values.slice(offsets[0], offsets[-1] - offsets[0])


def _offsets(lists: ListArray) -> npt.NDArray[np.int32]:
    """Where each list begins among the items, and where the last one ends."""
    return _numbers([lists.offsets], np.int32)


# Not to_numpy: if pandas is installed, it takes 0.9 s to import it


def _numbers(chunks: Sequence[_Array], kind: type[T]) -> npt.NDArray[T]:
    """The values of the chunks of a column of this type without NULLs."""
    parts = [
        np.frombuffer(memoryview(values), kind)[chunk.offset : chunk.offset + len(chunk)]
        for chunk in chunks
        if (values := chunk.buffers()[1]) is not None
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts])


def _all_cuts(codes: Codes, orders: Codes, levels: tuple[int, ...]) -> Codes:
    """Cuts as rows x operands x levels; levels that an operand does not have hold all loops."""
    rows, loops = orders.shape
    if codes.shape[1] < sum(levels):
        raise ValueError("an evaluation has fewer cuts than its operands have levels")
    cuts = np.full((rows, len(levels), max(levels)), loops, np.uint8)
    parts = np.split(codes[:, : sum(levels)], np.cumsum(levels)[:-1], axis=1)
    for x, part in enumerate(parts):
        cuts[:, x, : part.shape[1]] = part
    return cuts
