"""An explorer that serves, and what it answers to requests of any kind."""

import asyncio
import socket
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Final, NamedTuple, final
from urllib.parse import urlencode
from uuid import UUID

from nestmap.pipeline.pages.explorer.render import COMPARE
from nestmap.pipeline.pages.explorer.server import HOST, address, listening, server_of
from nestmap.pipeline.pages.explorer.store_site import Site
from tests.pipeline.pages.report.dom import Element, read

FORM: Final = "application/x-www-form-urlencoded"
_PATIENCE: Final = 60


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def page(self) -> Element:
        """The page, each element of it closed where it should be."""
        return read(self.text)

    @property
    def told(self) -> str:
        """All that the page says."""
        return self.page.one("main").text


@final
class Visitor:
    """Somebody who asks an explorer."""

    def __init__(self, site: Site, port: int, address: str) -> None:
        self.site = site
        self.port = port
        self.address = address

    def get(self, at: str, headers: Mapping[str, str] | None = None) -> Reply:
        """A page."""
        return self.request("GET", at, None, headers)

    def ask(self, sql: str, headers: Mapping[str, str] | None = None, **fields: str) -> Reply:
        """The answer to a question."""
        body = urlencode({"sql": sql, **fields}).encode()
        return self.request("POST", "/sql", body, {"content-type": FORM, **(headers or {})})

    def request(
        self, method: str, at: str, body: bytes | None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """The answer to any request that is well formed."""
        with closing(HTTPConnection(HOST, self.port, timeout=_PATIENCE)) as connection:
            connection.request(method, at, body, dict(headers or {}))
            reply = connection.getresponse()
            text = reply.read().decode()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, text)

    def send(self, raw: bytes, finish: bool = True) -> bytes:
        """What comes back for these bytes, until the server closes."""
        with socket.create_connection((HOST, self.port), timeout=_PATIENCE) as connection:
            connection.sendall(raw)
            if finish:
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: _received(connection), b""))


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


@contextmanager
def visiting(path: Path, token: str = "") -> Generator[Visitor]:
    """The explorer of a store while it serves; all of it ends with the block."""
    site, listener = Site(path), listening(None)
    server = server_of(site, token)
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    with closing(listener):
        thread.start()
        try:
            while thread.is_alive() and not server.started:
                sleep(0.01)
            yield Visitor(site, listener.getsockname()[1], address(listener, token))
        finally:
            server.should_exit = True
            thread.join()


def compare_address(*runs: UUID) -> str:
    """The page that compares runs."""
    return f"{COMPARE}?{urlencode([('run', str(run)) for run in runs])}"
