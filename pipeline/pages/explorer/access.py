"""Who may see the pages: whoever has the address that ``nestmap serve`` printed.

Every program and every user of a machine can connect to its ports. The address has a token; the
first request with it gets a cookie, which further requests have to send.
"""

from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from typing import Final, final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Scope

TOKEN: Final = "token"
"""The field of the address that has the token."""


def new_token() -> str:
    """A token that nobody can guess."""
    return token_urlsafe(24)


@final
class Access:
    """Checks the token of requests; an empty token admits everybody on this machine."""

    def __init__(self, token: str) -> None:
        self._token = token

    def refusal(self, scope: Scope) -> Response | None:
        """The response to a request without the token, or to the first one with it."""
        if not self._token or any(map(self._is_valid, _cookies(scope, _cookie_name(scope)))):
            return None
        fields = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and self._is_valid(dict(fields).get(TOKEN, "")):
            return self._admission(scope, [x for x in fields if x[0] != TOKEN])
        text = "Open the address that nestmap serve has printed: it contains a token.\n"
        return PlainTextResponse(text, 403, {"connection": "close"})

    def _is_valid(self, token: str) -> bool:
        return compare_digest(token.encode(errors="replace"), self._token.encode())

    def _admission(self, scope: Scope, fields: list[tuple[str, str]]) -> Response:
        """Sends the browser to the address without the token, which history then does not keep."""
        address = f"{scope['path']}?{urlencode(fields)}" if fields else scope["path"]
        response = RedirectResponse("/" + address.lstrip("/"), 303)
        response.set_cookie(_cookie_name(scope), self._token, httponly=True, samesite="lax")
        return response


def _cookie_name(scope: Scope) -> str:
    """Differs by port: browsers send the cookies of a host to all its ports."""
    port = Headers(scope=scope).get("host", "").rpartition(":")[2]
    return f"nestmap-{port}" if port.isdecimal() else "nestmap"


def _cookies(scope: Scope, name: str) -> Iterator[str]:
    for header in Headers(scope=scope).getlist("cookie"):
        try:
            found = SimpleCookie(header).get(name)
        except CookieError:
            continue
        if found is not None:
            yield found.value
