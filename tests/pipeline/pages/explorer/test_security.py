"""Who may ask, and what comes back in any case."""

import socket
from collections.abc import Mapping

import pytest

from nestmap.pipeline.pages.explorer.security import MOST_ADDRESS, MOST_BODY
from nestmap.pipeline.pages.explorer.server import HOST
from tests.pipeline.pages.explorer.visits import FORM, Visitor

ANSWERED: Mapping[str, int] = {"/": 200, "/sql": 200, "/nope": 404, "/static/style.css": 200}


@pytest.mark.parametrize("at", ANSWERED)
def test_every_answer_is_protected(visitor: Visitor, at: str) -> None:
    reply = visitor.get(at)
    assert reply.status == ANSWERED[at]
    policy = reply.headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe-eval" not in policy
    assert "http:" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert reply.headers["cache-control"] in ("no-store", "no-cache")
    assert not {"server", "access-control-allow-origin"} & reply.headers.keys()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8321", "localhost:1", "[::1]", "[::1]:80"]
)
def test_names_of_this_machine(visitor: Visitor, host: str) -> None:
    assert visitor.get("/", {"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8321", "127.0.0.1.evil.example", "127.0.0.1@evil", ""),
        *("localhost.", "0.0.0.0", "127.0.0.2", "127.0.0.1:80:80", "127.0.0.1:x", "[::1", ":80"),
    ],
)
def test_no_other_name_leads_here(visitor: Visitor, host: str) -> None:
    """A name of somebody else that is pointed at this machine (DNS rebinding)."""
    assert visitor.get("/", {"host": host}).status == 421


FOREIGN: Mapping[str, Mapping[str, str]] = {
    "another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    "another port": {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    "another origin": {"origin": "http://evil.example"},
    "no origin": {"origin": "null"},
    "another port, in an old browser": {"origin": "http://127.0.0.1:1"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_pages_of_others_ask_nothing(visitor: Visitor, headers: Mapping[str, str]) -> None:
    assert visitor.ask("SELECT 1", headers).status == 403


def test_pages_of_others_load_nothing(visitor: Visitor) -> None:
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert visitor.get("/static/style.css", foreign).status == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert visitor.get("/", link).status == 200


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "same-origin", "origin": "null"}, {}])
def test_our_own_pages_ask(visitor: Visitor, headers: Mapping[str, str]) -> None:
    assert visitor.ask("SELECT 1", headers).status == 200
    own = {"origin": f"http://{HOST}:{visitor.port}", "host": f"{HOST}:{visitor.port}"}
    assert visitor.ask("SELECT 1", own).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_else_is_done(visitor: Visitor, method: str) -> None:
    assert visitor.request(method, "/", None).status == 405


def test_only_questions_are_posted(visitor: Visitor) -> None:
    assert visitor.request("POST", "/", b"sql=", {"content-type": FORM}).status == 405


def test_heads(visitor: Visitor) -> None:
    reply = visitor.request("HEAD", "/", None)
    assert (reply.status, reply.text) == (200, "")


def test_long_questions_and_addresses(visitor: Visitor) -> None:
    assert visitor.get("/" + "a" * MOST_ADDRESS).status == 414
    assert visitor.get("/sql?sql=" + "a" * MOST_ADDRESS).status == 414
    assert visitor.ask("a" * MOST_BODY).status == 413
    fits = visitor.ask("SELECT 1 AS x -- " + "a" * (MOST_BODY - 100))
    assert fits.status == 200


def test_only_this_machine_is_served(visitor: Visitor) -> None:
    with socket.create_connection((HOST, visitor.port)) as connection:
        assert connection.getpeername()[0] == "127.0.0.1"
    for address in _own_addresses():
        with socket.socket() as other:
            other.settimeout(5)
            assert other.connect_ex((address, visitor.port)) != 0


def _own_addresses() -> list[str]:
    """Other addresses of this machine."""
    found = [x[4][0] for x in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    return [str(x) for x in found if x != HOST] + ["127.0.0.2"]


HEAD = b"Host: 127.0.0.1\r\nConnection: close\r\n"
POST = b"POST /sql HTTP/1.1\r\n" + HEAD + b"Content-Type: " + FORM.encode() + b"\r\n"
MALFORMED: Mapping[str, tuple[bytes, int]] = {
    "garbage": (b"garbage\r\n\r\n", 400),
    "bytes": (bytes(range(256)) * 4 + b"\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 300 + b"\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\n\r\n", 400),
    "a header that never ends": (b"GET / HTTP/1.1\r\n" + HEAD + b"X: " + b"a" * 40_000, 400),
    "no percent escape": (b"GET /%zz%0 HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "a NUL": (b"GET /a%00b HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "a NUL as it is": (b"GET /a\x00b HTTP/1.1\r\n" + HEAD + b"\r\n", 400),
    "no UTF-8": (b"GET /run/%ff%fe HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "a surrogate": (b"GET /run/last/layer?name=%ed%a0%80 HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "bytes in an address": (b"GET /\xff\xfe HTTP/1.1\r\n" + HEAD + b"\r\n", 400),
    "a folder above": (b"GET /static/../app.py HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "two slashes": (b"GET //evil.example/ HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    "a length below 0": (POST + b"Content-Length: -5\r\n\r\nsql=1", 400),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nsql=1", 400),
    "a huge length": (POST + b"Content-Length: 99999999999\r\n\r\nsql=1", 413),
    "a body without end": (
        POST + b"Transfer-Encoding: chunked\r\n\r\n40000\r\n" + b"a" * 0x40000 + b"\r\n0\r\n\r\n",
        413,
    ),
    "a length that is no number": (POST + b"Content-Length: 0x10\r\n\r\nsql=1", 400),
    "an asterisk": (b"OPTIONS * HTTP/1.1\r\n" + HEAD + b"\r\n", 405),
    "a tunnel": (b"CONNECT evil.example:1 HTTP/1.1\r\n" + HEAD + b"\r\n", 405),
}


@pytest.mark.parametrize(("raw", "status"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused(visitor: Visitor, raw: bytes, status: int) -> None:
    reply = visitor.send(raw, finish=False)
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert b"Traceback" not in reply
    assert visitor.get("/").status == 200


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"\r\n", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"\xff" * 1000),
        POST + b"Content-Length: 500\r\n\r\nsql=1",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_half_requests_do_no_harm(visitor: Visitor, raw: bytes) -> None:
    reply = visitor.send(raw)
    assert not reply or reply.startswith(b"HTTP/1.1 4")
    assert visitor.get("/").status == 200
