"""PruneSelection removes what it says and nothing else, and leaves one whole file at any moment."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.model.base import copy_with
from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import merge_stores
from nestmap.store.maintenance.prune import (
    PruneReport,
    PruneSelection,
    find_runs,
    find_sweeps,
    prune,
)
from nestmap.store.schema.tables import EVALUATION_ROWS
from tests.store.builders import NASTY, info
from tests.store.filled import REAL, content, count, fill, filled, sql
from tests.store.sweeps import INFO as SWEEP
from tests.store.sweeps import add_design, design, infeasible
from tests.sweeps import every

BEST = PruneSelection(best_only=True)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / 'it\'s a "store"; ü 🙂.duckdb'


@pytest.fixture(name="large", scope="module")
def _large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with many evaluations."""
    path = tmp_path_factory.mktemp("large") / "store.duckdb"
    with Store.open(path) as store:
        fill(store, rows=60_000)
    return path


def removed(pruned: PruneReport) -> dict[str, int]:
    return dict(pruned.rows)


def test_without_a_run_a_store_is_as_if_it_had_never_been(path: Path, tmp_path: Path) -> None:
    _, second = filled(path, "a", NASTY)
    other = tmp_path / "other.duckdb"
    merge_stores(other, [path])
    with Store.open(path) as store:
        third = fill(store, "c")
    before = content(path)
    pruned = prune(path, PruneSelection(runs=(third,)))
    assert content(path) == content(other)
    lost = {table: len(before[table]) - len(rows) for table, rows in content(path).items()}
    assert removed(pruned) == {table: rows for table, rows in lost.items() if rows}
    assert pruned.bytes_after == path.stat().st_size
    with Store.open_read_only(path) as store:
        assert [len(x) for x in store.evaluations(second, NASTY)] == [7, 7]
    assert check_store(path).is_sound


def swept(path: Path, name: str) -> None:
    """Records a sweep of two designs, of which one has a machine."""
    with Store.open(path) as store:
        sweep = store.start_sweep(copy_with(SWEEP, {"key": name.ljust(32, "0"), "name": name}))
        add_design(sweep, infeasible(1))
        add_design(sweep, design(2, 5.0))
        sweep.commit((1,))


def test_without_a_sweep_a_store_is_as_if_it_had_never_been(path: Path, tmp_path: Path) -> None:
    filled(path, "a")
    swept(path, "first")
    other = tmp_path / "other.duckdb"
    merge_stores(other, [path])
    swept(path, "second")
    pruned = prune(path, PruneSelection(sweeps=find_sweeps(path, ["second"])))
    assert content(path) == content(other)
    assert (removed(pruned)["sweeps"], removed(pruned)["sweep_designs"]) == (1, 2)
    assert check_store(path).is_sound
    prune(path, PruneSelection(sweeps=find_sweeps(path, ["last"])))
    assert (count(path, "sweeps"), count(path, "sweep_designs"), count(path, "runs")) == (0, 0, 1)


def test_a_sweep_that_is_not_there_is_an_error(path: Path) -> None:
    swept(path, "first")
    assert find_sweeps(path, []) == ()
    with pytest.raises(StoreError, match=r"sweep 'third': found no such sweep.*: first"):
        find_sweeps(path, ["third"])


def test_what_another_run_uses_stays(path: Path) -> None:
    first, second = filled(path, "a", "b")
    shared = f"(SELECT min(search) FROM run_searches WHERE run = '{first}')"
    change = f"UPDATE run_searches SET search = {shared}, recalled = true"
    sql(path, f"{change} WHERE run = '{second}' AND position = 0")
    change = f"UPDATE explored_layers SET search = {shared}"
    sql(path, f"{change} WHERE run = '{second}' AND first = 0")
    prune(path, PruneSelection(runs=(first,)))
    assert (count(path, "runs"), count(path, "searches"), count(path, EVALUATION_ROWS)) == (
        1,
        2,
        14,
    )
    assert check_store(path).is_sound


def test_without_any_run_nothing_is_left(path: Path) -> None:
    prune(path, PruneSelection(runs=filled(path, "a", "b")))
    assert set(map(len, content(path).values())) == {0}
    assert filled(path, "c")
    assert check_store(path).is_sound


def test_the_best_evaluations_stay(path: Path) -> None:
    with Store.open(path) as store:
        run = fill(store, "a", versions=REAL)
        fill(store, "open", finish=False)
        best, front, known = store.best(run), store.pareto(run), store.runs()
    sql(path, "UPDATE searches SET evaluations = NULL, front = NULL WHERE layer = 'open'")
    fronts = "SELECT sum(len(front)) FROM searches"
    with duckdb.connect(path) as connection:
        (kept,) = connection.execute(fronts).fetchall()[0]
    pruned = prune(path, BEST)
    assert removed(pruned) == {EVALUATION_ROWS: 14 - kept}
    assert 0 < kept < 14
    assert count(path, EVALUATION_ROWS) == kept + 14  # all of what is not complete
    with Store.open(path) as store:
        assert (store.best(run), store.pareto(run), store.runs()) == (best, front, known)
    assert check_store(path).is_sound
    assert removed(prune(path, BEST)) == {}


def test_fronts_that_nobody_has_written_down_are_found(path: Path, tmp_path: Path) -> None:
    """Those of searches that an older nestmap has recorded."""
    filled(path, "a")
    other = tmp_path / "other.duckdb"
    merge_stores(other, [path])
    sql(path, "UPDATE searches SET front = NULL")
    prune(path, BEST)
    prune(other, BEST)
    assert content(path)[EVALUATION_ROWS] == content(other)[EVALUATION_ROWS]


def test_pruned_evaluations_come_back_by_merging(path: Path, tmp_path: Path) -> None:
    filled(path, "a")
    other = tmp_path / "other.duckdb"
    merge_stores(other, [path])
    whole = content(path)
    prune(path, BEST)
    merge_stores(other, [path])
    assert content(other) == whole
    merge_stores(path, [other])
    assert content(path) == whole


def test_a_dry_run_says_the_same_and_changes_nothing(path: Path) -> None:
    runs = filled(path, "a", "b")
    before = path.read_bytes()
    pruning = PruneSelection(runs=runs[:1], best_only=True)
    said = prune(path, pruning, dry_run=True)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert prune(path, pruning) == said


def test_the_file_shrinks(path: Path, large: Path) -> None:
    shutil.copyfile(large, path)
    pruned = prune(path, BEST)
    assert pruned.bytes_after == path.stat().st_size < pruned.bytes_before / 2


def test_all_that_is_not_rows_stays(path: Path) -> None:
    """Comments, views, macros and indexes, and what a user has added."""
    filled(path, "a")
    sql(
        path,
        "CREATE SCHEMA mine",
        "CREATE TABLE mine.notes (text VARCHAR)",
        "INSERT INTO mine.notes VALUES ('note')",
        "CREATE VIEW cheap AS FROM best WHERE energy < 100",
        "COMMENT ON VIEW cheap IS 'what costs little'",
        "CREATE MACRO cost(r) AS TABLE SELECT energy FROM best WHERE run = r",
        "COMMENT ON MACRO TABLE cost IS 'what a run costs'",
    )
    questions = (
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() ORDER BY ALL",
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "SELECT table_name, comment FROM duckdb_tables() ORDER BY ALL",
        "SELECT table_name, sql FROM duckdb_indexes() ORDER BY ALL",
        "SELECT function_name, comment, len(macro_definition) FROM duckdb_functions() "
        "WHERE NOT internal ORDER BY ALL",
        "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
        "FROM mine.notes",
        "FROM cheap",
        "FROM store_schema",
    )

    def answers() -> list[list[tuple[object, ...]]]:
        with duckdb.connect(path) as connection:
            return [connection.execute(question).fetchall() for question in questions]

    before = answers()
    prune(path, BEST)
    assert answers() == before


def test_permissions_and_links_stay(path: Path, tmp_path: Path) -> None:
    filled(path, "a")
    path.chmod(0o640)
    link = tmp_path / "link.duckdb"
    link.symlink_to(path)
    prune(link, BEST)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert check_store(path).is_sound


def test_no_run_is_written_meanwhile(path: Path) -> None:
    filled(path, "a")
    with Store.open(path) as store, store.start_run(info()) as run:
        store.close()
        with pytest.raises(StoreError, match=f"process {os.getpid()} is writing run {run.id}"):
            prune(path, BEST)


def test_a_run_that_was_killed_or_is_elsewhere_is_no_obstacle(path: Path) -> None:
    gone, elsewhere = filled(path, "a", "b")
    sql(
        path,
        f"UPDATE runs SET status = 'running', pid = 4194305 WHERE id = '{gone}'",
        f"UPDATE runs SET status = 'running', host = 'elsewhere' WHERE id = '{elsewhere}'",
        "DELETE FROM results",
    )
    assert socket.gethostname() != "elsewhere"
    prune(path, BEST)
    assert check_store(path).is_sound


def test_runs_that_are_not_there_are_said(path: Path, tmp_path: Path) -> None:
    (run,) = filled(path, "a")
    missing = uuid4()
    with pytest.raises(StoreError, match=f"run {missing}: not in"):
        prune(path, PruneSelection(runs=(run, missing)))
    assert find_runs(path, ("last", str(run)[:6])) == (run, run)
    with pytest.raises(StoreError, match="no such run"):
        find_runs(path, ("x",))
    with pytest.raises(StoreError, match="no such file"):
        prune(tmp_path / "none.duckdb", BEST)
    assert sorted(tmp_path.iterdir()) == [path]


FULL = """
import resource, signal, sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.model.base import copy_with
from nestmap.store.maintenance.prune import PruneSelection, prune
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size // 2, path.stat().st_size // 2))
try:
    prune(path, PruneSelection(best_only=True))
except StoreError as error:
    print(error)
"""


def test_on_a_full_disk_the_old_file_stays(path: Path) -> None:
    filled(path, "a")
    before = content(path)
    arguments = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "the disk is full" in done.stdout
    assert list(path.parent.iterdir()) == [path]
    assert content(path) == before


KILLED = """
import sys
from pathlib import Path
from nestmap.store.maintenance.prune import PruneSelection, prune
print("ready", flush=True)
prune(Path(sys.argv[1]), PruneSelection(best_only=True))
"""


@pytest.mark.parametrize("part", every(2, [0.05, 0.15, 0.25, 0.35, 0.5]))
def test_pruning_that_is_killed_leaves_the_old_file_or_the_new_one(
    path: Path, large: Path, part: float
) -> None:
    shutil.copyfile(large, path)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(part)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    if path.read_bytes() != large.read_bytes():
        after = content(path)
        assert len(after[EVALUATION_ROWS]) < 1000 or after == content(large)
    prune(path, BEST)
    assert count(path, EVALUATION_ROWS) < 1000
    assert list(path.parent.iterdir()) == [path]
    assert check_store(path).is_sound
