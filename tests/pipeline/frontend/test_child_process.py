"""Child processes: what they answer, what they import, their limits, and when they end."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nestmap.pipeline.frontend.onnx_process.child_process import (
    ChildEndedError,
    Frame,
    exchange,
    kill_child,
    start_child,
)

IMPORT = """
from nestmap.pipeline.frontend.onnx_process.child_process import *
import os, sys, time
"""
ECHO = IMPORT + "pipe = answer_pipe(); print('noise'); [write_frame(pipe, r) for r in requests()]"
FOREVER = 60.0


@contextmanager
def child(code: str) -> Generator[subprocess.Popen[bytes]]:
    process = start_child(code)
    try:
        yield process
    finally:
        kill_child(process)


@pytest.mark.parametrize("size", [0, 1, 2**20 + 1])
def test_frames_arrive_as_they_were_sent(size: int) -> None:
    with child(ECHO) as process:
        for head in (b"", b"{}\n\n", b"\xff" * size):
            sent = Frame(head, b"\n" * size)
            assert exchange(process, sent, FOREVER) == sent


@pytest.mark.parametrize("said", ["", "1 5\\n", "1 2\\nabcd", "what\\n", "-1 -1\\n", "1" * 99])
def test_a_child_that_ends_with_half_an_answer(said: str) -> None:
    with child(f"import sys; sys.stdout.write('{said}')") as process:
        if said == "1 2\\nabcd":
            assert exchange(process, None, FOREVER) == Frame(b"a", b"bc")
        with pytest.raises(ChildEndedError) as caught:
            exchange(process, None, FOREVER)
        assert not caught.value.is_late


def test_a_child_that_takes_too_long() -> None:
    with child(IMPORT + "time.sleep(1000)") as process:
        with pytest.raises(ChildEndedError) as caught:
            exchange(process, Frame(b"", bytes(2**22)), 0.5)  # more than a pipe holds
        assert caught.value.is_late
        assert process.wait() == -signal.SIGKILL


def test_modules_in_the_working_directory_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threading.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    with child(ECHO) as process:
        assert exchange(process, Frame(b"a"), FOREVER) == Frame(b"a")


def test_a_child_ends_with_its_input() -> None:
    with child(ECHO) as process:
        exchange(process, Frame(b"a"), FOREVER)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_limited_child_neither_writes_nor_grows(tmp_path: Path) -> None:
    code = (
        "limit_process(2**26); import resource; pipe = answer_pipe()\n"
        "for request in requests():\n"
        "    try: exec(request.head); answer = b'done'\n"
        "    except BaseException as error: answer = type(error).__name__.encode()\n"
        "    write_frame(pipe, Frame(answer))"
    )
    with child(IMPORT + code) as process:
        for given, expected in (
            (b"bytes(2**20)", b"done"),
            (b"bytes(2**27)", b"MemoryError"),
            (f"open({str(tmp_path / 'x')!r}, 'wb', 0).write(b'x')".encode(), b"OSError"),
            (b"soft, hard = resource.getrlimit(resource.RLIMIT_AS); 1 / (soft == hard)", b"done"),
        ):
            assert exchange(process, Frame(given), FOREVER).head == expected, given


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_limit_above_that_of_the_parent_is_that_of_the_parent() -> None:
    code = (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (2**32, 2**32)); limit_process(2**40); "
        "write_frame(answer_pipe(), Frame(str(r.getrlimit(r.RLIMIT_AS)[0]).encode()))"
    )
    with child(IMPORT + code) as process:
        assert exchange(process, None, FOREVER).head == str(2**32).encode()


@pytest.mark.skipif(sys.platform == "win32", reason="no alarms")
def test_a_child_whose_parent_has_ended_ends_after_its_time() -> None:
    with child(IMPORT + "set_alarm(0.2); time.sleep(1000)") as process:
        assert process.wait() == -signal.SIGALRM


def test_a_killed_child_leaves_nothing() -> None:
    process = start_child(ECHO)
    kill_child(process)
    kill_child(process)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
