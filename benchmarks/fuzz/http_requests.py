"""Requests to the explorer with random faults: each gets an honest answer, and it lives on."""

import random
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Final
from urllib.parse import quote, urlsplit

from tests.store.filled import fill

from benchmarks.explorer import BUSY, OK, Client, memory, serving
from benchmarks.fuzz.harness import FLOOD, Case
from nestmap.store import Store

_PATHS: Final = (
    *("/", "/sql", "/run/last", "/run/1", "/run/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"),
    *("/static/x.js", "//", "/\x00", "/run/%00", "/run/" + "9" * 400, "*", "http://x/", "/?a=b"),
    *("/compare", "/run/last/layer/fc", "/run/last.csv", "/favicon.ico", "/" + "a" * 70_000),
)
_METHODS: Final = ("GET", "GET", "GET", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "X\ty")
_HEADERS: Final = (
    *("Host: localhost", "Host: evil.example", "Content-Length: -1", "Content-Length: 99999999999"),
    *(
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Cookie: nestmap=x",
        "Cookie: " + "a" * 9000,
    ),
    *("Origin: http://evil.example", "Expect: 100-continue", "Range: bytes=0-9", "X", ": y"),
    *("Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data"),
    *("Connection: keep-alive", "Upgrade: websocket", "Accept-Encoding: gzip, x", "X: \x00\xff"),
)
_BODIES: Final = (
    *("", "sql=SELECT 1", "sql=" + quote("SELECT * FROM read_text('/etc/passwd')"), "sql=%ff%fe"),
    *("sql=" + "(" * 3000, "sql", "=&=&=", "a=" * 5000, "\x00" * 100, "5\r\nhello\r\n0\r\n\r\n"),
    *("sql=DROP TABLE runs", "sql=%3Cscript%3Ealert(1)%3C/script%3E", "sql=SELECT 1&sql=SELECT 2"),
)
_FORMS: Final = (
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: application/x-www-form-urlencoded; charset=x",
    "Content-Type: multipart/form-data; boundary=x",
    "Content-Type: text/plain",
)
_PATIENCE: Final = 20.0
_TRIES: Final = 20


@contextmanager
def begin(folder: Path) -> Generator[Case]:
    """Sends each to one explorer, a process; after it a page must come as before."""
    store = folder / "store.duckdb"
    with Store.open(store) as opened:
        fill(opened, "fc")
    with serving(store) as (address, process):
        client = Client.admitted(address)
        assert client.get("/").status == OK
        before = memory(process)

        def case(draw: random.Random) -> str:
            is_valid = draw.random() < 0.67
            request = _valid(draw, client) if is_valid else _wild(draw, client)
            status = _status(_answer(address, request, ends=not is_valid))
            assert status < 500 or status in (501, 503, 505), f"status {status}"
            assert _is_alive(client)
            assert memory(process) - before < FLOOD / 2**20, "memory"
            return f"{status}" if status else "closed"

        yield case


def _is_alive(client: Client) -> bool:
    """Whether a page comes, if need be after honest 503s, which say when to come again."""
    for _ in range(_TRIES):
        reply = client.get("/")
        if reply.status == OK:
            return True
        if reply.status != BUSY or not reply.again:
            return False
        sleep(0.5)
    return False


def _valid(draw: random.Random, client: Client) -> bytes:
    """The bytes of a request in valid HTTP of a client that was admitted."""
    method, body = draw.choice(("GET", "POST", "HEAD")), draw.choice(_BODIES)
    path = "/sql" if method == "POST" and draw.random() < 0.7 else draw.choice(_PATHS)
    headers = (*_known(client), f"Content-Length: {len(body)}", draw.choice(_FORMS))
    return _written(f"{method} {quote(path, safe='/?=%')} HTTP/1.1", headers, body)


def _wild(draw: random.Random, client: Client) -> bytes:
    """The bytes of a request that is hardly one."""
    body, headers = draw.choice(_BODIES), draw.sample(_HEADERS, draw.randrange(5))
    if draw.random() < 0.5:
        headers += _known(client)
    if draw.random() < 0.6:
        headers.append(f"Content-Length: {len(body)}")
    version = draw.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "x", ""))
    first = f"{draw.choice(_METHODS)} {draw.choice(_PATHS)} {version}"
    raw = bytearray(_written(first, headers, body))
    for _ in range(draw.choice((0, 0, 0, 1, 4))):
        raw[draw.randrange(len(raw))] = draw.randrange(256)
    return bytes(raw[: draw.randrange(len(raw))] if draw.random() < 0.05 else raw)


def _known(client: Client) -> tuple[str, str]:
    """The headers of a client that was admitted."""
    return f"Host: {client.host}:{client.port}", f"Cookie: {client.cookie.split(';')[0]}"


def _written(first: str, headers: Sequence[str], body: str) -> bytes:
    text = "\r\n".join((first, *headers, "Connection: close", "", body))
    return text.encode("latin-1")


def _answer(address: str, request: bytes, ends: bool) -> bytes:
    """The first bytes that come back; nothing where the connection is closed.

    ``ends``: the client sends nothing more, so that nobody waits for the rest of a request.
    """
    place = urlsplit(address)
    with socket.create_connection((place.hostname or "", place.port or 0), _PATIENCE) as line:
        try:
            line.sendall(request)
            if ends:
                line.shutdown(socket.SHUT_WR)
            return line.recv(64)
        except (ConnectionError, BrokenPipeError):
            return b""


def _status(answer: bytes) -> int:
    words = answer.split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
