"""The server: on the loopback interface of this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from contextlib import closing
from pathlib import Path
from typing import Final

import uvicorn

from nestmap.model import InputError
from nestmap.pipeline.pages.explorer.app import explorer
from nestmap.pipeline.pages.explorer.store_site import Site

HOST: Final = "127.0.0.1"
"""The only interface that is served; nothing else can be asked for."""

DEFAULT_PORT: Final = 8321
_LARGEST_HEAD: Final = 2**15
_PATIENCE: Final = 3
_TICK: Final = 0.1


def listening(port: int | None) -> socket.socket:
    """A socket of this machine only; without a port the usual one, or a free one if it is taken.

    Raises:
        InputError: if the port that was asked for cannot be used.
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
        if os.name == "posix":  # elsewhere it would let two programs have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)
    except BaseException:
        listener.close()
        raise
    return listener


def address(listener: socket.socket) -> str:
    """Where to find the pages."""
    return f"http://{HOST}:{listener.getsockname()[1]}/"


def server_of(site: Site) -> uvicorn.Server:
    """The server of a store, which is not running yet.

    It keeps no log of requests, says nothing of itself, and takes no more than it needs.
    """
    return uvicorn.Server(
        uvicorn.Config(
            explorer(site),
            http="h11",
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="error",  # what is wrong with requests is not the user's business
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            limit_concurrency=64,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )


def serve(path: Path, listener: socket.socket) -> None:
    """Serves a store until Ctrl-C.

    Raises:
        KeyboardInterrupt: when that comes; all that was started has ended then.
    """
    site = Site(path)
    with closing(listener):
        asyncio.run(_serving(site, server_of(site), listener))


async def _serving(site: Site, server: uvicorn.Server, listener: socket.socket) -> None:
    """Runs the server; when it shall end, nobody waits for an answer any more."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not (server.should_exit or serving.done()):
        await asyncio.sleep(_TICK)
    await asyncio.to_thread(site.close)
    await serving
