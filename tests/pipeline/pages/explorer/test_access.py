"""Who sees the pages: whoever has the token."""

import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest

from nestmap.pipeline.pages.explorer.server import HOST
from tests.pipeline.pages.explorer.conftest import Explored
from tests.pipeline.pages.explorer.visits import Visitor, visiting
from tests.store.filled import filled

TOKEN: Final = "open sesame & more"


@pytest.fixture(scope="module", name="locked")
def _locked(explored: Explored) -> Iterator[Visitor]:
    """Somebody who asks an explorer that has a token."""
    with visiting(explored.path, TOKEN) as visitor:
        yield visitor


def admitted(visitor: Visitor, at: str) -> tuple[str, str]:
    """Where an address with a token leads, and the cookie that comes with it."""
    reply = visitor.get(at)
    assert (reply.status, reply.text) == (303, "")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"nestmap-{visitor.port}=" in cookie
    return reply.headers["location"], cookie.partition(";")[0]


@pytest.mark.parametrize("at", ["/", "/sql", "/nope", "/static/style.css", "/?token=", "/?token=x"])
@pytest.mark.parametrize(
    "cookie", [None, "", "x", "nestmap-{port}=", "nestmap-{port}=open", "nestmap-1={token}.a"]
)
def test_without_the_token_there_is_nothing(locked: Visitor, at: str, cookie: str | None) -> None:
    headers = {} if cookie is None else {"cookie": cookie.format(port=locked.port, token="x")}
    reply = locked.get(at, headers)
    assert reply.status == 403
    assert "nestmap serve has printed" in reply.text
    assert "set-cookie" not in reply.headers


def test_the_address_admits_and_the_browser_forgets_the_token(locked: Visitor) -> None:
    printed = urlsplit(locked.address)
    place, cookie = admitted(locked, f"{printed.path}?{printed.query}")
    assert place == "/"
    for at in ("/", "/sql", "/static/style.css"):
        assert locked.get(at, {"cookie": f"other=1; {cookie}"}).status == 200
    assert locked.ask("SELECT 1 AS x", {"cookie": cookie}).status == 200
    assert locked.ask("SELECT 1 AS x").status == 403


def test_other_fields_of_the_address_are_kept(locked: Visitor) -> None:
    field = urlsplit(locked.address).query
    place, _ = admitted(locked, f"/sql?sql=SELECT+1&{field}&x=%C3%A9")
    assert urlsplit(place).path == "/sql"
    assert parse_qs(urlsplit(place).query, encoding="latin-1")["sql"] == ["SELECT 1"]


def test_no_other_site_is_led_to(locked: Visitor) -> None:
    field = urlsplit(locked.address).query
    place, _ = admitted(locked, f"//evil.example/?{field}")
    assert place == "/evil.example/"


def test_by_default_the_printed_address_has_a_token(tmp_path: Path) -> None:
    filled(tmp_path / "nestmap.duckdb")
    command = "from nestmap.pipeline.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        place = urlsplit(str(process.stdout.readline()).strip())
        (token,) = parse_qs(place.query)["token"]
        assert len(token) >= 32
        statuses: list[int] = []
        for at in ("/", f"/?{place.query}"):
            connection = HTTPConnection(HOST, place.port or 0, timeout=60)
            connection.request("GET", at)
            statuses.append(connection.getresponse().status)
            connection.close()
        process.kill()
    assert statuses == [403, 303]
