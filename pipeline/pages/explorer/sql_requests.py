"""Handles queries from the browser: runs them, answers with a page or file, cancels them."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final, final
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import pyarrow as pa
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from nestmap.model import StoreError
from nestmap.pipeline.format.runs import short_id, titled
from nestmap.pipeline.pages.explorer.render import SQL, page, render, sql_address
from nestmap.pipeline.pages.explorer.store_site import Site
from nestmap.pipeline.render.tables.table import Align, Cell, Column, Row, Table
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.render.text.query_result import (
    answer_csv,
    answer_json,
    answer_rows,
    answer_spreadsheet,
    cell_text,
)
from nestmap.pipeline.util.atomic_files import Json
from nestmap.store import NamedQuery, Parameter, RunRecord, Store
from nestmap.store.connection.connect import quote_literal, quote_name
from nestmap.store.read.question import Answer, QueryLimits, Question

# --- builds the SQL page: a query, its result, and examples ---

SHOWN: Final = QueryLimits(rows=1000)
"""The maximum size of a result on a page."""

SAVED: Final = QueryLimits(rows=100_000, size=2**26)
"""The maximum size of a result in a file."""

_LONGEST: Final = 2000
_MOST_RUNS: Final = 200
"""The maximum numbers of runs to choose from, and of characters of a value."""


@final
@dataclass(frozen=True, slots=True)
class Example:
    """An example query with a name."""

    title: str
    sql: str

    @property
    def address(self) -> str:
        """The address of the page with this query in the box."""
        return sql_address(self.sql)


EXAMPLES: Final = (
    Example(
        "The last runs, and what they cost",
        "SELECT started, name, workload, accelerator, energy, latency\n"
        "FROM totals ORDER BY started DESC LIMIT 10",
    ),
    Example(
        "Where the energy goes, by memory and operand",
        "SELECT part.memory, part.operand, sum(part.energy) AS energy, "
        "sum(part.accesses) AS accesses\n"
        "FROM results JOIN breakdowns AS part ON part.cme = results.cme\n"
        "WHERE results.run = last_run()\n"
        "GROUP BY ALL ORDER BY energy DESC",
    ),
    Example(
        "Ports that make the array wait",
        "SELECT stalls.memory, stalls.port, sum(stalls.stall) AS cycles, count(*) AS layers\n"
        "FROM results JOIN port_stalls AS stalls ON stalls.cme = results.cme\n"
        "WHERE results.run = last_run() AND stalls.stall > 0\n"
        "GROUP BY ALL ORDER BY cycles DESC",
    ),
    Example(
        "How much the mapping matters, by layer",
        "SELECT layer, count(*) AS mappings, min(latency) AS fastest,\n"
        "  max(latency) / min(latency) AS spread\n"
        "FROM evaluations WHERE run = last_run() GROUP BY layer ORDER BY spread DESC",
    ),
    Example(
        "How full the memories are",
        "SELECT usage.memory, avg(usage.shared_utilization) AS used,\n"
        "  max(usage.shared_utilization) AS most\n"
        "FROM results JOIN level_usage AS usage ON usage.cme = results.cme\n"
        "WHERE results.run = last_run()\n"
        "GROUP BY ALL ORDER BY used",
    ),
)


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """A result as a table, with its duration in seconds, and whether there are more rows."""

    table: Table
    seconds: float
    is_cut: bool


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A run to choose from."""

    id: str
    text: str


@final
@dataclass(frozen=True, slots=True)
class SqlView:
    """The page: the query, its result or its error, and examples."""

    sql: str
    queries: tuple[NamedQuery, ...]
    runs: tuple[Choice, ...]
    chosen: Mapping[str, str]
    examples: tuple[Example, ...] = EXAMPLES
    answer: Shown | None = None
    error: str = ""

    @property
    def address(self) -> str:
        """The page with the query in the box."""
        return sql_address(self.sql)

    @property
    def box(self) -> Markup:
        """The query exactly as written, including tabs and other invisible characters."""
        return escape(self.sql)

    @property
    def told(self) -> Markup:
        """The error, line by line: DuckDB marks the position below the line."""
        return Markup("\n").join(map(printable, self.error.split("\n")))

    @property
    def limits(self) -> QueryLimits:
        """The limits of a result on a page."""
        return SHOWN

    @property
    def saved(self) -> QueryLimits:
        """The limits of a result in a file."""
        return SAVED


def sql_view(site: Site, given: Mapping[str, str]) -> SqlView:
    """The page for an address: with ``sql`` in the box, or a named ``query``.

    Raises:
        StoreError: if the store cannot be read.
    """
    with site.open() as store:
        queries, runs = store.named_queries(), store.runs()
        view = SqlView(given.get("sql", ""), queries, _choices(runs), given)
        if "query" not in given:
            return view
        try:
            return replace(view, sql=_composed(store, queries, given))
        except StoreError as error:
            return replace(view, error=str(error))


def shown(answer: Answer, seconds: float) -> Shown:
    """A result as a table."""
    relation = answer.relation
    numeric = [_is_number(column.type) for column in relation.table.columns]
    columns = [
        Column(name, align=Align.RIGHT if number else Align.LEFT)
        for name, number in zip(relation.columns, numeric, strict=True)
    ]
    rows = [
        Row(tuple(_cell(value, number) for value, number in zip(row, numeric, strict=True)))
        for row in answer_rows(relation)
    ]
    return Shown(Table("Answer", tuple(columns), tuple(rows), head=-1), seconds, answer.is_cut)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _cell(value: Json, is_number: bool) -> Cell:
    text = cell_text(value)
    clipped = text if len(text) <= _LONGEST else text[:_LONGEST] + "\u2026"
    return Cell(clipped, repr(value) if is_number and value is not None else "")


def _choices(runs: tuple[RunRecord, ...]) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            str(run.id),
            f"{short_id(run.id)}: {titled(f'{run.workload} on {run.accelerator}', run.label)}, "
            f"{run.started:%Y-%m-%d %H:%M}",
        )
        for run in runs[: -_MOST_RUNS - 1 : -1]
    )


def _composed(store: Store, queries: tuple[NamedQuery, ...], given: Mapping[str, str]) -> str:
    """A named query as SQL, with its parameters filled in.

    Raises:
        StoreError: if there is no such query, or a parameter is missing or invalid.
    """
    named = {query.name: query for query in queries}
    asked = given["query"]
    if asked not in named:
        known = ", ".join(named)
        raise StoreError(f"query {asked!r}: there is none of that name; expected one of {known}")
    values = [_argument(store, parameter, given) for parameter in named[asked].parameters]
    return f"SELECT * FROM {quote_name(asked)}({', '.join(values)})"


def _argument(store: Store, parameter: Parameter, given: Mapping[str, str]) -> str:
    text = given.get(parameter, "")
    match parameter:
        case Parameter.RUN | Parameter.AGAINST:
            return quote_literal(str(store.find_run(text or "last")))
        case Parameter.SWEEP:
            return quote_literal(store.find_sweep(text or "last").info.key)
        case Parameter.LAYER:
            return quote_literal(text)
        case Parameter.K:
            if not text.isdecimal() or not 0 < int(text) <= SHOWN.rows:
                raise StoreError(f"k: found {text!r}; expected a number from 1 to {SHOWN.rows}")
            return text


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
