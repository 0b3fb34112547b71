"""Ctrl-C and SIGTERM at any moment: 130, ``interrupted``, and a run that can be resumed."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from nestmap.store import RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.faults.forks import Forks
from tests.faults.interrupts import START
from tests.pipeline.cli.inputs import Ended, Inputs, program, run, run_process, written
from tests.sweeps import every

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has other signals")

LATER: Final = f"""
{START}
import threading
def later(number):
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
"""
ENDLESS: Final = "SELECT count(*) FROM range(100000000000)"
# DuckDB lets a statement end where another thread than the interrupted one carries it out.
LONG: Final = "SELECT count(*) FROM range(10000000000)"
BOTH: Final = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])

IN_A_QUERY: Final = f"""
{LATER}
from nestmap.store.read import sql
answer = sql.run_interruptibly
def interrupted(*arguments):
    later({{number}})
    return answer(*arguments)
sql.run_interruptibly = interrupted
"""

IN_A_STATEMENT: Final = f"""
{LATER}
from nestmap.store.record import run as writer
def endless(run, info):
    later({{number}})
    with run.reading() as connection:
        connection.execute("{LONG}")
writer.Run.find_search = endless
"""

AFTER_A_COMMIT: Final = f"""
{START}
from contextlib import contextmanager
from nestmap.store.record import lifecycle, run
run.MAX_COMMIT_INTERVAL = 0  # commits at once
transaction = lifecycle.transaction
commits = []
@contextmanager
def interrupted(connection):
    with transaction(connection):
        yield
    commits.append(connection)
    if len(commits) == {{commit}}:
        os.kill(os.getpid(), signal.SIGINT)
lifecycle.transaction = interrupted
"""

BEFORE_IT_IS_ENTERED: Final = f"""
{START}
from nestmap.store.record import run
usual = run.CommitPolicy
def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    return usual()
run.CommitPolicy = interrupted
"""
"""Ctrl-C when a run has begun, before anything could end it."""

SWALLOWED: Final = f"""
{START}
from nestmap.pipeline.cli.progress import ExplorationBar
observe = ExplorationBar.observe
class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10):
            pass
def slow(bar, batch):
    import time
    Swallows()
    time.sleep(0.3)
    observe(bar, batch)
ExplorationBar.observe = slow
"""

SWALLOWED_TWICE: Final = f"""
{SWALLOWED}
from _thread import interrupt_main
from threading import Timer
start_timer = Timer.start
def interrupted(timer):
    if timer.function is interrupt_main:  # the one that repeats the first
        os.kill(os.getpid(), signal.SIGINT)
    start_timer(timer)
Timer.start = interrupted
"""

LOADING: Final = f"""
{START}
import enum, sys
construct = enum.EnumMeta.__call__
def interrupted(cls, value, *names, **options):
    if names and "duckdb" in sys.modules:  # DuckDB's compiled module makes an enumeration
        os.kill(os.getpid(), signal.SIGINT)
    return construct(cls, value, *names, **options)
enum.EnumMeta.__call__ = interrupted
"""

IN_LLVM: Final = f"""
{START}
from llvmlite.binding import ffi
enter = ffi.OutputString.__enter__
calls = []
def interrupted(output):  # LLVM loads a kernel
    calls.append(output)
    if len(calls) == 8:
        os.kill(os.getpid(), signal.SIGINT)
    return enter(output)
ffi.OutputString.__enter__ = interrupted
"""

IN_PYDANTIC: Final = f"""
{START}
import enum
get = enum.property.__get__
def interrupted(member, instance, owner=None):  # Pydantic asks for the values of an enumeration
    if owner is not None and owner.__name__ == "AreaUnit":
        os.kill(os.getpid(), signal.SIGINT)
    return get(member, instance, owner)
enum.property.__get__ = interrupted
"""

TWICE: Final = f"""
{START}
import sys
class Twice:
    def __getattr__(self, name):
        return getattr(sys.__stderr__, name)
    def write(self, text):
        if text == "interrupted\\n":
            os.kill(os.getpid(), signal.SIGINT)
        return sys.__stderr__.write(text)
sys.stderr = Twice()
set_handler = signal.signal
def pressed(number, handler):
    if handler == signal.SIG_IGN:
        os.kill(os.getpid(), signal.SIGINT)  # before the handler changes
    before = set_handler(number, handler)
    os.kill(os.getpid(), signal.SIGINT)
    return before
def finished(*arguments):
    signal.signal = pressed
    os.kill(os.getpid(), signal.SIGINT)
from nestmap.pipeline.cli.progress import ExplorationBar
ExplorationBar.observe = finished
"""

AT_THE_END: Final = f"""
{START}
from nestmap.store.record import run as writer
finish = writer.Run.finish
def interrupted(*arguments):
    finish(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
writer.Run.finish = interrupted
"""


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


def assert_interrupted(ended: Ended) -> None:
    assert (ended.code, ended.out) == (130, ""), ended.err
    assert ended.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in ended.err
    assert "Exception ignored" not in ended.err


@BOTH
@pytest.mark.parametrize("sql", [ENDLESS, "SELECT * FROM range(100000000000) ORDER BY 1 DESC"])
def test_a_long_query_is_interrupted(
    forks: Forks, inputs: Inputs, number: signal.Signals, sql: str
) -> None:
    Store.open(Path("nestmap.duckdb")).close()
    setup = IN_A_QUERY.replace("{number}", str(int(number)))
    assert_interrupted(forks.run("query", sql, setup=setup))
    assert run("query", "SELECT 1 AS x").code == 0


@BOTH
def test_a_run_whose_statement_is_interrupted_can_be_resumed(
    forks: Forks, inputs: Inputs, number: signal.Signals
) -> None:
    ended = forks.run(*inputs.explore, setup=IN_A_STATEMENT.replace("{number}", str(int(number))))
    assert_interrupted(ended)
    assert "To resume: nestmap resume" in ended.err
    assert run("resume", "last").code == 0


@pytest.mark.parametrize("setup", [SWALLOWED, SWALLOWED_TWICE], ids=["once", "twice"])
def test_an_interrupt_that_a_callback_swallows_comes_again(
    forks: Forks, inputs: Inputs, setup: str
) -> None:
    ended = forks.run(*inputs.explore, setup=setup)
    assert_interrupted(ended)
    assert "To resume: nestmap resume" in ended.err


@pytest.mark.parametrize("setup", [LOADING, IN_LLVM, IN_PYDANTIC])
def test_an_interrupt_waits_for_compiled_code(inputs: Inputs, setup: str) -> None:
    assert_interrupted(run_process(*inputs.explore, setup=setup))


def test_a_second_interrupt_does_not_change_how_the_first_ends(
    forks: Forks, inputs: Inputs
) -> None:
    assert_interrupted(forks.run(*inputs.explore, setup=TWICE))


@pytest.mark.parametrize("commit", range(1, 5))
def test_what_is_committed_is_not_written_again(forks: Forks, inputs: Inputs, commit: int) -> None:
    ended = forks.run(*inputs.explore, setup=AFTER_A_COMMIT.replace("{commit}", str(commit)))
    assert_interrupted(ended)
    path = Path("nestmap.duckdb")
    assert check_store(path).problems == ()
    if recorded(path) == [RunStatus.INTERRUPTED]:
        assert run("resume", "last").code == 0
    assert recorded(path) == [RunStatus.DONE]
    assert check_store(path).problems == ()


@pytest.mark.parametrize(
    "setup", [AFTER_A_COMMIT.replace("{commit}", "1"), BEFORE_IT_IS_ENTERED], ids=["begun", "made"]
)
def test_a_run_that_has_just_begun_is_interrupted(forks: Forks, inputs: Inputs, setup: str) -> None:
    ended = forks.run(*inputs.explore, setup=setup)
    assert_interrupted(ended)
    assert "To resume: nestmap resume" in ended.err
    # read only: a store that is opened to write takes runs of processes that are gone for those
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (row,) = store.query("SELECT status FROM runs").rows()
    assert row["status"] == RunStatus.INTERRUPTED


def test_a_run_that_is_complete_is_not_to_be_resumed(forks: Forks, inputs: Inputs) -> None:
    ended = forks.run(*inputs.explore, setup=AT_THE_END)
    assert_interrupted(ended)
    (command,) = (x for x in ended.err.splitlines() if x.startswith("Complete: nestmap "))
    shown = run(*command.split()[2:])
    assert "first" in shown.out


@pytest.mark.parametrize("seed", every(66, range(200)))
def test_a_signal_at_any_moment_loses_nothing(inputs: Inputs, seed: int) -> None:
    draw = random.Random(seed)
    number = draw.choice([signal.SIGINT, signal.SIGTERM])
    command = [*program(START), *inputs.explore, "--workers", str(draw.choice([1, 2]))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        time.sleep(0.2 + draw.uniform(0, 1.5))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    if out:
        return  # it was done before
    assert_interrupted(Ended(process.returncode, out, err))
    path = Path("nestmap.duckdb")
    if path.exists() and (runs := recorded(path)):
        (status,) = runs
        assert check_store(path).problems == ()
        if status is RunStatus.DONE:
            return  # while its results were printed
        assert status is RunStatus.INTERRUPTED
        assert "To resume: nestmap resume" in err
        assert run("resume", "last").code == 0


def recorded(path: Path) -> list[RunStatus]:
    with Store.open(path) as store:
        return [record.status for record in store.runs()]
