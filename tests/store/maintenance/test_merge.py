"""Merged stores hold all that was in each of them, once, whatever the order."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count as counting
from pathlib import Path
from uuid import UUID

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.connection.connect import transaction
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import MergeCounts, merge, merge_stores
from nestmap.store.schema.migrate import SCHEMA as VERSION
from nestmap.store.schema.migrate import migrate
from nestmap.store.schema.tables import (
    CONTENT_TABLES,
    EVALUATION_ROWS,
    PART_OF,
    RUN_TABLES,
    SEARCH_TABLES,
    SMALL_TABLES,
    SWEEP_TABLES,
    VERSION_TABLE,
    references,
)
from tests.store.builders import NASTY
from tests.store.filled import (
    Content,
    content,
    content_of,
    count,
    fill,
    filled,
    filled_content,
    sql,
)
from tests.store.sweeps import INFO, add_design, infeasible
from tests.sweeps import some_of

# stores made of rows, to try all ways in which two can differ

SIZES = (3, 4, 0)
"""How many evaluations each search has when it is complete."""
STAGES = (
    ("running", 0, None, 0),
    ("running", 0, None, 2),
    ("interrupted", 0, "2026-01-01 10:00:00", 2),
    ("running", 1, None, 2),
    ("failed", 1, "2026-01-02 10:00:00", 3),
    ("done", 2, "2026-01-03 10:00:00", 3),
)
"""How a run goes on: status, resumed, ended, searches; each comes after all before it."""


DESIGNS = 3
"""How many designs each sweep has when it is complete."""


@dataclass(frozen=True)
class Rows:
    """Per search how many rows (or all), per run its stage, per sweep how many designs.

    -1: not there. ``layer`` names cmes. A sweep of ``DESIGNS`` is complete.
    """

    searches: tuple[int, ...]
    runs: tuple[int, ...]
    sweeps: tuple[int, ...]
    layer: str


rows = st.builds(
    Rows,
    searches=st.tuples(*(st.integers(-1, size + 1) for size in SIZES)),
    runs=st.tuples(*(st.integers(-1, len(STAGES) - 1) for _ in range(2))),
    sweeps=st.tuples(*(st.integers(-1, DESIGNS) for _ in range(2))),
    layer=st.sampled_from(["a", "b"]),
)

SCHEMA = duckdb.connect()
migrate(SCHEMA, "test")
NAMES = counting()
FREE: list[str] = []  # making one takes long
MAY_HAVE_ROWS = """
SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND estimated_size <> 0
"""


@contextmanager
def database(made: Rows | None = None) -> Generator[str]:
    """A database in memory with those rows; gives its name."""
    name = FREE.pop() if FREE else new_database()
    if made is not None:
        write_rows(name, made)
    try:
        yield name
    finally:
        for (table,) in SCHEMA.execute(MAY_HAVE_ROWS, [name]).fetchall():
            SCHEMA.execute(f"DELETE FROM {name}.{table}")
        FREE.append(name)


def new_database() -> str:
    name = f"store_{next(NAMES)}"
    SCHEMA.execute(f"ATTACH ':memory:' AS {name}")
    SCHEMA.execute(f"COPY FROM DATABASE memory TO {name} (SCHEMA)")
    return name


def write_rows(name: str, made: Rows) -> None:
    for search, (size, found) in enumerate(zip(SIZES, made.searches, strict=True)):
        if found < 0:
            continue
        evaluations = size if found > size else None  # all rows, and complete
        SCHEMA.execute(
            f"INSERT INTO {name}.searches SELECT ?, 'key', 'layer', 'c', 'a', 's', '{{}}', '[]', "
            "'{}', [], [], 8, 1, 'all', ?, NULL, ?, ?, ?, 1, 0, 0",
            [search, evaluations, *([0.5, 1.5, 2.5] if evaluations else [None] * 3)],
        )
        SCHEMA.execute(
            f"INSERT INTO {name}.evaluation_rows SELECT ?, i, [], [], i + ?, 0, 0, 0 "
            "FROM range(?) AS numbers(i)",
            [search, search, min(found, size)],
        )
        if evaluations is not None:
            SCHEMA.execute(f"INSERT INTO {name}.infeasible VALUES (?, 'why', 3, 0)", [search])
    for number, stage in enumerate(made.runs):
        if stage >= 0:
            write_run(name, number, stage)
    for number, designs in enumerate(made.sweeps):
        if designs >= 0:
            write_sweep_rows(name, number, designs)
    SCHEMA.execute(
        f"INSERT INTO {name}.cmes SELECT 'h', 'Conv', 1, 's', 't', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,"
        "1, 1, 1, ?, 0, NULL, []",
        [json.dumps({"layer": made.layer})],
    )


def write_sweep_rows(name: str, number: int, designs: int) -> None:
    SCHEMA.execute(
        f"INSERT INTO {name}.sweeps BY NAME SELECT ? AS hash, 'n' AS name, "
        "TIMESTAMP '2026-01-01' AS started, 'c' AS command, 'v' AS version, "
        "['energy'] AS mapped_for, ['energy'] AS objectives, 'sum' AS aggregate, [] AS methods, "
        "'{}' AS question, 3 AS most, ? AS designs, ? AS rejected, [] AS front",
        [str(number), designs, 0 if designs == DESIGNS else None],
    )
    SCHEMA.execute(
        f"INSERT INTO {name}.sweep_designs BY NAME SELECT ? AS sweep, i AS position, i AS number, "
        "'{}' AS parameters, 'energy' AS mapped_for, [] AS networks FROM range(?) AS numbers(i)",
        [str(number), designs],
    )


def write_run(name: str, number: int, stage: int) -> None:
    status, resumed, ended, links = STAGES[stage]
    run = str(UUID(int=number))
    SCHEMA.execute(
        f"INSERT INTO {name}.runs BY NAME SELECT ? AS id, 'c' AS command, 'v' AS version, "
        "'energy' AS objective, '{}' AS pipeline, '{}' AS options, 'w' AS workload, "
        "'a' AS accelerator, '{}' AS constraints, 'h' AS host, 1 AS pid, "
        "TIMESTAMP '2026-01-01' AS started, ? AS status, ? AS resumed, ?::TIMESTAMP AS ended",
        [run, status, resumed, ended],
    )
    SCHEMA.execute(
        f"INSERT INTO {name}.run_searches SELECT ?, i, i, 'l', false FROM range(?) AS numbers(i)",
        [run, links],
    )
    if status == "done":
        SCHEMA.execute(
            f"INSERT INTO {name}.results BY NAME SELECT ? AS run, 0 AS position, 'l' AS layer, "
            "'h' AS cme, 1 AS evaluations, 0 AS pruned, [] AS infeasible, 0.5 AS energy_bound, "
            "0.5 AS latency_bound, 0.5 AS edp_bound, 1.5 AS bound, 2.5 AS gap, 1 AS unproven",
            [run],
        )


def merged(into: str, *sources: str) -> list[MergeCounts]:
    SCHEMA.execute(f"USE {into}")
    with transaction(SCHEMA):
        return [merge(SCHEMA, source) for source in sources]


def everything(name: str) -> Content:
    return content_of(SCHEMA, f"{name}.")


@settings(max_examples=some_of(25), deadline=None)
@given(rows, rows, rows)
def test_the_order_of_merging_does_not_matter(one: Rows, two: Rows, three: Rows) -> None:
    with (
        database(one) as a, database(two) as b, database(three) as c,
        database() as first, database() as second,
    ):  # fmt: skip
        merged(first, a, b, c)
        merged(second, c)
        merged(b, a)
        merged(second, b)
        assert everything(first) == everything(second)


@settings(max_examples=some_of(25), deadline=None)
@given(rows, rows)
def test_merging_again_changes_nothing(one: Rows, two: Rows) -> None:
    with database(one) as a, database(two) as b:
        merged(a, b)
        once = everything(a)
        assert merged(a, b) == [MergeCounts(runs=0, searches=0, evaluations=0)]
        assert everything(a) == once


@settings(max_examples=some_of(25), deadline=None)
@given(rows, rows)
def test_everything_is_there_once_in_the_state_that_came_furthest(one: Rows, two: Rows) -> None:
    searches = [max(pair) for pair in zip(one.searches, two.searches, strict=True)]
    stages = [max(pair) for pair in zip(one.runs, two.runs, strict=True)]
    sweeps = [max(pair) for pair in zip(one.sweeps, two.sweeps, strict=True)]
    expected = Rows(tuple(searches), tuple(stages), tuple(sweeps), min(one.layer, two.layer))
    with database(one) as a, database(two) as b, database(expected) as c:
        (told,) = merged(a, b)
        assert everything(a) == everything(c)
    assert told.runs == sum(mine < theirs for mine, theirs in zip(one.runs, two.runs, strict=True))


# files


@pytest.fixture(name="into")
def _into(tmp_path: Path) -> Path:
    return tmp_path / "into.duckdb"


def test_every_table_has_its_place(tmp_path: Path) -> None:
    Store.open(tmp_path / "s.duckdb").close()
    with duckdb.connect(tmp_path / "s.duckdb") as connection:
        tables = {
            row[0]
            for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        }
        keys = {
            row[0]: tuple(row[1])
            for row in connection.execute(
                "SELECT table_name, constraint_column_names FROM duckdb_constraints() "
                "WHERE constraint_type = 'PRIMARY KEY'"
            ).fetchall()
        }
        known = {(x.table, x.column, x.owner, x.key) for x in references(connection)}
    assert (
        tables
        == {
            *RUN_TABLES,
            *SEARCH_TABLES,
            *SWEEP_TABLES,
            *CONTENT_TABLES,
            EVALUATION_ROWS,
            VERSION_TABLE,
        }
        == {*SMALL_TABLES, EVALUATION_ROWS, VERSION_TABLE}
    )
    assert {table: keys[table] for table in CONTENT_TABLES} == CONTENT_TABLES
    assert {(table, *owner) for table, owner in PART_OF.items()} <= known


def test_two_stores_become_one(tmp_path: Path, into: Path) -> None:
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    runs = filled(one, "a", "b") + filled(two, "c", NASTY)
    assert merge_stores(into, [one, two]) == MergeCounts(runs=4, searches=8, evaluations=56)
    with Store.open_read_only(into) as store:
        assert {record.id for record in store.runs()} == set(runs)
        assert [len(x) for x in store.evaluations(runs[3], NASTY)] == [7, 7]
    together = content(into)
    for path in (one, two):
        for table, found in content(path).items():
            assert table == "cmes" or set(found) <= set(together[table])
    assert check_store(into).is_sound
    merge_stores(into, [two, one])
    assert content(into) == together


def test_sweeps_are_counted(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "source.duckdb"
    with Store.open(source) as store:
        sweep = store.start_sweep(INFO)
        add_design(sweep, infeasible(1))
        sweep.commit(())
    counts = MergeCounts(runs=0, searches=0, evaluations=0, sweeps=1)
    assert merge_stores(into, [source]) == counts
    assert merge_stores(into, [source]).sweeps == 0


def test_names_of_files_are_no_sql(tmp_path: Path) -> None:
    nasty = 'it\'s; DROP TABLE runs; -- "ü" 🙂 % $1 *[a]'
    source, into = tmp_path / f"{nasty} a.duckdb", tmp_path / f"{nasty} b.duckdb"
    filled(source, NASTY)
    merge_stores(into, [source])
    assert content(into) == content(source)


@pytest.mark.parametrize("name", ["source", "main", "temp", "memory", "runs"])
def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    into, source = tmp_path / f"{name}.duckdb", tmp_path / "other" / f"{name}.duckdb"
    filled(into, "a")
    filled(source, "b")
    assert merge_stores(into, [source]).runs == 1
    assert count(into, "runs") == 2


def test_a_run_that_was_merged_early_is_completed_later(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "source.duckdb"
    with Store.open(source) as store:
        run = fill(store, finish=False)
    merge_stores(into, [source])
    early = content(into)
    sql(source, f"UPDATE runs SET status = 'done', resumed = 1 WHERE id = '{run}'")
    assert merge_stores(into, [source]) == MergeCounts(runs=1, searches=0, evaluations=0)
    assert content(into)["runs"] != early["runs"]
    assert content(into)[EVALUATION_ROWS] == early[EVALUATION_ROWS]
    # the earlier state does not come back
    other = tmp_path / "other.duckdb"
    merge_stores(other, [source])
    sql(source, "UPDATE runs SET status = 'running', resumed = 0")
    assert merge_stores(other, [source]) == MergeCounts(runs=0, searches=0, evaluations=0)


def test_a_newer_store_is_refused_and_nothing_is_changed(tmp_path: Path, into: Path) -> None:
    good, newer = tmp_path / "good.duckdb", tmp_path / "newer.duckdb"
    filled(good, "a")
    filled(newer, "b")
    sql(newer, f"INSERT INTO store_schema VALUES ({VERSION + 1}, now()::TIMESTAMP)")
    with pytest.raises(StoreError, match="a newer nestmap wrote it, upgrade nestmap"):
        merge_stores(into, [good, newer])
    assert not into.exists()
    filled(into, "c")
    with pytest.raises(StoreError, match="a newer nestmap"):
        merge_stores(into, [good, newer])
    assert content(into) == filled_content("c")


def test_what_is_no_store_is_refused(tmp_path: Path, into: Path) -> None:
    songs, text = tmp_path / "songs.duckdb", tmp_path / "text.duckdb"
    sql(songs, "CREATE TABLE songs (title VARCHAR)")
    text.write_text("not a database")
    for source, found in (
        (songs, "tables that are not nestmap's"),
        (text, "not a DuckDB database"),
        (tmp_path / "none.duckdb", "no such file"),
        (tmp_path, "found a folder; expected a DuckDB file"),
    ):
        with pytest.raises(StoreError, match=found):
            merge_stores(into, [source])
        assert not into.exists()


def test_a_store_is_not_merged_into_itself(into: Path) -> None:
    filled(into, "a")
    with pytest.raises(StoreError, match="found the store to merge into"):
        merge_stores(into, [into.parent / "." / into.name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_target_that_is_read_only_is_left_alone(tmp_path: Path, into: Path) -> None:
    filled(tmp_path / "source.duckdb", "a")
    filled(into, "b")
    into.chmod(0o444)
    with pytest.raises(StoreError, match="read-only"):
        merge_stores(into, [tmp_path / "source.duckdb"])


def test_a_damaged_source_changes_nothing(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "source.duckdb"
    filled(source, "a")
    filled(into, "b")
    before = filled_content("b")
    source.write_bytes(source.read_bytes()[:20000])
    with pytest.raises(StoreError, match=r"source\.duckdb"):
        merge_stores(into, [source])
    assert content(into) == before


KILLED = """
import sys
from pathlib import Path
from nestmap.store.maintenance.merge import merge_stores
print("ready", flush=True)
merge_stores(Path(sys.argv[1]), [Path(sys.argv[2])])
"""


@pytest.mark.parametrize("part", [0.0, 0.2, 0.4, 0.6, 0.8])
@pytest.mark.stress
def test_a_merge_that_is_killed_changes_nothing_or_all(
    tmp_path: Path, into: Path, part: float
) -> None:
    source = tmp_path / "source.duckdb"
    filled(source, "a", "b", "c")
    filled(into, "d")
    before = filled_content("d")
    arguments = [sys.executable, "-c", KILLED, str(into), str(source)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(part)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    after = content(into)
    assert after == before or len(after["runs"]) == 4
    merge_stores(into, [source])
    assert count(into, "runs") == 4
    assert count(into, EVALUATION_ROWS) == 4 * 14
    assert check_store(into).is_sound


def test_a_target_that_cannot_be_made(tmp_path: Path) -> None:
    filled(tmp_path / "source.duckdb", "a")
    for into in (tmp_path / "none" / "into.duckdb", tmp_path / "source.duckdb" / "into.duckdb"):
        with pytest.raises(StoreError, match="expected an existing folder"):
            merge_stores(into, [tmp_path / "source.duckdb"])
