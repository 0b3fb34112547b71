"""Clients that are slow, hungry or many stop no other client."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from nestmap.pipeline.pages.explorer import security, server, sql_requests, store_site
from nestmap.pipeline.pages.explorer.server import HOST
from nestmap.pipeline.pages.explorer.sql_requests import SHOWN
from nestmap.store.connection.connect import connect
from tests.pipeline.pages.explorer.visits import FORM, Visitor, visiting
from tests.store.filled import filled

ENDLESS: Final = "SELECT count(*) FROM range(1000000000000)"
HEAD: Final = b"Host: 127.0.0.1\r\n"
HALF: Final = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\n" + HEAD,
    "half a query": b"POST /sql HTTP/1.1\r\n" + HEAD + b"Content-Type: %b\r\n"
    b"Content-Length: 500\r\n\r\nsql=1" % FORM.encode(),
    "a request, and half of another": b"GET /static/style.css HTTP/1.1\r\n" + HEAD + b"\r\n"
    b"GET / HTTP/1.1\r\n",
}


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "store.duckdb"
    filled(path)
    return path


@pytest.fixture(name="own")
def _own(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """Somebody who asks an explorer that does not wait long."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(sql_requests, "BODY_SECONDS", 0.5)
    with visiting(path) as visitor:
        yield visitor


@pytest.mark.parametrize("raw", HALF.values(), ids=HALF)
@pytest.mark.stress
def test_half_a_request_is_given_up(own: Visitor, raw: bytes) -> None:
    with socket.create_connection((HOST, own.port), timeout=20) as connection:
        connection.sendall(raw)
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionResetError:
            pass
    assert (b" 408 " in received) == (b"POST" in raw)


def test_a_request_in_time_is_answered_later(own: Visitor) -> None:
    slow = (
        "SELECT count(*) AS n FROM range(2000) a, range(300000) b WHERE hash(a.range, b.range) = 1"
    )
    reply = own.ask(slow)
    assert reply.status == 200
    assert "found no answer within" in reply.text or "1 row" in reply.text


def test_many_slow_clients_do_not_stop_others(own: Visitor) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(socket.create_connection((HOST, own.port)))
            connection.sendall(HALF["half a head"])
        assert own.get("/").status == 200


def test_more_requests_than_can_be_answered_are_told_when_to_come_again(
    own: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "MOST_REQUESTS", 0)
    reply = own.get("/")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")


@pytest.mark.stress
def test_questions_that_take_long_stop_no_page(own: Visitor) -> None:
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(own.ask, ENDLESS) for _ in range(8)]
        began = monotonic()
        assert own.get("/").status == 200
        assert monotonic() - began < SHOWN.seconds
        assert all("found no answer within" in x.result().told for x in asked)


def test_a_macro_of_somebody_that_never_ends_is_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(path) as connection:
        connection.execute(f"CREATE OR REPLACE MACRO history() AS TABLE ({ENDLESS})")
        connection.execute("COMMENT ON MACRO TABLE history IS 'The recorded runs'")
    monkeypatch.setattr(store_site, "TIME_LIMIT", 0.4)
    with visiting(path) as visitor:
        reply = visitor.get("/")
    assert reply.status == 503
    assert "found no answer within 0.4 s; expected" in reply.told
