"""The explorer's routes and error pages."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha256
from threading import Thread
from typing import Final, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from nestmap.model import NestmapError, StoreError
from nestmap.pipeline.pages.explorer import pages, sweep_pages
from nestmap.pipeline.pages.explorer.access import Access
from nestmap.pipeline.pages.explorer.render import (
    COMPARE,
    RUNS,
    SCHEMA,
    SCRIPT,
    SQL,
    STATIC,
    STYLE,
    SWEEPS,
    own_text,
)
from nestmap.pipeline.pages.explorer.security import RETRY, Guard, TooLongError, too_long
from nestmap.pipeline.pages.explorer.sql_requests import ask_page, sql_page
from nestmap.pipeline.pages.explorer.store_site import MissingError, Site
from nestmap.pipeline.pages.report.assets import Static, static_text

# --- serves the styles and scripts of the pages ---

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


# --- the explorer's routes and error pages ---

_TITLES: Final = {404: "No such page", 405: "Not allowed here"}


def explorer(site: Site, access: Access) -> Guard:
    """The pages of a store as an ASGI application; the end of its lifespan closes the site."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        made = Thread(target=prepare)
        made.start()
        try:
            yield
        finally:
            await run_in_threadpool(site.close)
            made.join()

    return Guard(
        Starlette(
            routes=_routes(site),
            exception_handlers={
                MissingError: _missing,
                NestmapError: _not_shown,
                StoreError: _not_read,
                OSError: _not_read,
                HTTPException: _refused,
                TooLongError: _too_long,
                ClientDisconnect: _gone,
                Exception: _bug,
            },
            lifespan=lifespan,
        ),
        access,
    )


def _routes(site: Site) -> list[Route]:
    def runs(request: Request) -> Response:
        return pages.runs_page(site)

    def run(request: Request) -> Response:
        return pages.run_page(site, request.path_params["run"])

    def layer(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return pages.layer_page(site, request.path_params["run"], name)

    def compare(request: Request) -> Response:
        return pages.comparison_page(site, request.query_params.getlist("run"))

    def schema(request: Request) -> Response:
        return pages.schema_page(site)

    def sql(request: Request) -> Response:
        return sql_page(site, request)

    async def ask(request: Request) -> Response:
        return await ask_page(site, request)

    return [
        Route(RUNS, runs),
        Route("/run/{run}", run),
        Route("/run/{run}/layer", layer),
        Route(COMPARE, compare),
        *_sweep_routes(site),
        Route(SCHEMA, schema),
        Route(SQL, sql),
        Route(SQL, ask, methods=["POST"]),
        Route(STATIC + "{name}", static_file),
    ]


def _sweep_routes(site: Site) -> list[Route]:
    def sweeps(request: Request) -> Response:
        return sweep_pages.sweeps_page(site)

    def sweep(request: Request) -> Response:
        return sweep_pages.sweep_page(site, request.path_params["key"])

    def design(request: Request) -> Response:
        path = request.path_params
        return sweep_pages.design_page(site, path["key"], path["number"])

    return [
        Route(SWEEPS, sweeps),
        Route("/sweep/{key}", sweep),
        Route("/sweep/{key}/{number}", design),
    ]


def _missing(request: Request, error: Exception) -> Response:
    return pages.message("Not found", str(error), 404)


def _not_read(request: Request, error: Exception) -> Response:
    response = pages.message("The store cannot be read", str(error), 503)
    response.headers.update(RETRY)
    return response


def _not_shown(request: Request, error: Exception) -> Response:
    """For example, results of another version of the cost model."""
    return pages.message("This cannot be shown", str(error), 422)


def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    title = _TITLES.get(status, "Not understood")
    return pages.message(title, f"Nothing is at {request.url.path}.", status)


def _too_long(request: Request, error: Exception) -> Response:
    return too_long()


def _gone(request: Request, error: Exception) -> Response:
    return PlainTextResponse("", 400)  # the client has closed the connection


def _bug(request: Request, error: Exception) -> Response:
    told = "This is a bug in nestmap: see the terminal that runs nestmap serve."
    return pages.message("Something went wrong", told, 500)
