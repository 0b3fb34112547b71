"""Serves the styles and scripts of the pages."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from nestmap.pipeline.pages.explorer.render import SCRIPT, STYLE, own_text
from nestmap.pipeline.pages.report.assets import Static, static_text

_OURS: Final = (STYLE, SCRIPT)
_TYPES: Final = {"css": "text/css", "js": "text/javascript"}


class _File(NamedTuple):
    """A response body with an entity tag that changes with its contents."""

    body: bytes
    kind: str
    tag: str


def static_file(request: Request) -> Response:
    """A file of the pages; a browser that has it gets no second copy."""
    name: str = request.path_params["name"]
    if name not in (*_OURS, *(file.value for file in Static)):
        raise HTTPException(404)
    file = _file(name)
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.kind, headers=headers)


def prepare() -> None:
    """Builds the file that takes seconds to build, so that the first page need not wait for it."""
    _file(Static.VEGA.value)


@cache
def _file(name: str) -> _File:
    text = own_text(name) if name in _OURS else static_text(Static(name))
    body = text.encode()
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    return _File(body, _TYPES[name.rpartition(".")[2]], tag)
