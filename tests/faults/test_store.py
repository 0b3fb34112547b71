"""Stores that are locked, foreign, damaged, read-only or full: told in a line, nothing lost."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import ROW_GROUP, RunStatus, Store
from nestmap.store.connection import database
from nestmap.store.connection.connect import connect
from nestmap.store.connection.database import open_with_retry
from nestmap.store.maintenance.check import check_store
from tests.faults.forks import Forks
from tests.faults.processes import HOLD, NO_LIMIT, read_chunks, read_line, running, writing
from tests.pipeline.cli.inputs import Ended, Inputs, run, written
from tests.store.filled import fill

OPEN_AT_ONCE = """
import sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.store import Store
try:
    Store.open(Path(sys.argv[1]), patience=0)
except StoreError as error:
    print(error)
"""

BECOME_NOBODY_AND_OPEN = """
import os, sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.store import Store
if os.geteuid() == 0:  # root may write anything
    getattr(os, sys.argv[2])(65534)
try:
    Store.open(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"

FULL = "the disk is full (or a limit on the size of files is reached)"
FOREIGN = "found a file that is not a DuckDB database; expected one, or no file at all"
DAMAGED = "it is damaged or truncated; expected a readable DuckDB file"


def committed_rows(store: Store) -> int:
    (row,) = store.query("SELECT count(*) AS n FROM evaluation_rows")
    return int(str(row["n"]))


def impatiently(
    opening: Callable[[], duckdb.DuckDBPyConnection], patience: float
) -> duckdb.DuckDBPyConnection:
    """Waits, but not for long."""
    return open_with_retry(opening, min(patience, 0.1))


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder; nobody waits for long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "open_with_retry", impatiently)
    return written(tmp_path)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- files that are not what they should be ---


def foreign(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE runs (id INTEGER)")
        connection.commit()


def other_tables(path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")


def cut_off(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with Store.open(path) as store:
            fill(store)
        path.write_bytes(path.read_bytes()[:size])

    return make


def changed(path: Path) -> None:
    """One bit of the head is another one."""
    Store.open(path).close()
    content = bytearray(path.read_bytes())
    content[4200] ^= 1
    path.write_bytes(content)


def newer_schema(path: Path) -> None:
    Store.open(path).close()
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO store_schema VALUES (99, now())")


def newer_duckdb(path: Path) -> None:
    """Made with a version of the file format that is not known yet; DuckDB says the checksum."""
    Store.open(path).close()
    content = bytearray(path.read_bytes())
    content[12:20] = (10**6).to_bytes(8, "little")
    path.write_bytes(content)
    with pytest.raises(duckdb.Error, match="computed checksum") as told:
        duckdb.connect(path)
    (checksum,) = re.findall(r"computed checksum (\d+)", str(told.value))
    content[:8] = int(checksum).to_bytes(8, "little")
    path.write_bytes(content)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (foreign(b""), FOREIGN),
    "text": (foreign(b"layers:\n"), FOREIGN),
    "zeros": (foreign(b"\0" * 100_000), FOREIGN),
    "parquet": (foreign(b"PAR1" + b"\0" * 100), FOREIGN),
    "sqlite": (sqlite, FOREIGN),
    "other tables": (other_tables, "tables that are not nestmap's; expected a store of nestmap"),
    "cut off in the head": (cut_off(5000), DAMAGED),
    "cut off": (cut_off(100_000), DAMAGED),
    "changed": (changed, DAMAGED),
    "newer schema": (newer_schema, "found schema 99; expected schema 6: a newer"),
    "newer duckdb": (
        newer_duckdb,
        "another version of DuckDB wrote it; upgrade the duckdb package",
    ),
    "a folder": (Path.mkdir, "found"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_store_is_told_and_left_alone(inputs: Inputs, fault: str) -> None:
    path = inputs.folder / "other.duckdb"
    make, told = FAULTS[fault]
    make(path)
    files, content = names(inputs.folder), path.is_file() and path.read_bytes()
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match=re.escape(told)) as caught:
            opening(path)
        assert str(path) in str(caught.value)
    for command in (inputs.explore, ("query", "SELECT 1"), ("resume", "last"), ("query", "--list")):
        told_in_a_line(run(*command, "--store", "other.duckdb"), "other.duckdb", told)
    assert names(inputs.folder) == files
    assert (path.is_file() and path.read_bytes()) == content


def told_in_a_line(ended: Ended, *told: str) -> None:
    """The command has failed with one line."""
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    for part in told:
        assert part in line


def test_no_folder_is_made(inputs: Inputs) -> None:
    before = names(inputs.folder)
    with pytest.raises(StoreError, match=r"folder .*missing does not exist; expected an existing"):
        Store.open(inputs.folder / "missing" / "store.duckdb")
    told_in_a_line(run(*inputs.explore, "--store", "missing/a.duckdb"), "missing does not exist")
    assert names(inputs.folder) == before


def test_what_is_missing_cannot_be_read(inputs: Inputs) -> None:
    before = names(inputs.folder)
    with pytest.raises(StoreError, match="no such file; expected a store that nestmap explore"):
        Store.open_read_only(inputs.folder / "nestmap.duckdb")
    told_in_a_line(run("query", "SELECT 1"), "nestmap.duckdb: no such file")
    told_in_a_line(run("resume", "last"), "nestmap.duckdb: no such file")
    assert names(inputs.folder) == before


# --- files that somebody else has ---


def test_a_store_that_another_process_holds_is_locked(inputs: Inputs) -> None:
    path = inputs.folder / "store.duckdb"
    with Store.open(path) as store:
        fill(store)
    told = "store.duckdb: another process has it open; expected an unlocked file: wait"
    with running(HOLD, str(path)) as process:
        assert read_line(process) == "open"
        for opening in (Store.open, Store.open_read_only):
            with pytest.raises(StoreError, match=re.escape(told)):
                opening(path, patience=0.05)
        for command in (inputs.explore, ("query", "SELECT 1"), ("resume", "last")):
            told_in_a_line(run(*command, "--store", "store.duckdb"), told)
    with Store.open_read_only(path) as store:
        assert len(store.runs()) == 1


def test_a_store_that_is_open_and_not_used_is_free(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Store.open(path) as writing, Store.open_read_only(path) as reading:
        assert len(reading.runs()) == 0
        fill(writing)  # waits until the reader lets go
        assert len(reading.runs()) == 1


def test_a_look_at_a_store_does_not_free_it_for_others(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    holding = database.Database(path, lambda: connect(path), patience=0)
    with holding.use():
        (tmp_path / "x").mkdir()
        for name in (path, tmp_path / "x" / ".." / path.name):
            with pytest.raises(StoreError, match="this process has it open already"):
                Store.open_read_only(name, patience=0)
        opening = [sys.executable, "-c", OPEN_AT_ONCE, str(path)]
        done = subprocess.run(opening, capture_output=True, text=True, check=True)
        assert "another process has it open" in done.stdout


# --- places that cannot be written ---


@pytest.mark.parametrize("become", ["setuid", "seteuid"])
@pytest.mark.parametrize("locked", ["file", "folder"])
def test_a_store_that_must_not_be_written_is_told(become: str, locked: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        path = Path(folder) / "store.duckdb"
        if locked == "file":
            Store.open(path).close()
            path.chmod(0o444)
        Path(folder).chmod(0o555 if locked == "folder" else 0o777)
        done = subprocess.run(
            [sys.executable, "-c", BECOME_NOBODY_AND_OPEN, str(path), become],
            capture_output=True,
            text=True,
            check=True,
        )
        Path(folder).chmod(0o755)
        assert names(Path(folder)) == (["store.duckdb"] if locked == "file" else [])
    assert "expected a writable file and folder" in done.stdout


AS_NOBODY = """
import json, os, sys
from dataclasses import astuple
from pathlib import Path
from tests.pipeline.cli.inputs import run
for command in json.loads(sys.argv[1]):  # nothing is left to be imported
    run(*command, "--store", sys.argv[2])
if os.geteuid() == 0:  # root may read and write anything
    os.setuid(65534)
ended = [run(*command, "--store", sys.argv[3]) for command in json.loads(sys.argv[1])]
print(json.dumps([astuple(x) for x in ended]))
"""


def as_nobody(path: Path, *commands: tuple[str, ...]) -> list[Ended]:
    """How commands end for a user who owns nothing, asked of a store."""
    with tempfile.TemporaryDirectory() as other:
        arguments = [json.dumps(commands), str(Path(other) / "other.duckdb"), str(path)]
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
    return [Ended(*ended) for ended in json.loads(done.stdout)]


def test_commands_tell_what_must_not_be_written_or_read() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs, path = written(folder), folder / "store.duckdb"
        with Store.open(path) as store:
            number = fill(store, finish=False)
        path.chmod(0o444)
        folder.chmod(0o777)
        question = ("query", "SELECT status FROM runs")
        exploring, resuming, asking = as_nobody(path, inputs.explore, ("resume", "last"), question)
        for ended in (exploring, resuming):
            told_in_a_line(ended, "store.duckdb is read-only; expected a writable file and folder")
        assert (asking.code, "interrupted" in asking.out) == (0, True)
        path.chmod(0)
        (asking,) = as_nobody(path, question)
        assert (asking.code, asking.out) == (2, "")
        assert f"path '{path}' is not readable" in asking.err
        with Store.open_read_only(path) as store:
            assert [x.id for x in store.runs()] == [number]


# --- disks without room ---


def test_a_full_disk_is_told_and_costs_only_the_last_chunk(forks: Forks, tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with writing(forks, str(path), str(12 * 2**20)) as fork:
        output = fork.out.read().splitlines()
    chunks = output.count("chunk")
    assert chunks > 0
    assert FULL in output[-1]
    assert "store.duckdb" in output[-1]
    with Store.open_read_only(path) as store:
        assert committed_rows(store) == chunks * ROW_GROUP
    with Store.open(path) as store:
        assert committed_rows(store) == chunks * ROW_GROUP
        assert store.runs()[0].status in (RunStatus.INTERRUPTED, RunStatus.FAILED)
    assert check_store(path, recompute=0).problems == ()


@pytest.mark.parametrize("limit", [1_000, 20_000, 140_000, 150_000])
def test_commands_tell_that_a_disk_is_full(forks: Forks, inputs: Inputs, limit: int) -> None:
    ended = forks.run(*inputs.explore, setup=LIMIT.format(limit))
    told_in_a_line(ended, "nestmap.duckdb", FULL)
    # with more room it goes on, whatever was left, and the log becomes part of the file
    again = run(*inputs.explore)
    assert again.code == 0, again.err
    assert check_store(inputs.folder / "nestmap.duckdb").problems == ()
    assert "nestmap.duckdb.wal" not in names(inputs.folder)


def test_a_disk_that_fills_up_while_a_run_goes_on(forks: Forks, inputs: Inputs) -> None:
    done = run(*inputs.explore)
    assert done.code == 0
    path = inputs.folder / "nestmap.duckdb"
    ended = forks.run(*inputs.explore, "--fresh", setup=LIMIT.format(4096))
    told_in_a_line(ended, "nestmap.duckdb", FULL)
    with Store.open_read_only(path) as store:
        first, *others = store.runs()
        assert first.status is RunStatus.DONE
        assert store.best(first.id).layers
        assert all(other.status is not RunStatus.DONE for other in others)
    assert check_store(path).problems == ()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte and a half."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


FILL = """
from pathlib import Path
from nestmap.store.record import lifecycle, run, search
search.BLOCK = run.ROW_GROUP = 1
writing, transactions = lifecycle.StartedRun.writing, []
def fill():
    with Path({filler!r}).open("ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
def filling(run, *committed):
    transactions.append(run)
    if len(transactions) > 3:  # its beginning, and two commits
        fill()
    return writing(run, *committed)
lifecycle.StartedRun.writing = filling
"""


def test_a_run_that_fills_a_disk_is_gone_on_with_when_there_is_room(
    forks: Forks, small_disk: Path, inputs: Inputs
) -> None:
    path, filler = small_disk / "store.duckdb", small_disk / "filler"
    option = ("--store", str(path))
    alone = run(*inputs.explore, "--no-store", "--json", "alone.json")
    assert alone.code == 0
    ended = forks.run(*inputs.explore, *option, setup=FILL.format(filler=str(filler)))
    told_in_a_line(ended, "store.duckdb", FULL)
    filler.unlink()
    with Store.open_read_only(path) as store:
        assert len(store.runs()) == 1
        assert committed_rows(store) > 0
    again = run("resume", "last", *option)
    assert (again.code, again.out) == (0, alone.out)
    assert check_store(path).problems == ()


# --- processes that exit without finishing their run ---


@pytest.mark.parametrize("chunks", [0, 1, 4])
def test_a_killed_run_keeps_its_committed_chunks(forks: Forks, tmp_path: Path, chunks: int) -> None:
    path = tmp_path / "store.duckdb"
    with writing(forks, str(path), NO_LIMIT) as fork:
        read_chunks(fork, chunks)  # what it wrote after that line may be more chunks
    with Store.open(path) as store:
        rows = committed_rows(store)
        assert rows % ROW_GROUP == 0
        assert rows >= chunks * ROW_GROUP
        (run,) = store.runs()
        assert run.status is RunStatus.INTERRUPTED
        recorded = [len(batch) for batch in store.evaluations(run.id, "fc")]
        assert recorded == ([rows] if rows else [])


def test_a_store_whose_maker_is_killed_opens_or_is_refused(forks: Forks, tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with writing(forks, str(path), NO_LIMIT) as fork:
        while not path.exists():
            os.kill(fork.pid, 0)  # is there
    try:
        with Store.open(path) as store:
            assert committed_rows(store) % ROW_GROUP == 0
    except StoreError as error:  # not even the head of the file had been written
        assert "store.duckdb: " in str(error)  # noqa: PT017 (it need not be raised)


def test_a_killed_run_can_be_looked_at_without_writing(forks: Forks, tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with writing(forks, str(path), NO_LIMIT) as fork:
        read_chunks(fork, 1)
    with Store.open_read_only(path) as store:
        assert committed_rows(store) >= ROW_GROUP
        assert store.runs()[0].status is RunStatus.RUNNING
