"""How fast evaluations go into a store on disk, how large they are, how fast SQL reads them.

Run ``python -m benchmarks.store_write [MILLIONS] [ROWS_A_BATCH]``; without: 2 million rows in
batches of 8,192, as LOMA makes them.
"""

import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.store.builders import (
    accelerator,
    batch,
    info,
    layer,
    network,
    result,
    search_info,
    spatial_problem,
)

from nestmap.model import EvaluationBatch
from nestmap.store import Run, Store

QUERIES = (
    "SELECT count(*) FROM evaluations",
    "SELECT layer, min(energy), min(latency) FROM evaluations GROUP BY layer",
    "SELECT energy, latency, ordering, cuts FROM evaluations ORDER BY energy LIMIT 5",
    "SELECT layer, energy, latency FROM best ORDER BY energy DESC LIMIT 5",
)
DIFFERENT = 50
"""Batches made beforehand, to be recorded again and again."""

ROWS_A_SEARCH = 40_000
"""All orders of eight loop factors, about."""


def made(rows: int) -> list[EvaluationBatch]:
    """Random mappings with costs of the kind that occur: repeated energies, whole cycles."""
    problem = spatial_problem(layer(), accelerator())
    random = np.random.default_rng(0)
    energies = random.random(5000) * 1e9
    batches: list[EvaluationBatch] = []
    for seed in range(DIFFERENT):
        base = batch(problem, rows, seed=seed)
        cycles = random.integers(10**5, 3 * 10**6, rows).astype(np.float64)
        batches.append(
            replace(
                base,
                energy=random.choice(energies, rows),
                latency0=cycles,
                latency1=cycles + random.integers(0, 5000, rows),
                latency2=cycles + random.integers(5000, 8000, rows),
            )
        )
    return batches


def record(run: Run, batches: list[EvaluationBatch], rows: int, searches: int) -> None:
    """Records as many batches as make that many rows, in so many searches, and ends the run."""
    count = rows // len(batches[0])
    problem = batches[0].mappings.problem
    for part in range(searches):
        with run.record_search(search_info(problem, f"search {part}")) as search:
            for i in range(part * count // searches, (part + 1) * count // searches):
                search.record(batches[i % len(batches)])
    run.finish(result(network()))


def write(path: Path, millions: float, rows_a_batch: int) -> None:
    """Writes and prints how that went."""
    batches = made(rows_a_batch)
    rows = int(millions * 1e6) // rows_a_batch * rows_a_batch
    wall, cpu = time.perf_counter(), time.process_time()
    with Store.open(path) as store:
        record(store.start_run(info()), batches, rows, rows // ROWS_A_SEARCH)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = path.stat().st_size / rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{rows:,} evaluations in batches of {rows_a_batch:,}: {rows / wall:,.0f} a second,")
    print(f"{rows / cpu:,.0f} a CPU second; {size:.1f} bytes each; peak memory {peak:.0f} MB")


def read(path: Path) -> None:
    """Asks some questions and prints how long each took."""
    with Store.open_read_only(path) as store:
        for sql in QUERIES:
            start = time.perf_counter()
            store.query(sql)
            print(f"{(time.perf_counter() - start) * 1e3:8.1f} ms  {sql}")


def main() -> None:
    """Writes, then reads."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rows_a_batch = int(sys.argv[2]) if len(sys.argv) > 2 else 8192
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        write(path, millions, rows_a_batch)
        read(path)


if __name__ == "__main__":
    main()
