"""Handles queries from the browser: runs them, answers with a page or file, cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from nestmap.model import StoreError
from nestmap.pipeline.pages.explorer.render import page, render
from nestmap.pipeline.pages.explorer.sql_page import SAVED, SHOWN, SqlView, shown, sql_view
from nestmap.pipeline.pages.explorer.store_site import Site
from nestmap.pipeline.pages.explorer.urls import SQL
from nestmap.pipeline.render.text.query_result import answer_csv, answer_json, answer_spreadsheet
from nestmap.store.read.question import Answer, Question

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 20

BODY_SECONDS: Final = 10.0
"""How long a client may take to send a query."""
_FILES: Final = {
    "csv": ("text/csv; charset=utf-8", "csv", answer_csv),
    "spreadsheet": ("text/csv; charset=utf-8", "csv", answer_spreadsheet),
    "json": ("application/json", "json", answer_json),
}


def sql_page(site: Site, request: Request) -> Response:
    """The page with the query of the address in the box; runs nothing."""
    return _page(sql_view(site, request.query_params))


async def ask_page(site: Site, request: Request) -> Response:
    """The response to a submitted query: a result below the box, or a file."""
    given = await _given(request)
    if isinstance(given, Response):
        return given
    kind = given.get("format", "html")
    question = Question(given.get("sql", ""), SAVED if kind in _FILES else SHOWN)
    began = monotonic()
    error, answer = "", None
    try:
        answer = await _answered(site, request, question)
    except StoreError as told:
        error = str(told)
    if kind in _FILES:
        return await run_in_threadpool(_file, answer, kind, error)
    view = await run_in_threadpool(sql_view, site, {"sql": question.sql})
    table = None if answer is None else await run_in_threadpool(shown, answer, monotonic() - began)
    return _page(replace(view, answer=table, error=error))


async def _given(request: Request) -> Mapping[str, str] | Response:
    """The fields of the form, or the error in it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        return PlainTextResponse(f"A query must be sent as {_FORM}.\n", 415)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await request.body()
    except TimeoutError:
        return PlainTextResponse(f"The query took longer than {BODY_SECONDS:g} s to arrive.\n", 408)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return PlainTextResponse("The form of the query is malformed.\n", 400)


async def _answered(site: Site, request: Request, question: Question) -> Answer:
    """The result; cancels the query if the browser disconnects.

    Raises:
        StoreError: as :meth:`nestmap.store.read.question.Question.ask` does.
    """

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        await run_in_threadpool(question.cancel)

    ask = partial(site.ask, question)
    answers: list[Answer | StoreError] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            answers.append(await anyio.to_thread.run_sync(ask, limiter=site.question_threads))
        except StoreError as error:
            answers.append(error)
        tasks.cancel_scope.cancel()
    (answer,) = answers
    if isinstance(answer, StoreError):
        raise answer
    return answer


def _page(view: SqlView) -> Response:
    return page("SQL", render("sql", view), SQL)


def _file(answer: Answer | None, kind: str, error: str) -> Response:
    """All rows as a file, whose name tells if it has only the first ones."""
    if answer is None:
        return PlainTextResponse(error + "\n", 400)
    media_type, suffix, lines = _FILES[kind]
    rows = len(answer.relation)
    name = f"answer-first-{rows}-rows" if answer.is_cut else "answer"
    headers = {"content-disposition": f'attachment; filename="{name}.{suffix}"'}
    return Response(_joined(lines(answer.relation)), media_type=media_type, headers=headers)


def _joined(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)
