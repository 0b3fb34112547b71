"""Runs that write Parquet parts into one folder, side by side, and reading them back."""

from __future__ import annotations

import glob
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol, cast
from uuid import UUID, uuid4

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.connection.quote import quote_literal
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.combine import merge_stores
from nestmap.store.maintenance.export import export_store
from nestmap.store.maintenance.parquet_parts import PartsWriter
from nestmap.store.maintenance.parquet_reader import PartFiles, execute_steadily, open_parts
from nestmap.store.rows.run_records import SearchInfo
from nestmap.store.schema.migrate import SCHEMA, migrate
from nestmap.store.schema.tables import (
    EVALUATION_ROWS,
    SMALL_TABLES,
    SWEEP_TABLES,
    VERSION_TABLE,
)
from tests.store.builders import NASTY, batch, info, network, spatial_problem
from tests.store.filled import (
    content,
    content_of,
    count,
    fill,
    filled,
    filled_content,
    in_memory,
    recording_to,
    results_of,
    texts,
    write_parts,
)
from tests.sweeps import STRESS, every, some_of


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return tmp_path / "parts of 'all'; ü 🙂 *[a]"


@pytest.fixture(name="into")
def _into(tmp_path: Path) -> Path:
    return tmp_path / "into.duckdb"


def part(folder: Path, run: UUID, name: str) -> Path:
    return folder / str(run) / f"{name}.parquet"


def write_version(path: Path, version: int) -> None:
    with duckdb.connect() as connection:
        sql = "SELECT ?::INTEGER AS version, 'x' AS name, now()::TIMESTAMP AS applied"
        connection.sql(sql, params=[version]).write_parquet(str(path))


def test_parts_hold_what_a_store_in_memory_would(folder: Path, into: Path) -> None:
    (run,) = write_parts(folder, NASTY)
    merge_stores(into, [folder])
    with Store.open_read_only(into) as store:
        assert [record.id for record in store.runs()] == [run]
        assert store.best(run) == results_of(network(*store.problem(run).workload.layers))
        assert [len(x) for x in store.evaluations(run, NASTY)] == [7, 7]
    assert check_store(into).is_sound


def test_every_type_survives(folder: Path, into: Path, tmp_path: Path) -> None:
    """Enums, UUIDs, JSON and structs: a file and parts of the same rows are equal."""
    filled(tmp_path / "one.duckdb", "a", NASTY)
    export_store(tmp_path / "one.duckdb", folder)
    merge_stores(into, [folder])
    assert content(into) == filled_content("a", NASTY)
    with duckdb.connect(into) as there, duckdb.connect(tmp_path / "one.duckdb") as here:
        columns = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns()"
        assert there.execute(columns).fetchall() == here.execute(columns).fetchall()


def test_runs_of_several_machines_become_one_store(folder: Path, into: Path) -> None:
    runs = write_parts(folder, "a", "b", "a")
    assert merge_stores(into, [folder]).evaluations == 3 * 14
    with Store.open_read_only(into) as store:
        assert {record.id for record in store.runs()} == set(runs)
    assert count(into, "workloads") == 2
    together = content(into)
    assert merge_stores(into, [folder]).evaluations == 0
    assert content(into) == together


def test_runs_of_one_process_count_once(folder: Path, into: Path) -> None:
    """Each folder has the small tables of all of them, and its own evaluations."""
    with recording_to(folder) as store:
        runs = [fill(store, name) for name in ("a", "b", "c")]
        assert len(store.runs()) == 3
    assert sorted(path.name for path in folder.iterdir()) == sorted(map(str, runs))
    assert merge_stores(into, [folder]).evaluations == 42
    assert check_store(into).is_sound
    assert check_store(folder).is_sound


def test_a_folder_can_be_read_without_a_store(folder: Path, into: Path) -> None:
    write_parts(folder, "a", "b")
    merge_stores(into, [folder])
    with closing(open_parts(folder)) as connection:
        assert content_of(connection, "") == content(into)
        views = "SELECT count(*) FROM evaluations JOIN totals ON totals.run = evaluations.run"
        assert connection.execute(views).fetchall() == [(28,)]
    assert check_store(folder).is_sound


# while runs are writing


@settings(max_examples=some_of(15), deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.booleans())
def test_what_was_committed_is_read_at_any_time(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], finish: bool
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    seen: list[int] = []

    def committed(connection: duckdb.DuckDBPyConnection) -> None:
        writer.write(connection)
        assert connection.execute(f"SELECT count(*) FROM {EVALUATION_ROWS}").fetchall() == [(0,)]
        with closing(open_parts(folder)) as reading:
            rows = reading.execute(f"SELECT count(*) FROM {EVALUATION_ROWS}").fetchall()
            seen.append(rows[0][0])
            runs = reading.execute("SELECT status FROM runs").fetchall()
        assert runs == [("done",)] if finish and len(seen) == 2 else [("running",)]

    of = network()
    with in_memory(lambda _: committed) as store:
        run_id = uuid4()
        writer = PartsWriter(folder, run_id)
        with store.start_run(info(of)) as run:
            for i, rows in enumerate(sizes):
                problem = spatial_problem(of.workload.layers[0], of.accelerator)
                with run.record_search(SearchInfo(key=str(i), spatial=problem)) as search:
                    search.record(batch(problem, rows))
            if finish:
                run.finish(results_of(of))
    assert seen[0] == 0
    assert seen[-1] == sum(sizes)
    assert check_store(folder).is_sound


@pytest.mark.parametrize("table", every(7, [*SMALL_TABLES[len(SWEEP_TABLES) :], VERSION_TABLE]))
def test_files_that_are_not_written_yet_are_no_error(folder: Path, into: Path, table: str) -> None:
    """They are written in the order of ``SMALL`` from the end, so the first ones are missing."""
    finished, begun = write_parts(folder, "a", "b")
    tables = (*SMALL_TABLES, VERSION_TABLE)
    for missing in tables[: tables.index(table) + 1]:
        part(folder, begun, missing).unlink()
    part(folder, begun, f"{table}").with_suffix(".parquet.part").write_text("half")
    merge_stores(into, [folder])
    with Store.open_read_only(into) as store:
        assert [run.id for run in store.runs()] == [finished]
    assert check_store(into).is_sound


def test_rows_of_a_search_that_is_not_known_yet_are_left_out(folder: Path, into: Path) -> None:
    (run,) = write_parts(folder, "a")
    with duckdb.connect() as connection:
        early = connection.read_parquet(
            glob.escape(str(part(folder, run, f"{EVALUATION_ROWS}-000001")))
        )
        later = str(part(folder, run, f"{EVALUATION_ROWS}-000002"))
        early.project("* REPLACE (search + 1 AS search)").write_parquet(later)
    assert merge_stores(into, [folder]).evaluations == 14
    assert check_store(into).is_sound


def test_evaluations_that_were_written_twice_count_once(folder: Path, into: Path) -> None:
    """A run that is killed after its rows and before its searches writes these again."""
    (run,) = write_parts(folder, "a")
    first = part(folder, run, f"{EVALUATION_ROWS}-000001")
    part(folder, run, f"{EVALUATION_ROWS}-000002").write_bytes(first.read_bytes())
    assert merge_stores(into, [folder]).evaluations == 14
    assert check_store(into).is_sound


def test_a_search_in_two_folders_counts_once(folder: Path, into: Path, tmp_path: Path) -> None:
    filled(tmp_path / "one.duckdb", "a")
    merge_stores(tmp_path / "two.duckdb", [tmp_path / "one.duckdb"])
    filled(tmp_path / "two.duckdb", "b")
    folder.mkdir()
    export_store(tmp_path / "one.duckdb", folder / "one")
    export_store(tmp_path / "two.duckdb", folder / "two")
    merge_stores(into, [folder])
    assert content(into) == content(tmp_path / "two.duckdb")


def test_a_run_goes_on_with_the_next_number(folder: Path) -> None:
    run = uuid4()
    with duckdb.connect() as connection:
        migrate(connection, "test")
        for i in range(2):
            connection.execute(f"INSERT INTO {EVALUATION_ROWS} VALUES (1, {i}, [], [], 1, 1, 1, 1)")
            PartsWriter(folder, run).write(connection)
        PartsWriter(folder, run).write(connection)  # nothing new: no empty part
    names = sorted(path.name for path in (folder / str(run)).glob(f"{EVALUATION_ROWS}*"))
    assert names == [f"{EVALUATION_ROWS}-000001.parquet", f"{EVALUATION_ROWS}-000002.parquet"]


def test_only_what_has_changed_is_written_again(folder: Path) -> None:
    run = uuid4()
    with duckdb.connect() as connection:
        migrate(connection, "test")
        writer = PartsWriter(folder, run)
        writer.write(connection)
        before = {path.name: path.stat().st_ino for path in (folder / str(run)).iterdir()}
        connection.execute("INSERT INTO port_stalls VALUES ('cme', 'memory', 'port', 1, 2)")
        writer.write(connection)
        after = {path.name: path.stat().st_ino for path in (folder / str(run)).iterdir()}
    changed = {name.removesuffix(".parquet") for name in after if after[name] != before[name]}
    assert changed - {"runs", "run_searches", "searches", "infeasible", "sweeps"} == {"port_stalls"}


# what goes wrong


def test_a_folder_without_parts_is_said_to_be_one(folder: Path, into: Path) -> None:
    folder.mkdir()
    (folder / "notes.txt").write_text("x")
    with pytest.raises(StoreError, match="found no Parquet parts in it; expected a folder that"):
        merge_stores(into, [folder])
    (folder / str(uuid4())).mkdir()
    with pytest.raises(StoreError, match="found no Parquet parts"):
        open_parts(folder)


@pytest.mark.parametrize("table", ["runs", "cmes", f"{EVALUATION_ROWS}-000001", VERSION_TABLE])
@pytest.mark.parametrize("left", [0, 10, 300])
def test_a_damaged_file_is_named(folder: Path, into: Path, table: str, left: int) -> None:
    run, _ = write_parts(folder, "a", "b")
    filled(into, "c")
    damaged = part(folder, run, table)
    damaged.write_bytes(damaged.read_bytes()[:left])
    with pytest.raises(StoreError) as caught:
        merge_stores(into, [folder])
    assert f"found a damaged file, {damaged} (" in str(caught.value)
    assert content(into) == filled_content("c")


def test_damage_inside_of_a_file_is_found(folder: Path, into: Path) -> None:
    (run,) = write_parts(folder, "a")
    damaged = part(folder, run, f"{EVALUATION_ROWS}-000001")
    data = bytearray(damaged.read_bytes())
    data[4:400] = b"\xff" * 396
    damaged.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        merge_stores(into, [folder])
    assert str(damaged) in str(caught.value)
    assert not into.exists()


@pytest.mark.parametrize(("change", "advice"), [(-1, "an older nestmap"), (1, "a newer nestmap")])
def test_parts_of_another_schema_are_refused(
    folder: Path, into: Path, change: int, advice: str
) -> None:
    _, run = write_parts(folder, "a", "b")
    write_version(part(folder, run, VERSION_TABLE), SCHEMA + change)
    with pytest.raises(StoreError, match=f"{run}: found Parquet parts of schema .*{advice}"):
        merge_stores(into, [folder])


def test_a_table_that_is_not_ours_is_refused(folder: Path, into: Path) -> None:
    (run,) = write_parts(folder, "a")
    write_version(part(folder, run, "layers"), 1)
    with pytest.raises(StoreError, match="DuckDB: "):
        merge_stores(into, [folder])


def test_a_folder_that_cannot_be_made(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(StoreError, match="expected a readable and writable folder"):
        PartsWriter(folder, uuid4())


FULL = """
import resource, signal, sys
from pathlib import Path
from nestmap.model import StoreError
from tests.store.filled import recording_to, fill
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
with recording_to(folder) as store:
    fill(store, "small")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with recording_to(folder) as store:
        fill(store, "large", rows=20_000)
except StoreError as error:
    print(error)
"""


def test_a_full_disk_leaves_what_was_written_before(folder: Path, into: Path) -> None:
    arguments = [sys.executable, "-c", FULL, str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "the disk is full" in done.stdout
    assert "what was committed before is safe" in done.stdout
    assert not list(folder.rglob("*.part"))
    assert merge_stores(into, [folder]).evaluations == 14
    assert check_store(into).is_sound


def test_what_could_not_be_written_is_written_by_the_next_call(folder: Path) -> None:
    run = uuid4()
    with duckdb.connect() as connection:
        migrate(connection, "test")
        writer = PartsWriter(folder, run)
        connection.execute(f"INSERT INTO {EVALUATION_ROWS} VALUES (1, 0, [], [], 1, 1, 1, 1)")
        connection.execute(
            "INSERT INTO searches "
            "SELECT 1, '', '', '', '', '', '{}', '[]', '{}', [], [], 8, 1, 'all', NULL, NULL, "
            "NULL, NULL, NULL, 0, 0, 0"
        )
        connection.execute("INSERT INTO run_searches VALUES (?, 0, 1, 'fc', false)", [run])
        (folder / str(run) / f"{EVALUATION_ROWS}-000001.parquet.part").mkdir()  # in the way
        with pytest.raises(StoreError):
            writer.write(connection)
        (folder / str(run) / f"{EVALUATION_ROWS}-000001.parquet.part").rmdir()
        writer.write(connection)
    with closing(open_parts(folder)) as connection:
        rows = connection.execute(f"SELECT search, number FROM {EVALUATION_ROWS}").fetchall()
    assert texts(rows) == ["(1, 0)"]


def test_a_run_that_ends_while_its_tables_are_read_is_still_running(folder: Path) -> None:
    (run,) = write_parts(folder, "a")
    parts = folder / str(run)
    with duckdb.connect() as connection:
        for table, earlier in (
            ("runs", "SELECT * REPLACE ('running' AS status) FROM {}"),
            ("run_searches", "FROM {} WHERE position = 0"),
        ):
            file = parts / f"{table}.parquet"
            source = f"read_parquet({quote_literal(str(file))})"
            rows = connection.sql(earlier.format(source)).to_arrow_table()
            connection.from_arrow(rows).write_parquet(str(file))
    assert check_store(folder).problems == ()


KILLED = """
import sys, time
from pathlib import Path
from nestmap.store.maintenance.parquet_parts import PartsWriter
from tests.store.filled import in_memory, fill

folder, runs, pause = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def after(run):
    write = PartsWriter(folder, run).write
    def written(connection):
        write(connection)
        print("written", flush=True)
    return written
for _ in range(runs):
    with in_memory(after) as store:
        fill(store, "a", rows=2000)
    time.sleep(pause)
time.sleep(3600)
"""


@pytest.mark.parametrize("commits", every(3, [1, 2, 3, 4]))
def test_a_run_that_is_killed_leaves_what_it_has_committed(
    folder: Path, into: Path, commits: int
) -> None:
    arguments = [sys.executable, "-c", KILLED, str(folder), "9", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(commits):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    merge_stores(into, [folder])
    with duckdb.connect(into) as connection:
        done = connection.execute("SELECT count(*) FROM runs WHERE status = 'done'").fetchall()
    assert done[0][0] >= commits // 2
    assert check_store(into).is_sound


def test_a_folder_is_imported_again_and_again_while_runs_write(folder: Path, into: Path) -> None:
    rounds = 4 if STRESS else 2
    arguments = [sys.executable, "-c", KILLED, str(folder), str(2 * rounds), "0.2"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(rounds):
            merge_stores(into, [folder])
            assert check_store(into).problems == ()
            assert check_store(folder).problems == ()
        process.send_signal(signal.SIGKILL)
    merge_stores(into, [folder])
    with closing(open_parts(folder)) as connection:
        assert content(into) == content_of(connection, "")


class Functions(Protocol):
    """What is used of a connection, whose types pyright knows only in part."""

    def create_function(
        self,
        name: str,
        function: Callable[[], bool],
        parameters: list[str],
        return_type: str,
        *,
        side_effects: bool,
    ) -> object: ...


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_read_that_fails_is_repeated_if_a_part_was_replaced(
    tmp_path: Path, is_replaced: bool
) -> None:
    part, calls = tmp_path / "runs.parquet", list[int]()
    part.write_bytes(b"old")

    def tear() -> bool:
        calls.append(len(calls))
        if len(calls) > 1:
            return True
        if is_replaced:
            (tmp_path / "new").write_bytes(b"new")
            (tmp_path / "new").replace(part)
        raise ValueError("torn")

    files = PartFiles(paths=(str(part),), folders=(0,))
    query = "SELECT tear() WHERE len($files) = len($folders)"
    with duckdb.connect() as connection:
        cast("Functions", connection).create_function(
            "tear", tear, [], "BOOLEAN", side_effects=True
        )
        if is_replaced:
            execute_steadily(connection, query, files)
        else:
            with pytest.raises(duckdb.Error, match="torn"):
                execute_steadily(connection, query, files)
    assert len(calls) == 1 + is_replaced


# export


def test_what_was_exported_is_read_back_equal(tmp_path: Path, folder: Path, into: Path) -> None:
    source = tmp_path / "source.duckdb"
    filled(source, "a", NASTY)
    with Store.open(source) as store:
        fill(store, "open", finish=False)
    size = export_store(source, folder)
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(files) == {
        f"{table}.parquet" for table in (*SMALL_TABLES, EVALUATION_ROWS, VERSION_TABLE)
    }
    assert size == sum(files.values())
    merge_stores(into, [folder])
    assert content(into) == content(source)
    with duckdb.connect() as connection:
        exported = connection.read_parquet(glob.escape(str(folder / f"{EVALUATION_ROWS}.parquet")))
        assert len(exported.fetchall()) == 42


def test_parts_can_be_exported_as_one(tmp_path: Path, folder: Path, into: Path) -> None:
    write_parts(folder, "a", "b")
    export_store(folder, tmp_path / "one")
    merge_stores(into, [tmp_path / "one"])
    assert count(into, EVALUATION_ROWS) == 28
    assert check_store(into).is_sound


def test_an_export_overwrites_nothing(tmp_path: Path, folder: Path) -> None:
    source = tmp_path / "source.duckdb"
    filled(source, "a")
    folder.mkdir()
    export_store(source, folder)  # an empty folder will do
    with pytest.raises(StoreError, match="it exists and is not empty; expected a new or"):
        export_store(source, folder)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="it exists and is not empty"):
        export_store(source, tmp_path / "file")


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        export_store(tmp_path / "none.duckdb", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
