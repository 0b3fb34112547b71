"""The SQL box: answers as a table and as files, errors in place, named queries written out."""

import csv
import json
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from nestmap.pipeline.pages.explorer.sql_requests import EXAMPLES, SAVED, SHOWN
from nestmap.store import Parameter, Store
from tests.pipeline.pages.explorer.conftest import Explored
from tests.pipeline.pages.explorer.stores import MARKUP, NASTY
from tests.pipeline.pages.explorer.visits import FORM, Reply, Visitor, visiting
from tests.pipeline.pages.report.dom import grid
from tests.store.sweeps import INFO


def box(reply: Reply) -> str:
    """What stands in the box, as a browser takes it: without the line end that it begins with."""
    return reply.page.by_id("sql").raw().removeprefix("\n")


def test_an_answer_is_a_table(visitor: Visitor) -> None:
    reply = visitor.ask("SELECT 'b' AS name, 2.5 AS x UNION ALL SELECT NULL, NULL ORDER BY x")
    table = grid(reply.page.by_id("answer"))
    assert table.titles == ("name", "x")
    assert [[cell.text for cell in row] for row in table.rows] == [["b", "2.5"], ["", ""]]
    assert table.rows[0][1].value == 2.5
    assert "data-value" not in table.rows[1][1].attributes
    assert "2 rows, " in reply.told
    assert box(reply).startswith("SELECT 'b'")


def test_exact_figures_are_behind_rounded_ones(visitor: Visitor, explored: Explored) -> None:
    reply = visitor.ask("SELECT layer, energy FROM best ORDER BY energy")
    with Store.open_read_only(explored.path) as store:
        energies = [row["energy"] for row in store.query("FROM best ORDER BY energy")]
    assert grid(reply.page.by_id("answer")).values("energy") == energies


def test_values_are_never_markup(visitor: Visitor) -> None:
    reply = visitor.ask(
        f"SELECT '{MARKUP.replace(chr(39), chr(39) * 2)}' AS \"<b>\", name FROM layers"
    )
    assert reply.status == 200
    assert "<script>alert" not in reply.text
    assert "<b>" not in reply.text.partition('id="answer"')[2].partition("</thead>")[0]


def test_what_is_in_the_box_comes_back_as_it_was(visitor: Visitor) -> None:
    sql = "SELECT\t'<&\"\u202e\U0001f642' AS x,\n\n  1"
    for reply in (visitor.ask(sql), visitor.get(f"/sql?{urlencode({'sql': sql})}")):
        assert box(reply).rstrip("\n") == sql


def test_an_address_asks_nothing(visitor: Visitor) -> None:
    page = visitor.get("/sql?sql=SELECT+1+AS+x").page
    assert not [x for x in page.every() if x.attributes.get("id") == "answer"]


def test_errors_are_shown_in_place(visitor: Visitor) -> None:
    for sql, told in {
        "SELECT * FORM runs": "\n\nLINE 1: SELECT * FORM runs\n           ",
        "DROP TABLE runs": "read-only mode",
        "FROM read_text('/etc/hostname')": "Permission Error",
        "": "found no statement; expected one SELECT",
    }.items():
        reply = visitor.ask(sql)
        assert reply.status == 200
        (error,) = reply.page.with_class("error")
        assert told in error.raw()
        assert error.attributes["role"] == "alert"
        assert box(reply).rstrip("\n") == sql


def test_long_answers_are_cut_and_say_so(visitor: Visitor) -> None:
    reply = visitor.ask("FROM range(5000)")
    assert len(grid(reply.page.by_id("answer")).rows) == SHOWN.rows
    assert "The first 1,000 rows" in reply.told
    assert "There are more: a file has up to 100,000" in reply.told


def test_files(visitor: Visitor) -> None:
    sql = "SELECT 'a,\"b' AS t, [1, 2] AS l, 0.5::DOUBLE AS x"
    reply = visitor.ask(sql, format="csv")
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="answer.csv"'
    assert list(csv.reader(reply.text.splitlines())) == [["t", "l", "x"], ['a,"b', "[1, 2]", "0.5"]]
    reply = visitor.ask("SELECT '=1+1' AS t", format="spreadsheet")
    assert reply.headers["content-disposition"] == 'attachment; filename="answer.csv"'
    assert reply.text.splitlines() == ["\ufefft", "'=1+1"]
    reply = visitor.ask(sql, format="json")
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.text) == [{"t": 'a,"b', "l": [1, 2], "x": 0.5}]


def test_files_that_are_cut_say_so_in_their_names(visitor: Visitor) -> None:
    reply = visitor.ask(f"FROM range({SAVED.rows + 1})", format="json")
    assert 'filename="answer-first-100000-rows.json"' in reply.headers["content-disposition"]
    assert len(json.loads(reply.text)) == SAVED.rows


def test_errors_are_no_files(visitor: Visitor) -> None:
    reply = visitor.ask("DROP TABLE runs", format="csv")
    assert reply.status == 400
    assert reply.text.startswith("query: ")
    assert "content-disposition" not in reply.headers


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_examples_have_answers(visitor: Visitor, example: object) -> None:
    sql = next(x.sql for x in EXAMPLES if x is example)
    page = visitor.ask(sql).page
    assert grid(page.by_id("answer")).titles


def test_examples_lead_into_the_box(visitor: Visitor) -> None:
    page = visitor.get("/sql").page
    (found,) = page.with_class("examples")
    addresses = [x.attributes["href"] for x in found.every("a")]
    assert [parse_qs(urlsplit(x).query)["sql"] for x in addresses] == [[x.sql] for x in EXAMPLES]
    assert box(visitor.get(addresses[0])).rstrip("\n") == EXAMPLES[0].sql


@pytest.mark.stress
def test_every_named_query_is_written_out_and_answered(
    visitor: Visitor, explored: Explored
) -> None:
    with Store.open_read_only(explored.path) as store:
        queries = [x for x in store.named_queries() if Parameter.SWEEP not in x.parameters]
    given = {"run": explored.nasty, "against": explored.small, "layer": NASTY[0], "k": "2"}
    for query in queries:
        sql = box(visitor.get(f"/sql?{urlencode({'query': query.name, **given})}"))
        assert query.name in sql
        page = visitor.ask(sql).page
        assert not list(page.with_class("error")), sql
        assert grid(page.by_id("answer")).titles


def test_queries_about_sweeps_are_written_out_and_answered(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        store.start_sweep(INFO)
        queries = [x for x in store.named_queries() if Parameter.SWEEP in x.parameters]
    assert len(queries) == 3
    with visiting(tmp_path / "s.duckdb") as visitor:
        for query in queries:
            sql = box(visitor.get(f"/sql?{urlencode({'query': query.name, 'sweep': 'arrays'})}"))
            assert INFO.key in sql
            assert grid(visitor.ask(sql).page.by_id("answer")).titles


def test_a_named_query_says_which_of_the_fields_it_has(
    visitor: Visitor, explored: Explored
) -> None:
    page = visitor.get("/sql").page
    (form,) = page.with_class("named")
    fields = {x.attributes.get("name") for x in form.every() if x.tag in ("select", "input")}
    stated = {
        x.attributes["value"]: x.attributes["data-fields"].split()
        for x in form.every("option")
        if "data-fields" in x.attributes
    }
    with Store.open_read_only(explored.path) as store:
        assert stated == {x.name: list(x.parameters) for x in store.named_queries()}
    assert {name for names in stated.values() for name in names} == fields - {"query"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"query": "sweep_front"}, "sweep 'last': found no such sweep in this store"),
        ({"query": "'"}, "there is none of that name; expected one of areas"),
        ({"query": "top", "k": "0); DROP"}, "k: found '0); DROP'; expected a number from 1"),
        ({"query": "pareto", "run": "zz"}, "run 'zz': found no such run"),
    ],
)
def test_what_is_wrong_with_a_named_query_is_told(
    visitor: Visitor, given: dict[str, str], told: str
) -> None:
    reply = visitor.get(f"/sql?{urlencode(given)}")
    assert reply.status == 200
    (error,) = reply.page.with_class("error")
    assert told in error.text


def test_only_forms_are_read(visitor: Visitor) -> None:
    for kind, body, status in (
        ("application/json", b'{"sql": "SELECT 1"}', 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        (FORM, b"sql=\xff\xfe", 400),
        (FORM, b"&".join(b"a=1" for _ in range(100)), 400),
        (f"{FORM}; charset=utf-8", b"sql=" + quote("SELECT 'é'").encode(), 200),
    ):
        reply = visitor.request("POST", "/sql", body, {"content-type": kind})
        assert reply.status == status, body
