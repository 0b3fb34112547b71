"""Files that are torn: what a killed checkpoint leaves is made right, nothing else is touched."""

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.connection.connect import connect_read_only
from nestmap.store.maintenance.check import check_store
from tests.store.filled import Content, content

HEADERS, BLOCK, CHECKSUM = 12_288, 65_536, 8

# Ends without closing the file, after a checkpoint: what it has committed since is in the log.
KILLED = """
import os, sys
from pathlib import Path
from nestmap.store import Store
from tests.store.filled import fill
path = Path(sys.argv[1])
with Store.open(path) as store:
    fill(store, "a", rows=3000)
    fill(store, "b")
store = Store.open(path)
fill(store, "c", finish=False)
os._exit(0)
"""


@pytest.fixture(name="killed", scope="module")
def _killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose process was killed, with its log."""
    file = tmp_path_factory.mktemp("killed") / "store.duckdb"
    subprocess.run([sys.executable, "-c", KILLED, str(file)], check=True)
    assert log_of(file).exists()
    return file


@pytest.fixture
def path(tmp_path: Path, killed: Path) -> Path:
    """A copy of that store."""
    file = tmp_path / killed.name
    shutil.copyfile(killed, file)
    shutil.copyfile(log_of(killed), log_of(file))
    return file


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def blocks(path: Path) -> tuple[set[int], set[int]]:
    """The numbers of the blocks that hold metadata, and of all others."""
    with connect_read_only(path) as connection:
        rows: list[tuple[int]] = connection.execute("FROM pragma_metadata_info()").fetchall()
    metadata = {row[0] for row in rows}
    return metadata, set(range((path.stat().st_size - HEADERS) // BLOCK)) - metadata


def tear(path: Path, block: int) -> None:
    """As if the process had been killed when the beginning of the block was written again."""
    with path.open("r+b") as file:
        file.seek(HEADERS + block * BLOCK)
        file.write(bytes(CHECKSUM))


def test_a_torn_checkpoint_is_mended(path: Path) -> None:
    expected = content(path)
    for block in blocks(path)[0]:
        tear(path, block)
    with pytest.raises(duckdb.Error, match="Corrupt database file"), duckdb.connect(path) as torn:
        torn.execute("SELECT * FROM runs").fetchall()
    with Store.open_read_only(path) as store:
        assert len(store.runs()) == 3
    assert content(path) == expected
    with Store.open(path) as store:
        assert [run.status.value for run in store.runs()] == ["done", "done", "interrupted"]
    assert _without_runs(content(path)) == _without_runs(expected)
    assert check_store(path).problems == ()


def _without_runs(given: Content) -> Content:
    return {table: rows for table, rows in given.items() if table != "runs"}


def test_a_block_of_data_is_not_touched(path: Path) -> None:
    metadata, data = blocks(path)
    assert data
    for block in (min(metadata), *data):
        tear(path, block)
    log = log_of(path).read_bytes()
    refused = 0
    for _ in range(2):
        try:
            with Store.open_read_only(path) as store:
                store.query("SELECT sum(energy), sum(number) FROM evaluation_rows")
        except StoreError as error:
            refused += "Corrupt database file" in str(error)
    assert refused == 2
    with path.open("rb") as file:
        for block in data:
            file.seek(HEADERS + block * BLOCK)
            assert file.read(CHECKSUM) == bytes(CHECKSUM)
    assert log_of(path).read_bytes() == log


def test_a_file_that_was_closed_is_not_touched(path: Path) -> None:
    metadata, _ = blocks(path)
    log_of(path).unlink()  # as it is where no process was killed
    tear(path, min(metadata))
    before = path.read_bytes()
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match="it is damaged or truncated"):
            opening(path)
    assert path.read_bytes() == before


def test_a_file_that_is_damaged_in_another_way_stays_as_it_is(path: Path) -> None:
    metadata, _ = blocks(path)
    tear(path, min(metadata))
    with path.open("r+b") as file:
        file.truncate(HEADERS + 2 * BLOCK)
    before = path.read_bytes()
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match="it is damaged or truncated"):
            opening(path)
    assert path.read_bytes() == before
