"""``nestmap serve``: the explorer of a store, in the browser."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.pipeline.cli.printing import remark, show_text
from nestmap.pipeline.util.extras import REPORT, check_installed
from nestmap.store import Store


@final
@dataclass(frozen=True, slots=True)
class ServeRequest:
    """The arguments of the command; without a ``port`` the usual one, or a free one."""

    store: Path
    port: int | None
    open: bool


def run_serve(request: ServeRequest) -> None:
    """Prints the address, and serves the store until Ctrl-C.

    Raises:
        NestmapError: where a package is missing, the port cannot be used, or there is no store.
        KeyboardInterrupt: when the user has ended it.
    """
    check_installed("explorer", (*REPORT, "starlette", "uvicorn"), "web")
    from nestmap.pipeline.pages.explorer.server import (  # noqa: PLC0415 (not everybody has its packages)
        DEFAULT_PORT,
        address,
        listening,
        serve,
    )

    Store.open_read_only(request.store).close()
    listener = listening(request.port)
    place = address(listener)
    show_text([place])
    if request.port is None and listener.getsockname()[1] != DEFAULT_PORT:
        remark(f"Port {DEFAULT_PORT} is in use; this one is free.")
    remark(f"The explorer of {request.store}, for this machine only. Ctrl-C ends it.")
    if request.open:
        webbrowser.open(place)
    serve(request.store, listener)
