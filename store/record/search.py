"""A search being recorded: what the evaluations of one layer under one spatial mapping share."""

from collections.abc import Callable
from dataclasses import replace
from typing import final

import numpy as np
import pyarrow as pa

from nestmap.model import (
    EvaluationBatch,
    Loop,
    Recording,
    RecordMode,
    SearchStatistics,
    SpatialProblem,
    front_rows,
)
from nestmap.store.rows.codes import code_bits
from nestmap.store.rows.content import Row, bound_columns, loop_structs
from nestmap.store.rows.evaluations import (
    MappingCoding,
    Numbers,
    from_arrow,
    integers,
    levels_of,
    take_rows,
    to_arrow,
)
from nestmap.store.rows.run_records import RecordedNumbers, SearchInfo

BLOCK = 65_536
"""Evaluations that are looked at, packed and passed on together: small batches take longer."""

WriteRows = Callable[["Search", pa.Table], None]
"""Who writes rows of ``evaluation_rows``."""


@final
class Search:
    """One search of a run; ``record`` takes its evaluations in order.

    ``recorded`` are the evaluations that the store has already: those of a run that was interrupted
    in the middle of the search.
    """

    def __init__(
        self,
        info: SearchInfo,
        number: int,
        recording: Recording,
        recorded: RecordedNumbers,
        take: WriteRows,
    ) -> None:
        self.id = number
        self.info = info
        self.mode = recording.record
        self.statistics = SearchStatistics()
        self.complete = False
        self.is_written = False
        self._written_factors = 0
        self._ideal_cycles = 0
        self._rows = 0
        self._waiting: list[EvaluationBatch] = []
        self._limit = recording.limit
        self._recorded, self._others = recorded
        self._take = take
        self._factors: dict[Loop, int] = {}
        self._front: pa.Table | None = None
        self._energy = self._latency = np.empty(0)

    @property
    def problem(self) -> SpatialProblem:
        """The layer and its spatial mapping."""
        return self.info.spatial

    def record(self, batch: EvaluationBatch) -> None:
        """Takes the next evaluations in; the arrays of the batch must not change afterwards.

        Raises:
            StoreError: if they cannot be written.
        """
        self.statistics += batch.statistics
        self._ideal_cycles = batch.ideal_cycles
        if not len(batch):
            return
        if self._waiting and not _go_together(self._waiting[-1], batch):
            self.flush()
        self._waiting.append(self._coded(batch))
        if sum(map(len, self._waiting)) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Passes on what waits for more to come.

        Raises:
            StoreError: if it cannot be written.
        """
        if not self._waiting:
            return
        batch, self._waiting = _joined(self._waiting), []
        numbers = np.arange(self._rows, self._rows + len(batch), dtype=np.int64)
        self._rows += len(batch)
        self._keep_front(batch, numbers)
        if self.mode is RecordMode.ALL:
            self._write(batch, numbers)

    @property
    def has_changed(self) -> bool:
        """Whether its row says less than what the evaluations need that are recorded now."""
        return len(self._factors) != self._written_factors

    def written(self) -> None:
        """Its row is in the store as it is now."""
        self.is_written = True
        self._written_factors = len(self._factors)

    def end(self) -> None:
        """All evaluations are in: what is kept of them is known."""
        self.flush()
        if self.mode is RecordMode.BEST and self._front is not None:
            numbers = integers(self._front, "number")
            known = np.isin(numbers, list(self._others)) | (numbers < self._recorded)
            rows = np.flatnonzero(~known)
            order = np.argsort(numbers[rows], kind="stable")
            self._take(self, take_rows(self._front, rows[order]))
        self.complete = True

    def front(self) -> tuple[EvaluationBatch, ...]:
        """The evaluations that no other one beats, with the statistics of all."""
        table = self._front if self._front is not None else pa.table({})
        coding = MappingCoding(tuple(self._factors), code_bits(self.problem))
        return from_arrow(table, self.problem, coding, self._ideal_cycles, self.statistics)

    def _write(self, batch: EvaluationBatch, numbers: Numbers) -> None:
        """Writes what is not there yet; after the limit, only the best at the end."""
        new = np.flatnonzero(numbers >= self._recorded)
        if not len(new):
            return
        if self._limit is not None and len(new) > self._limit - self._recorded:
            new = new[: max(self._limit - self._recorded, 0)]
            self.mode = RecordMode.BEST
        rows = batch if len(new) == len(batch) else batch.take(new)
        self._recorded += len(rows)
        if len(rows):
            self._take(self, to_arrow(rows, self.id, numbers[new]))

    def _keep_front(self, batch: EvaluationBatch, numbers: Numbers) -> None:
        """Rows of a batch that no row beats so far; most batches have none."""
        rows = front_rows(batch.energy, batch.latency2)
        energy = np.concatenate([self._energy, batch.energy[rows]])
        latency = np.concatenate([self._latency, batch.latency2[rows]])
        best, known = front_rows(energy, latency), len(self._energy)
        if not (best >= known).any():
            return
        table = to_arrow(batch.take(rows), self.id, numbers[rows])
        table = table if self._front is None else pa.concat_tables([self._front, table])
        self._front = take_rows(table, best).combine_chunks()
        self._energy, self._latency = energy[best], latency[best]

    def _coded(self, batch: EvaluationBatch) -> EvaluationBatch:
        """The batch with orders that count into the factors of the whole search."""
        mappings = batch.mappings
        codes = [self._factors.setdefault(x, len(self._factors)) for x in mappings.factors]
        if codes == list(range(len(codes))):
            return batch
        orders = np.array(codes, np.uint8)[mappings.orders]
        coded = replace(mappings, factors=tuple(self._factors), orders=orders)
        return replace(batch, mappings=coded)

    def row(self, complete: bool) -> Row:
        """The row of ``searches``; ``complete``: whether all of its evaluations are written."""
        problem = self.problem.problem
        reserved = ", ".join(x.model_dump_json() for x in problem.reserved)
        return {
            "id": self.id,
            "key": self.info.key,
            "layer": problem.layer.name,
            "content": problem.layer.anonymous.content_hash,
            "accelerator": problem.accelerator.content_hash,
            "spatial_mapping": self.problem.spatial_mapping.content_hash,
            "constraints": problem.constraints.model_dump_json(),
            "reserved": f"[{reserved}]",
            "options": self.info.options,
            "factors": loop_structs(tuple(self._factors)),
            "code_bits": code_bits(self.problem),
            "operands": self._operands(),
            "ideal_cycles": self._ideal_cycles,
            "record": self.mode.value,
            "evaluations": self.statistics.evaluations if complete else None,
            "front": self._front_structs() if complete else None,
            # until a search is complete, its bounds are not those of all that it has evaluated
            **bound_columns(self.statistics if complete else SearchStatistics()),
        }

    def _operands(self) -> list[Row]:
        """Where the cuts of each operand stand."""
        operands: list[Row] = []
        last = 0
        layer = self.problem.layer
        for operand, levels in zip(layer.operands, levels_of(self.problem), strict=True):
            operands.append({"operand": operand.name, "first": last + 1, "last": last + levels})
            last += levels
        return operands

    def _front_structs(self) -> list[dict[str, object]]:
        if self._front is None:
            return []
        rows: list[dict[str, object]] = self._front.drop_columns(["search"]).to_pylist()
        return rows

    def infeasible_rows(self) -> list[Row]:
        """The rows of ``infeasible``."""
        failed = enumerate(self.statistics.infeasible)
        return [{"search": self.id, **x.model_dump(), "position": i} for i, x in failed]


def _go_together(one: EvaluationBatch, other: EvaluationBatch) -> bool:
    """Whether their mappings have the same number of loops."""
    loops, others = one.mappings.orders.shape[1], other.mappings.orders.shape[1]
    return bool(loops == others)


def _joined(batches: list[EvaluationBatch]) -> EvaluationBatch:
    """Batches of one search as one; the factors of the last are those of all."""
    if len(batches) == 1:
        return batches[0]
    last = batches[-1]
    mappings = replace(
        last.mappings,
        orders=np.concatenate([x.mappings.orders for x in batches]),
        cuts=np.concatenate([x.mappings.cuts for x in batches]),
    )
    return replace(
        last,
        mappings=mappings,
        energy=np.concatenate([x.energy for x in batches]),
        latency0=np.concatenate([x.latency0 for x in batches]),
        latency1=np.concatenate([x.latency1 for x in batches]),
        latency2=np.concatenate([x.latency2 for x in batches]),
    )
