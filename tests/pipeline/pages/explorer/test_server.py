"""``nestmap serve``: where it serves, and how it begins and ends."""

import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import sleep
from urllib.parse import urlencode, urlsplit

import pytest

from nestmap.model import InputError
from nestmap.pipeline.pages.explorer import server
from nestmap.pipeline.pages.explorer.server import DEFAULT_PORT, HOST, address, listening
from tests.pipeline.cli.inputs import run
from tests.pipeline.pages.explorer.visits import FORM
from tests.store.filled import filled

_MAIN = "from nestmap.pipeline.cli import main; main()"


@pytest.fixture(name="store")
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store in the current folder, under its usual name."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nestmap.duckdb"
    filled(path)
    return path


def test_the_socket_is_of_this_machine_only() -> None:
    with closing(listening(None)) as listener:
        assert listener.family == socket.AF_INET
        assert listener.getsockname()[0] == "127.0.0.1"
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert address(listener) == place
        assert address(listener, "a b") == f"{place}?token=a+b"


def test_nobody_can_ask_for_another_interface() -> None:
    told = run("serve", "--help").out
    assert "--port" in told
    assert "--host" not in told
    assert run("serve", "--host", "0.0.0.0").code == 2


def test_a_port_that_is_in_use_is_named() -> None:
    with closing(listening(None)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--port {port}: found a port that is in use"):
            listening(port)


def test_without_a_port_a_free_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(listening(None)) as taken:
        monkeypatch.setattr(server, "DEFAULT_PORT", taken.getsockname()[1])
        with closing(listening(None)) as other:
            assert other.getsockname()[1] != taken.getsockname()[1]


def test_the_usual_port_is_not_one_that_needs_rights() -> None:
    assert 1024 < DEFAULT_PORT < 32768  # above that systems hand them out


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x"])
def test_ports_that_do_not_exist(port: str) -> None:
    assert run("serve", "--port", port).code == 2


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    ended = run("serve", "--store", str(tmp_path / "no.duckdb"))
    assert (ended.code, ended.out) == (2, "")
    assert "no such file; expected a store" in ended.err


def test_a_package_that_is_missing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.pipeline.util.extras.find_spec", _nothing)
    ended = run("serve")
    assert ended.code == 2
    assert "error: explorer: found no" in ended.err
    assert "starlette and no uvicorn in this Python" in ended.err
    assert "pip install 'nestmap[web]'" in ended.err


def _nothing(name: str) -> None:
    """No package is there."""


@contextmanager
def serving(*arguments: str) -> Generator[tuple[subprocess.Popen[str], int]]:
    """``nestmap serve`` as a program, and its port; killed at the end, should it still be there."""
    command = [sys.executable, "-W", "error", "-c", _MAIN, "serve", "--token", "", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line: str = process.stdout.readline()
            place = urlsplit(line.strip())
            assert place.hostname == HOST
            yield process, place.port or 0
        finally:
            process.kill()


def asked(port: int, method: str, at: str, sql: str = "") -> tuple[int, str]:
    with closing(HTTPConnection(HOST, port, timeout=60)) as connection:
        connection.request(method, at, urlencode({"sql": sql}), {"content-type": FORM})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()


def test_ctrl_c_ends_it_quietly(store: Path) -> None:
    with serving() as (process, port):
        assert asked(port, "GET", "/")[0] == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert [x for x in err.splitlines() if "Traceback" in x or "Error" in x] == []
    assert [x.name for x in store.parent.iterdir()] == [store.name]


def test_ctrl_c_does_not_wait_for_answers(store: Path) -> None:
    replies: list[tuple[int, str]] = []
    endless = "SELECT count(*) FROM range(1000000000000)"
    with serving("--store", str(store)) as (process, port):
        assert asked(port, "GET", "/")[0] == 200
        thread = Thread(target=lambda: replies.append(asked(port, "POST", "/sql", endless)))
        thread.start()
        sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        thread.join()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert [status for status, _ in replies] == [200]
    assert "it was cancelled" in replies[0][1]


def test_a_question_nobody_waits_for_is_not_answered(store: Path) -> None:
    """Who goes away makes room for the next one at once, long before the time is over."""
    endless = urlencode({"sql": "SELECT count(*) FROM range(1000000000000)"}).encode()
    head = f"POST /sql HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\nContent-Length: "
    with serving() as (_, port):
        for _ in range(5):  # one more than are answered at a time
            with socket.create_connection((HOST, port)) as connection:
                connection.sendall(f"{head}{len(endless)}\r\n\r\n".encode() + endless)
                sleep(0.5)
        status, text = asked(port, "POST", "/sql", "SELECT 41 + 1 AS x")
        assert (status, ">42</td>" in text) == (200, True)
