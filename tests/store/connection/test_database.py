"""A database that is open only while it is used: by threads, nested, and after errors."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from time import sleep

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.connection import database
from nestmap.store.connection.connect import connect, connect_read_only
from nestmap.store.connection.database import Database, open_with_retry
from tests.faults.processes import read_line, running

NEVER_CLOSED = """
import sys
from pathlib import Path
from nestmap.store import Store
store = Store.open(Path(sys.argv[1]))
print(len(store.runs()))
"""

COUNTING = """
import random, sys, time
from pathlib import Path
from nestmap.store.connection.connect import closing_written, connect
from nestmap.store.connection.database import open_with_retry
path, mine, committed = Path(sys.argv[1]), int(sys.argv[2]), 0
for _ in range(int(sys.argv[3])):
    opened = open_with_retry(lambda: connect(path), 600)
    with closing_written(opened, path) as connection:
        ask = "SELECT coalesce(max(n), 0) FROM counts WHERE process = ?"
        (found,) = connection.execute(ask, [mine]).fetchone()
        assert found == committed, f"{committed} were committed, {found} are there"
        committed += 1
        connection.execute("INSERT INTO counts VALUES (?, ?)", [mine, committed])
    time.sleep(0.01 * random.random())
"""
HOLDING = """
import sys
from pathlib import Path
from nestmap.store.connection.connect import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""

_AGES = 200


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is to be."""
    return tmp_path / "some.duckdb"


def shared(path: Path, patience: float = 5) -> Database:
    """What leaves the file to others."""
    return Database(path, lambda: connect(path), patience=patience)


def is_free(path: Path) -> bool:
    """Whether nobody here has the file open for writing."""
    try:
        connect_read_only(path).close()
    except StoreError:
        return False
    return True


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(_AGES):
        if condition():
            return
        sleep(0.05)
    pytest.fail("it did not come true")


def number(of: Database, sql: str) -> int:
    with of.use() as connection:
        rows: list[tuple[int]] = connection.execute(sql).fetchall()
    return rows[0][0]


def test_the_file_is_free_when_nobody_has_used_it_for_a_moment(path: Path) -> None:
    tested = shared(path)
    with tested.use() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS b")
        sleep(0.4)
        assert not is_free(path)
    wait_until(lambda: is_free(path))
    assert number(tested, "SELECT b FROM a") == 1
    tested.close()
    assert is_free(path)


def test_the_file_is_free_after_long_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST_USE", 0.0)
    tested = shared(path)
    with tested.use() as outer, tested.use() as inner:
        assert outer is inner
        assert number(tested, "SELECT 1") == 1
        assert not is_free(path)  # somebody is still at it
    assert is_free(path)


def test_what_is_not_shared_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST_USE", 0.0)
    monkeypatch.setattr(database, "_IDLE_SECONDS", 0.01)
    tested = Database(None, lambda: connect(None), patience=0)
    with tested.use() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS b")
    sleep(0.1)
    assert number(tested, "SELECT b FROM a") == 1
    tested.close()


def test_an_error_of_duckdb_is_one_of_the_store(path: Path) -> None:
    tested = shared(path)
    with pytest.raises(StoreError, match=r"some\.duckdb: .*Catalog Error"), tested.use() as one:
        one.execute("SELECT * FROM nothing")
    assert number(tested, "SELECT 1") == 1
    tested.close()


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_any_other_error_goes_through_and_the_file_is_let_go_of(
    path: Path, error: BaseException
) -> None:
    tested = shared(path)
    with pytest.raises(type(error)) as caught, tested.use():
        raise error
    assert caught.value is error
    wait_until(lambda: is_free(path))
    tested.close()


def test_it_can_be_closed_by_who_uses_it(path: Path) -> None:
    tested = shared(path)
    with tested.use() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS b")
        tested.close()
    assert is_free(path)
    assert number(tested, "SELECT b FROM a") == 1
    tested.close()
    tested.close()


def test_threads_use_it_in_turn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST_USE", 0.01)
    monkeypatch.setattr(database, "_IDLE_SECONDS", 0.001)  # it is closed and opened all the time
    tested, errors = shared(path), list[BaseException]()
    with tested.use() as connection:
        connection.execute("CREATE TABLE a (b INTEGER)")

    def add() -> None:
        try:
            for i in range(25):
                with tested.use() as connection:
                    connection.execute("INSERT INTO a VALUES (?)", [i])
                sleep(0.001 * (i % 3))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert number(tested, "SELECT count(*) FROM a") == 100
    tested.close()


def test_no_thread_is_left(path: Path) -> None:
    before = set(threading.enumerate())
    tested = shared(path)
    for _ in range(3):
        number(tested, "SELECT 1")
    tested.close()
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_an_error_in_closing_is_for_nobody_but_who_closes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_IDLE_SECONDS", 0.01)
    closed = threading.Event()

    class Broken:
        """A connection that cannot be closed."""

        def close(self) -> None:
            closed.set()
            raise duckdb.IOException("No space left on device")

    def opening() -> duckdb.DuckDBPyConnection:
        return Broken()  # type: ignore[return-value]

    tested = Database(path, opening, patience=0)
    with tested.use():
        pass
    assert closed.wait(10)  # by a thread, whose errors would fail this test
    with tested.use():
        closed.clear()
        with pytest.raises(StoreError, match="the disk is full"):
            tested.close()


def test_who_waits_gets_the_file_when_it_is_free(path: Path) -> None:
    holder, freed = connect(path), threading.Event()

    def free() -> None:
        sleep(0.3)
        freed.set()
        holder.close()

    thread = threading.Thread(target=free)
    thread.start()
    open_with_retry(lambda: connect_read_only(path), 60).close()
    assert freed.is_set()
    thread.join()


def test_who_has_no_patience_does_not_wait(path: Path) -> None:
    with connect(path), pytest.raises(StoreError, match="this process has it open already"):
        open_with_retry(lambda: connect_read_only(path), 0)


def test_what_is_wrong_for_ever_is_not_waited_for(tmp_path: Path) -> None:
    attempts: list[int] = []

    def opening() -> duckdb.DuckDBPyConnection:
        attempts.append(1)
        return connect_read_only(tmp_path / "nothing")

    with pytest.raises(StoreError, match="no such file"):
        open_with_retry(opening, 60)
    assert len(attempts) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_process_does_not_touch_the_connection(path: Path) -> None:
    tested = shared(path)
    with tested.use() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS b")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                number(tested, "SELECT 1")
            except StoreError as error:
                code = 0 if "open it here" in str(error) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        connection.execute("INSERT INTO a VALUES (2)")
    assert number(tested, "SELECT count(*) FROM a") == 2
    tested.close()


def test_a_program_that_closes_nothing_ends_well(path: Path) -> None:
    command = [sys.executable, "-c", NEVER_CLOSED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    with Store.open_read_only(path) as store:
        assert store.runs() == ()
    assert [x.name for x in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("connecting", [connect, connect_read_only])
def test_a_file_is_not_opened_while_another_process_closes_it(
    path: Path, connecting: Callable[[Path], duckdb.DuckDBPyConnection]
) -> None:
    connect(path).close()
    check_that_it_waits(path, lambda: connecting(path).close())


def test_a_file_is_not_closed_while_another_process_opens_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_IDLE_SECONDS", 600)  # nobody else closes it
    tested = shared(path)
    with tested.use():
        pass
    check_that_it_waits(path, tested.close)


def check_that_it_waits(path: Path, act: Callable[[], None]) -> None:
    """Checks that it is done only after another process has left the folder."""
    with running(HOLDING, str(path)) as holding, ThreadPoolExecutor(1) as pool:
        assert read_line(holding) == "locked"
        done = pool.submit(act)
        with pytest.raises(TimeoutError):
            done.result(0.2)
        holding.communicate()
        done.result()


@pytest.mark.stress
def test_no_commit_is_lost_between_two_processes(path: Path) -> None:
    with closing(connect(path)) as connection:
        connection.execute("CREATE TABLE counts (process INTEGER, n INTEGER)")
    with ExitStack() as stack:
        for _ in range(3):  # a process that has to wait between two steps finds the gap
            stack.enter_context(running("while True: pass"))
        counts = [running(COUNTING, str(path), n, "1000") for n in ("1", "2")]
        processes = [stack.enter_context(x) for x in counts]
        assert [x.wait() for x in processes] == [0, 0]
