"""Builds the pages: all runs, a run, a layer, a comparison, the schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, final

from markupsafe import Markup
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from nestmap.model import InputError, RunLabel
from nestmap.pipeline.pages.explorer.render import (
    LINKS,
    RUNS,
    SCHEMA,
    page,
    render,
    run_address,
    sql_address,
)
from nestmap.pipeline.pages.explorer.store_site import MissingError, Site, find_layer, find_run
from nestmap.pipeline.pages.report.multicore.page import stream_body, stream_comparison_body
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream, read_stream
from nestmap.pipeline.pages.report.page import are_streams, comparison_body, layer_body, run_body
from nestmap.pipeline.pages.report.run import ReportedRun, read_reported
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell
from nestmap.store import NamedQuery, Store

MOST_RUNS: Final = 1000
MOST_COMPARED: Final = 8

_OBJECTS: Final = """
SELECT table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal
ORDER BY ALL
"""
_COLUMNS: Final = """
SELECT table_name AS "table", column_name AS name, data_type AS type, comment
FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index
"""


class _Ran(BaseModel, frozen=True):
    """A row of the named query ``history``."""

    run: str
    name: str | None
    tags: tuple[str, ...]
    started: datetime
    status: str
    workload: str
    accelerator: str
    objective: str
    layers: int | None
    energy: float | None
    latency: float | None
    evaluations: int | None
    cpu_seconds: float | None


@final
@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list of all runs."""

    id: str
    label: str
    address: str
    workload: str
    accelerator: str
    objective: str
    status: str
    started: str
    figures: tuple[Cell, ...]


@final
@dataclass(frozen=True, slots=True)
class RunsView:
    """All runs, newest first; ``left`` is the number of older runs that are not listed."""

    store: str
    runs: tuple[RunLine, ...]
    left: int
    compared: int = MOST_COMPARED


@final
@dataclass(frozen=True, slots=True)
class Described:
    """A name with its type and its meaning."""

    name: str
    type: str
    meaning: str


@final
@dataclass(frozen=True, slots=True)
class TableView:
    """A table of the store."""

    name: str
    meaning: str
    columns: tuple[Described, ...]
    address: str


@final
@dataclass(frozen=True, slots=True)
class SchemaView:
    """The tables, views and named queries that can be queried."""

    tables: tuple[TableView, ...]
    queries: tuple[NamedQuery, ...]


@final
@dataclass(frozen=True, slots=True)
class LayerView:
    """The page of a layer, with links to its run, the previous and the next layer."""

    layer: str
    title: str
    run: str
    previous: str
    next: str
    body: Markup


@final
@dataclass(frozen=True, slots=True)
class MessageView:
    """A page with only a message."""

    title: str
    text: str


def message(title: str, text: str, status: int) -> HTMLResponse:
    """An error page with a link back."""
    return page(title, render("message", MessageView(title, text)), status=status)


def runs_page(site: Site) -> HTMLResponse:
    """The page of all runs."""
    with site.open() as store:
        rows = store.ask("history").models(_Ran)
    shown = rows[: -MOST_RUNS - 1 : -1]
    lines = tuple(map(_line, shown))
    view = RunsView(str(site.path), lines, len(rows) - len(lines))
    return page("Runs", render("runs", view), RUNS)


def run_page(site: Site, text: str) -> HTMLResponse:
    """The page of a run, as in the report."""
    with site.open() as store:
        run = find_run(store, text)
        try:
            if are_streams(store, [run]):
                stream = read_stream(store, run)
                return page(stream.title, stream_body(stream))
            found = read_reported(store, run)
        except InputError as error:
            return message(f"Run {run}", str(error), 200)
    return page(found.title, run_body(found, LINKS))


def layer_page(site: Site, text: str, name: str) -> HTMLResponse:
    """The page of a layer with its explained mapping."""
    with site.open() as store:
        run = _reported(store, text)
        layer = find_layer(run, name)
        body = site.kept.get(site.key(run, layer), lambda: layer_body(store, run, layer, LINKS))
    return page(f"{layer}: {run.title}", render("explained", _layer_view(run, layer, body)))


def comparison_page(site: Site, texts: list[str]) -> HTMLResponse:
    """The page that compares runs."""
    if not 2 <= len(texts) <= MOST_COMPARED:
        found = "one run" if len(texts) == 1 else f"{len(texts) or 'no'} runs"
        told = f"found {found}; expected two to {MOST_COMPARED}: choose them in the list of runs"
        return message("Comparison", told, 400)
    with site.open() as store:
        try:
            given = [find_run(store, text) for text in dict.fromkeys(texts)]
            if are_streams(store, given):
                streams = [read_stream(store, run) for run in given]
                return page("Comparison", stream_comparison_body(streams, _stream_address))
        except InputError as error:
            return message("Comparison", str(error), 400)
        runs = [_reported(store, text) for text in dict.fromkeys(texts)]
    return page("Comparison", comparison_body(runs, LINKS))


def _stream_address(run: ReportedStream) -> str:
    return "" if run.run is None else run_address(run.run.record.id)


def schema_page(site: Site) -> HTMLResponse:
    """The page of tables, views and named queries."""
    with site.open() as store:
        tables, queries = tuple(_tables(store)), store.named_queries()
    return page("Schema", render("schema", SchemaView(tables, queries)), SCHEMA)


def _reported(store: Store, text: str) -> ReportedRun:
    run = find_run(store, text)
    try:
        return read_reported(store, run)
    except InputError as error:
        raise MissingError(str(error)) from None


def _layer_view(run: ReportedRun, layer: str, body: Markup) -> LayerView:
    names = list(run.results)
    place = names.index(layer)
    near = {i: LINKS.layer(run, names[i]) for i in (place - 1, place + 1) if 0 <= i < len(names)}
    return LayerView(
        layer=layer,
        title=run.title,
        run=LINKS.run(run),
        previous=near.get(place - 1, ""),
        next=near.get(place + 1, ""),
        body=body,
    )


def _line(ran: _Ran) -> RunLine:
    return RunLine(
        id=ran.run,
        label=str(RunLabel(name=ran.name, tags=ran.tags)),
        address=f"/run/{ran.run}",
        workload=ran.workload,
        accelerator=ran.accelerator,
        objective=ran.objective,
        status=ran.status,
        started=f"{ran.started:%Y-%m-%d %H:%M:%S}",
        figures=tuple(_figures(ran)),
    )


def _figures(ran: _Ran) -> Iterator[Cell]:
    none = Cell(cells.NONE)
    yield none if ran.layers is None else cells.count(ran.layers)
    yield none if ran.energy is None else cells.energy(ran.energy)
    yield none if ran.latency is None else cells.cycles(ran.latency)
    yield none if ran.evaluations is None else cells.count(ran.evaluations)
    yield (
        none if ran.cpu_seconds is None else Cell(f"{ran.cpu_seconds:.1f} s", repr(ran.cpu_seconds))
    )


def _tables(store: Store) -> Iterator[TableView]:
    columns: dict[str, list[Described]] = {}
    for row in store.query(_COLUMNS):
        name, kind = str(row["name"]), str(row["type"])
        described = Described(name, kind, str(row["comment"] or ""))
        columns.setdefault(str(row["table"]), []).append(described)
    for row in store.query(_OBJECTS):
        name = str(row["name"])
        address = sql_address(f"SELECT * FROM {name} LIMIT 100")
        yield TableView(name, str(row["comment"] or ""), tuple(columns.get(name, ())), address)
