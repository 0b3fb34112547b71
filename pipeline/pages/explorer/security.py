"""Restricts requests to the local machine and sets protective response headers.

A page of another site can make the browser send requests here. It must not be able to read a
response (the host is checked, which prevents DNS rebinding), to run queries (they must come from a
page of the explorer), or to embed the explorer's pages. Other users of the machine must not see
anything (:mod:`nestmap.pipeline.pages.explorer.access`), and nobody may occupy the server.
"""

import asyncio
from typing import Final, final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nestmap.pipeline.pages.explorer.access import Access
from nestmap.pipeline.pages.report.assets import policy

HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The host names of the local machine that requests may use."""

MOST_BODY: Final = 2**17
MOST_ADDRESS: Final = 2**14

MOST_REQUESTS: Final = 64
"""The number of requests that are answered at a time."""

WHOLE_SECONDS: Final = 60.0
"""How long a request may take, until the client has received the response."""

RETRY: Final = {"retry-after": "1"}
"""Says that the same request may succeed soon (seconds)."""

POLICY: Final = f"{policy(())}; frame-ancestors 'none'"
"""The content that a page may load: only from the explorer itself."""

_SAID: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@final
class Guard:
    """Refuses requests from outside the explorer's pages, and protects responses."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no web sockets: the server closes connections that are not accepted
        async with asyncio.timeout(WHOLE_SECONDS):
            await self._answer(scope, receive, _protected(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if refusal := self._refusal(scope):
            await refusal(scope, receive, send)
            return
        self._requests += 1
        try:
            await self._app(scope, _limited(receive), send)
        finally:
            self._requests -= 1

    def _refusal(self, scope: Scope) -> Response | None:
        if refusal := _refusal(scope) or self._access.refusal(scope):
            return refusal
        if self._requests >= MOST_REQUESTS:
            text = f"The explorer is answering {MOST_REQUESTS} requests: try again.\n"
            return PlainTextResponse(text, 503, RETRY)
        return None


class TooLongError(Exception):
    """The body of a request exceeds the size limit of a query."""


def _refusal(scope: Scope) -> PlainTextResponse | None:
    headers = Headers(scope=scope)
    if not _is_ours(headers):
        return _told(421, "This server is for the machine it runs on: open http://127.0.0.1.")
    if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MOST_ADDRESS:
        return _told(414, f"The address is longer than {MOST_ADDRESS} bytes.")
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return _told(405, "The explorer is read-only: use GET, or POST for queries.")
    if not _comes_from_here(scope["method"], headers):
        return _told(403, "The request came from a page of another site.")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MOST_BODY:
        return too_long()
    return None


def too_long() -> PlainTextResponse:
    """The response to a body that is too long."""
    return _told(413, f"The query is longer than {MOST_BODY} bytes.")


def _is_ours(headers: Headers) -> bool:
    hosts = headers.getlist("host")
    if len(hosts) != 1:
        return False
    name, colon, port = hosts[0].lower().rpartition(":")
    if not colon or port.endswith("]"):
        name, port = hosts[0].lower(), "0"
    return name in HOSTS and port.isdecimal()


def _comes_from_here(method: str, headers: Headers) -> bool:
    """Whether a page of the explorer, the address bar or a program other than a browser asks."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site in ("same-origin", "none"):
        return True
    if site is not None:  # other sites may link here, but may not run queries
        return method != "POST" and headers.get("sec-fetch-mode") == "navigate"
    return origin is None or origin == f"http://{headers['host'].lower()}"


def _told(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text + "\n", status, {"connection": "close"})


def _limited(receive: Receive) -> Receive:
    """Limits the body also if its length was not declared."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BODY:
            raise TooLongError
        return message

    return limited


def _protected(send: Send) -> Send:
    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SAID.items():
                headers.setdefault(name, value)
        await send(message)

    return protected
