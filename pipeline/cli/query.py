"""``nestmap query``: queries past explorations, by the name of a query or in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from nestmap.model import InputError
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.pipeline.cli.options.view import QueryOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show, show_text
from nestmap.pipeline.format.runs import short_id
from nestmap.pipeline.render.text.query_result import answer_table
from nestmap.pipeline.render.text.query_result_file import (
    Layout,
    answer_text,
    layout_of,
    write_answer,
)
from nestmap.store import NamedQuery, Parameter, Relation, RunStatus, Store

if TYPE_CHECKING:  # a query in SQL needs no model
    from nestmap.store import RunRecord

_NAME: Final = re.compile(r"\s*(\w+)\s*")
_OPTIONS: Final = {
    Parameter.RUN: "--run",
    Parameter.AGAINST: "--against",
    Parameter.LAYER: "--layer",
    Parameter.K: "--top",
    Parameter.SWEEP: "--sweep",
}

Given = Mapping[Parameter, str | int]


def run_query(options: QueryOptions) -> None:
    """Queries the store and prints the result, or writes it to a file.

    Raises:
        NestmapError: where there is no store, the query is invalid, or an option does not apply
            to it.
    """
    check_target("--output", options.output, (options.store,))
    layout = layout_of(options.format and Layout(options.format), options.output)
    answer = _listing(options) if options.listing else _answer(options)
    if options.output is not None:
        write_answer(options.output, answer, layout)
        print_note(f"Written to {options.output}.")
    elif layout is Layout.TABLE:
        show(answer_table(answer))
    else:
        show_text(answer_text(answer, layout))


def _given(options: QueryOptions) -> Given:
    """The parameters that have a value; runs are given as text."""
    values = {
        Parameter.RUN: options.run,
        Parameter.AGAINST: options.against,
        Parameter.LAYER: options.layer,
        Parameter.K: options.top,
        Parameter.SWEEP: options.sweep,
    }
    return {parameter: value for parameter, value in values.items() if value is not None}


def _listing(options: QueryOptions) -> Relation:
    """The named queries of the store; those of a new store if it does not exist yet."""
    _check_none_given(_given(options), "--list")
    if options.question is not None:
        raise InputError.conflict("--list", repr(options.question), "use one of them")
    path = options.store
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


def _answer(options: QueryOptions) -> Relation:
    if options.question is None:
        raise InputError(
            "query",
            "no question",
            "the name of one (nestmap query --list shows them) or SQL, as in "
            'nestmap query "SELECT * FROM totals"',
        )
    with Store.open_read_only(options.store) as store:
        if name := _NAME.fullmatch(options.question):
            return _named(store, name[1], _given(options))
        return store.query_about(options.question, _given(options))


def _named(store: Store, name: str, given: Given) -> Relation:
    query = store.named_query(name)
    _check_options(query, given)
    answer = store.ask(name, given)
    if Parameter.RUN in query.parameters:
        _tell_run(store.run(store.find_run(str(given.get(Parameter.RUN, LAST_RUN)))), given, answer)
    return answer


def _tell_run(run: RunRecord, given: Given, answer: Relation) -> None:
    """Prints which run is meant if the user named none, and why it has no results."""
    if Parameter.RUN not in given:
        label = f" ({run.label})" if str(run.label) else ""
        print_note(f"Of the last run, {short_id(run.id)}{label}; --run selects another one.")
    if not len(answer) and run.status is not RunStatus.DONE:
        print_note(f"Run {short_id(run.id)} is {run.status}; only runs that are done have results.")


def _check_none_given(given: Given, other: str) -> None:
    for parameter in given:
        hint = "it is for named queries"
        raise InputError.conflict(_OPTIONS[parameter], other, hint)


def _check_options(query: NamedQuery, given: Given) -> None:
    wanted = ", ".join(_OPTIONS[x] for x in query.parameters)
    for parameter in query.missing(given):
        raise InputError(f"query {query.name}", f"no {_OPTIONS[parameter]}", wanted)
    for parameter in query.unknown(given):
        hint = f"it takes {wanted or 'no options'}"
        raise InputError.conflict(_OPTIONS[parameter], f"query {query.name}", hint)
