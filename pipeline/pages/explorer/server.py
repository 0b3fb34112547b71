"""Runs the server on the local machine's loopback interface until Ctrl-C."""

import asyncio
import errno
import os
import socket
from asyncio import BaseTransport, Transport
from contextlib import closing
from pathlib import Path
from typing import Final, cast, final
from urllib.parse import urlencode

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from nestmap.model import InputError
from nestmap.pipeline.pages.explorer.access import TOKEN, Access
from nestmap.pipeline.pages.explorer.app import explorer
from nestmap.pipeline.pages.explorer.store_site import Site

# --- connections that are closed if a request does not arrive in time ---

HEAD_SECONDS: Final = 5.0
"""How long a client may take to send the head of a request."""


@final
class PromptProtocol(H11Protocol):
    """Uvicorn's protocol, which itself waits for ever for the rest of a request."""

    _deadline = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Starts the time for the first request."""
        super().connection_made(cast(Transport, transport))
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the time if this is the end of a head; starts it at the beginning of another."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop()
        elif self._deadline is None and self._is_between_requests:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the time."""
        self._stop()
        super().connection_lost(exc)

    @property
    def _is_between_requests(self) -> bool:
        cycle = cast(RequestResponseCycle | None, self.cycle)  # declared without None
        return cycle is None or cycle.response_complete

    def _start(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


HOST: Final = "127.0.0.1"
"""The only interface that the server listens on."""

DEFAULT_PORT: Final = 8321
_LARGEST_HEAD: Final = 2**15
_MOST_CONNECTIONS: Final = 512
_PATIENCE: Final = 3
_TICK: Final = 0.1


def listening(port: int | None) -> socket.socket:
    """A listening socket on this machine; by default the usual port, or a free one if it is taken.

    Raises:
        InputError: if the requested port is in use.
    """
    if port is None:
        try:
            return _bound(DEFAULT_PORT)
        except OSError:
            return _bound(0)
    try:
        return _bound(port)
    except OSError as error:
        found = "a port that is in use" if error.errno == errno.EADDRINUSE else str(error)
        expected = "one that is free: name another one, or none, which takes any"
        raise InputError(f"--port {port}", found, expected) from None


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # on other systems it would let two programs share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_MOST_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    return listener


def address(listener: socket.socket, token: str = "") -> str:
    """The address of the pages, with the token that admits to them."""
    field = f"?{urlencode({TOKEN: token})}" if token else ""
    return f"http://{HOST}:{listener.getsockname()[1]}/{field}"


def server_of(site: Site, token: str) -> uvicorn.Server:
    """The server of a store for those who have the token, not running yet.

    It keeps no request log, sends no server header, and limits its resources.
    """
    return uvicorn.Server(
        uvicorn.Config(
            explorer(site, Access(token)),
            http=PromptProtocol,
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="error",  # malformed requests do not concern the user
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )


def serve(path: Path, listener: socket.socket, token: str) -> None:
    """Serves a store until Ctrl-C to those who have the token.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after everything has been shut down.
    """
    site = Site(path)
    with closing(listener):
        asyncio.run(_serving(site, server_of(site, token), listener))


async def _serving(site: Site, server: uvicorn.Server, listener: socket.socket) -> None:
    """Runs the server; on shutdown, cancels the questions that are being answered."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not (server.should_exit or serving.done()):
        await asyncio.sleep(_TICK)
    await asyncio.to_thread(site.close)
    await serving
