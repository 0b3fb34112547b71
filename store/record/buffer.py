"""Evaluations that wait to be written, in the order in which they came."""

from __future__ import annotations

from typing import NamedTuple, final

import pyarrow as pa

from nestmap.store.record.search import Search


class Part(NamedTuple):
    """The first of the buffered rows: how many, and the searches that have more."""

    rows: int
    table: pa.Table | None
    cut: tuple[Search, ...]


@final
class Buffer:
    """Rows of ``evaluation_rows`` with the searches that they belong to."""

    def __init__(self) -> None:
        self.rows = 0
        self._entries: list[tuple[Search, pa.Table]] = []

    def add(self, search: Search, table: pa.Table) -> None:
        """Takes rows in."""
        if table.num_rows:
            self._entries.append((search, table))
            self.rows += table.num_rows

    def head(self, rows: int) -> Part:
        """The first so many rows; they stay in the buffer."""
        if not rows:
            return Part(0, None, tuple(search for search, _ in self._entries))
        first, left = self._split(rows)
        # in one piece: of many, DuckDB's threads make row groups that are not full
        table = pa.concat_tables([table for _, table in first]).combine_chunks()
        return Part(rows, table, tuple(search for search, _ in left))

    def drop(self, part: Part) -> None:
        """Drops the rows of a part."""
        self._entries = self._split(part.rows)[1]
        self.rows -= part.rows

    def _split(
        self, rows: int
    ) -> tuple[list[tuple[Search, pa.Table]], list[tuple[Search, pa.Table]]]:
        first: list[tuple[Search, pa.Table]] = []
        left: list[tuple[Search, pa.Table]] = []
        for search, table in self._entries:
            count = min(rows, table.num_rows)
            rows -= count
            if count:
                first.append((search, table.slice(0, count)))
            if count < table.num_rows:
                left.append((search, table.slice(count)))
        return first, left
