"""``nestmap query``: a question to past explorations, by its name or in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

import pyarrow as pa

from nestmap.model import InputError
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import remark, show, show_text
from nestmap.pipeline.render.text.query_result import answer_table
from nestmap.pipeline.render.text.query_result_file import (
    Layout,
    answer_text,
    layout_of,
    write_answer,
)
from nestmap.store import NamedQuery, Parameter, Relation, RunStatus, Store

_NAME: Final = re.compile(r"\s*(\w+)\s*")
_OPTIONS: Final = {
    Parameter.RUN: "--run",
    Parameter.AGAINST: "--against",
    Parameter.LAYER: "--layer",
    Parameter.K: "--top",
}

Given = Mapping[Parameter, str | int]


@final
@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The arguments of the command.

    ``question`` is SQL or the name of a query; ``listing`` asks for the list of these; ``given``
    are the values of parameters as the user wrote them, runs as text.
    """

    question: str | None
    listing: bool
    given: Given
    store: Path
    layout: Literal["table", "csv", "json", "parquet", "arrow"] | None
    output: Path | None


def given(run: str | None, against: str | None, layer: str | None, top: int | None) -> Given:
    """The parameters that have a value."""
    values = {
        Parameter.RUN: run,
        Parameter.AGAINST: against,
        Parameter.LAYER: layer,
        Parameter.K: top,
    }
    return {parameter: value for parameter, value in values.items() if value is not None}


def run_query(request: QueryRequest) -> None:
    """Asks the store and prints the answer, or writes it to a file.

    Raises:
        NestmapError: where there is no store, the question is not valid, or something given does
            not suit it.
    """
    check_target("--output", request.output, (request.store,))
    layout = layout_of(request.layout and Layout(request.layout), request.output)
    answer = _listing(request) if request.listing else _answer(request)
    if request.output is not None:
        write_answer(request.output, answer, layout)
        remark(f"Written to {request.output}.")
    elif layout is Layout.TABLE:
        show(answer_table(answer))
    else:
        show_text(answer_text(answer, layout))


def _listing(request: QueryRequest) -> Relation:
    """The named queries: those of the store, or of a new one where there is none yet."""
    _check_none_given(request.given, "--list")
    if request.question is not None:
        raise InputError("option --list", f"it beside {request.question!r}", "it alone")
    path = request.store
    with Store.open_read_only(path) if path.exists() else Store.open(None) as store:
        known = store.named_queries()
    return Relation(
        pa.table(
            {
                "name": [entry.name for entry in known],
                "options": [" ".join(_OPTIONS[x] for x in entry.parameters) for entry in known],
                "what it answers": [entry.description for entry in known],
            }
        )
    )


def _answer(request: QueryRequest) -> Relation:
    if request.question is None:
        raise InputError(
            "query",
            "no question",
            "the name of one (nestmap query --list shows them) or SQL, as in "
            'nestmap query "SELECT * FROM totals"',
        )
    with Store.open_read_only(request.store) as store:
        if name := _NAME.fullmatch(request.question):
            return _named(store, name[1], request.given)
        _check_none_given(request.given, "SQL")
        return store.query(request.question)


def _named(store: Store, name: str, given: Given) -> Relation:
    for query in store.named_queries():
        if query.name == name:
            _check_options(query, given)
    runs = {
        parameter: store.find_run(str(given[parameter]))
        for parameter in (Parameter.RUN, Parameter.AGAINST)
        if parameter in given
    }
    answer = store.ask(name, {**given, **runs})
    if not len(answer) and Parameter.RUN in runs:
        status = store.run(runs[Parameter.RUN]).status
        if status is not RunStatus.DONE:
            remark(f"Run {runs[Parameter.RUN]} is {status}; only runs that are done have results.")
    return answer


def _check_none_given(given: Given, beside: str) -> None:
    for parameter in given:
        raise InputError(
            f"option {_OPTIONS[parameter]}", f"it beside {beside}", "it beside the name of a query"
        )


def _check_options(query: NamedQuery, given: Given) -> None:
    wanted = ", ".join(_OPTIONS[x] for x in query.parameters) or "no option"
    for parameter in query.missing(given):
        raise InputError(f"query {query.name}", f"no {_OPTIONS[parameter]}", wanted)
    for parameter in query.unwanted(given):
        raise InputError(f"query {query.name}", _OPTIONS[parameter], wanted)
