"""What a sweep of a million designs takes to ask, to show, to draw and to report.

Run ``python -m benchmarks.sweep_store [DESIGNS]``. The designs of a small sweep are replaced by so
many with made-up figures; then the named queries and the commands run, the commands as processes.
The front, found by SQL, is compared with that of the class that sweeps use.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.pipeline.sweep.spaces import write_space

import nestmap
from nestmap.pipeline.sweep.result.summary import Front
from nestmap.store import Store

DESIGNS: Final = 1_000_000
QUERIES: Final = ("sweep_front", "sweep_best", "sweep_parameters")
COMMANDS: Final = (
    ("show", "--sweep", "small"),
    ("plot", "small", "--output", "figures"),
    ("report", "small", "--output", "report.html"),
)
_NESTMAP: Final = "from nestmap.pipeline.cli import main; main()"

_FILL: Final = """
CREATE TEMP TABLE made AS SELECT
  n AS position, n AS number, random() AS area,
  1e6 * (1 + random()) AS energy, 1e4 * (1 + random()) AS latency, md5(n::VARCHAR) AS accelerator,
  json_object('lanes', n % 97, 'words', n % 13, 'bits', n % 13 * 8, 'has_outlet', n % 2 = 0)
    AS parameters
FROM range($designs) AS numbers(n);
DELETE FROM sweep_designs;
"""
_INSERT: Final = """
INSERT INTO sweep_designs BY NAME
SELECT
  sweeps.hash AS sweep, made.*, made.energy * made.latency AS edp,
  [{network: 'net.yaml', weight: 1.0, energy: made.energy, latency: made.latency, gap: 0.0}]
    AS networks,
  [made.energy, made.latency] AS objective_values
FROM made, sweeps
"""
_END: Final = """
UPDATE sweeps SET designs = $designs, most = $designs, front = (
  SELECT list(position ORDER BY energy) FROM (
    SELECT position, energy, latency, min(latency) OVER (
      ORDER BY energy ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS least FROM sweep_designs
  ) WHERE least IS NULL OR latency < least
)
"""


def main(designs: int = DESIGNS) -> None:
    """Fills a store, and prints what it takes to ask it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "sweeps.duckdb"
        nestmap.sweep(write_space(folder), store=path, runs="none")
        with Store.open(path) as store:
            for statement in filter(str.strip, _FILL.split(";")):
                asked = {"designs": designs} if "$" in statement else ()
                store.query(statement, asked)
            store.query(_INSERT)
            store.query(_END, {"designs": designs})
        print(f"{designs:,} designs, {path.stat().st_size / 1e6:.0f} MB")
        _check_front(path)
        for query in QUERIES:
            started = time.process_time()
            with Store.open_read_only(path) as store:
                rows = len(store.ask(query))
            print(f"{query}: {rows} rows, {time.process_time() - started:.2f} CPU s")
        for words in COMMANDS:
            started = time.perf_counter()
            command = [sys.executable, "-c", _NESTMAP, *words, "--store", str(path)]
            subprocess.run(command, check=True, capture_output=True, cwd=folder)
            print(f"nestmap {words[0]}: {time.perf_counter() - started:.1f} s")


def _check_front(path: Path) -> None:
    """The front of a part of the designs is that of the class, in the same order."""
    front = Front()
    with Store.open_read_only(path) as store:
        (sweep,) = store.sweeps()
        some = store.query("SELECT position, energy, latency FROM sweep_designs ORDER BY 1")
        for row in some.rows():
            figures = (float(str(row["energy"])), float(str(row["latency"])))
            front.add(figures, int(str(row["position"])))
    assert tuple(front.places) == sweep.state.front


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
