"""Explorations that are killed at a given moment, and what must hold of the store then."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from uuid import UUID

from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.read.relation import Relation
from tests.faults.explorations import Order, as_line

# A row of this is something that a reader of the store must never see.
HALF_WRITTEN: Final = """
SELECT 'rows without a search' FROM evaluation_rows
WHERE search NOT IN (SELECT id FROM searches)
UNION ALL
SELECT 'a search without a run' FROM searches WHERE id NOT IN (SELECT search FROM run_searches)
UNION ALL
SELECT 'a run of which there is no search' FROM run_searches
WHERE search NOT IN (SELECT id FROM searches)
UNION ALL
SELECT 'a gap in the numbers of a search' FROM evaluation_rows JOIN searches ON id = search
WHERE record = 'all' GROUP BY search
HAVING min(number) <> 0 OR max(number) <> count(*) - 1 OR count(DISTINCT number) <> count(*)
UNION ALL
SELECT 'a complete search that is not' FROM searches
WHERE record = 'all' AND evaluations IS DISTINCT FROM (
  SELECT count(*) FROM evaluation_rows WHERE search = searches.id
) AND evaluations IS NOT NULL
UNION ALL
SELECT 'results of a run that is not done' FROM runs
WHERE status <> 'done' AND id IN (SELECT run FROM results)
"""

_COUNT: Final = """
SELECT count(*) AS n FROM evaluation_rows
WHERE search IN (SELECT search FROM run_searches WHERE run = ? AND NOT recalled)
"""
_COMPLETE: Final = """
SELECT coalesce(sum(evaluations), 0)::BIGINT AS n FROM searches
WHERE id IN (SELECT search FROM run_searches WHERE run = ? AND NOT recalled)
"""
# All that a run has found, whatever the ids of its searches.
_FOUND: Final = (
    """
    SELECT position, linked.layer, number, ordering, cuts, energy, latency0, latency1, latency2
    FROM run_searches AS linked JOIN evaluation_rows AS evaluated USING (search)
    WHERE run = ? ORDER BY position, number
    """,
    """
    SELECT position, linked.layer, recalled, search.* EXCLUDE (id)
    FROM run_searches AS linked JOIN searches AS search ON id = search
    WHERE run = ? ORDER BY position
    """,
    """
    SELECT linked.position, infeasible.* EXCLUDE (search)
    FROM run_searches AS linked JOIN infeasible USING (search) WHERE run = ? ORDER BY ALL
    """,
    "SELECT * EXCLUDE (run, cpu_seconds) FROM results WHERE run = ? ORDER BY ALL",
)
_ALL: Final = (
    "SELECT count(*) FROM evaluation_rows",
    "SELECT count(*) FROM searches",
    "SELECT * FROM cmes ORDER BY hash",
    "SELECT * FROM breakdowns ORDER BY ALL",
)


@final
@dataclass(frozen=True)
class Ended:
    """How an exploration ended: killed, ``done``, or with an error.

    ``committed`` evaluations it had told of, which another process had therefore to find.
    """

    code: int
    committed: int
    started: bool
    done: bool

    @property
    def killed(self) -> bool:
        """Whether somebody killed it before it came to its end."""
        return self.code == -signal.SIGKILL


@final
class Explorer:
    """A process that explores in processes of their own, which can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, order: Order) -> Ended:
        """Explores until the end, whichever it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(as_line(order))
        self._process.stdin.flush()
        said: list[str] = []
        for line in self._process.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "ended":
                rows = [int(x.split()[1]) for x in said if x.startswith("committed ")]
                return Ended(int(value), max(rows, default=0), "running" in said, "done" in said)
            said.append(line.strip())
        raise AssertionError(f"the process that explores is gone; it said {said}")


@contextmanager
def explorer() -> Generator[Explorer]:
    """A process that explores; it is ended at the end."""
    command = [sys.executable, "-m", "tests.faults.explorations"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Explorer(process)
        finally:
            process.kill()


Found = tuple[list[tuple[object, ...]], ...]


def recorded(store: Store, run: UUID) -> Found:
    """All that a run has recorded."""
    return tuple(_values(store.query(sql, [run])) for sql in _FOUND)


def found(store: Store, run: UUID) -> Found:
    """All that a run has recorded, and how much there is in the store."""
    return (*recorded(store, run), *(_values(store.query(sql)) for sql in _ALL))


def _values(answer: Relation) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in answer.rows()]


def count(store: Store, run: UUID) -> int:
    """How many evaluations are recorded in the searches that a run has done itself."""
    (row,) = store.query(_COUNT, [run])
    return int(str(row["n"]))


def complete(store: Store, run: UUID) -> int:
    """How many evaluations the complete searches of a run had."""
    (row,) = store.query(_COMPLETE, [run])
    return int(str(row["n"]))


def check(path: Path) -> None:
    """Checks that nothing half-written can be seen in a store."""
    with Store.open_read_only(path) as store:
        half = store.query(HALF_WRITTEN).rows()
    problems = check_store(path, recompute=3).problems
    assert (half, problems) == ([], ()), f"{half} {problems}"  # pytest explains only its tests
