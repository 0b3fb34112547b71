"""The pages of the explorer: what they show is what the store has; names are never markup."""

from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from markupsafe import Markup

from nestmap.pipeline.pages.explorer import store_site
from nestmap.pipeline.pages.explorer.render import layer_address, run_address
from nestmap.pipeline.pages.explorer.store_site import Kept
from nestmap.store import Store
from tests.faults.processes import HOLD, read_line, running
from tests.pipeline.networks import PROBLEM
from tests.pipeline.pages.explorer.conftest import Explored
from tests.pipeline.pages.explorer.stores import NASTY
from tests.pipeline.pages.explorer.stores import explored as explored_runs
from tests.pipeline.pages.explorer.visits import Visitor, compare_address, visiting
from tests.pipeline.pages.report.dom import Element, grid
from tests.store.builders import info
from tests.store.filled import fill, filled


def links(page: Element) -> list[str]:
    """Where the links of a page lead."""
    return [x.attributes["href"] for x in page.every("a") if x.attributes["href"][0] != "#"]


def every_page(explored: Explored) -> list[str]:
    """The addresses of all kinds of pages."""
    return [
        *("/", "/sql", "/schema", run_address(explored.small), run_address(explored.nasty)),
        compare_address(explored.small, explored.nasty),
        layer_address(explored.small, "first"),
        *(layer_address(explored.nasty, name) for name in NASTY),
    ]


def test_all_runs_are_listed_with_what_they_cost(visitor: Visitor, explored: Explored) -> None:
    page = visitor.get("/").page
    with Store.open_read_only(explored.path) as store:
        results = [store.best(run) for run in (explored.nasty, explored.small)]
    table = grid(page.by_id("runs"))
    assert table.values("Energy") == [result.energy for result in results]
    assert [x.value for x in table.column("Latency cycles")] == [x.latency for x in results]
    assert [x.value for x in table.column("Layers")] == [3, 2]
    assert table.texts("Status") == ["done", "done"]
    addresses = [cell.one("a").attributes["href"] for cell in table.column("Network")]
    assert addresses == [run_address(explored.nasty), run_address(explored.small)]


def test_every_link_leads_somewhere(visitor: Visitor, explored: Explored) -> None:
    found = {link for at in every_page(explored) for link in links(visitor.get(at).page)}
    assert {layer_address(explored.nasty, name) for name in NASTY} <= found
    alike = [x for x in found if x.startswith("/sql?")][3:]  # there is one for each table
    for link in found - set(alike):
        assert visitor.get(link.partition("#")[0]).status == 200, link


def test_names_are_never_markup(visitor: Visitor, explored: Explored) -> None:
    for at in every_page(explored):
        reply = visitor.get(at)
        assert reply.status == 200, at
        assert "<script>alert" not in reply.text
        scripts = [x.attributes.get("src", "") for x in reply.page.every("script")]
        assert all(x.startswith("/static/") for x in scripts if x)
        assert not [x for x in reply.page.every() if any(a.startswith("on") for a in x.attributes)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [(NASTY[0], NASTY[0]), (NASTY[1], NASTY[1]), (NASTY[2], "two\\nlines\\tand")],
    ids=["markup", "address", "unseen"],
)
def test_layers_of_any_name_are_explained(
    visitor: Visitor, explored: Explored, name: str, shown: str
) -> None:
    reply = visitor.get(layer_address(explored.nasty, name))
    assert reply.status == 200
    assert not {"\x00", "\u202e"} & set(reply.text)
    assert reply.page.one("h1").text.startswith(shown)


def test_a_layer_is_explained_with_exact_figures(visitor: Visitor, explored: Explored) -> None:
    page = visitor.get(layer_address(explored.small, "second")).page
    with Store.open_read_only(explored.path) as store:
        cme = store.best(explored.small).layers[1].cme
    figures = {x.attributes.get("data-value") for x in page.every("b")}
    assert {repr(cme.energy), repr(float(cme.latency))} <= figures
    assert layer_address(explored.small, "first") in links(page)


def test_explanations_are_kept(visitor: Visitor, explored: Explored) -> None:
    first = visitor.get(layer_address(explored.small, "second")).text
    kept = len(visitor.site.kept)
    assert visitor.get(layer_address(explored.small, "second")).text == first
    assert len(visitor.site.kept) == kept > 0


def test_only_the_last_pages_are_kept() -> None:
    kept, made = Kept(2), list[int]()

    def page(number: int) -> str:
        def make() -> Markup:
            made.append(number)
            return Markup("page {}").format(number)

        return kept.get(number, make)

    assert [page(x) for x in (1, 2, 1, 3, 1, 2)] == [f"page {x}" for x in (1, 2, 1, 3, 1, 2)]
    assert made == [1, 2, 3, 2]
    assert len(kept) == 2


def test_runs_are_compared(visitor: Visitor, explored: Explored) -> None:
    told = visitor.get(compare_address(explored.small, explored.nasty)).told
    assert told.startswith("2 runs compared")


@pytest.mark.parametrize(
    ("query", "found"),
    [("", "found no runs"), ("?run=last", "found one run"), ("?" + "run=last&" * 9, "9 runs")],
)
def test_some_runs_are_compared(visitor: Visitor, query: str, found: str) -> None:
    reply = visitor.get(f"/compare{query}")
    assert reply.status == 400
    assert f"{found}; expected two to 8" in reply.told


def test_the_schema_has_every_table_and_column(visitor: Visitor, explored: Explored) -> None:
    told = visitor.get("/schema").told
    with Store.open_read_only(explored.path) as store:
        columns = store.query("SELECT column_name FROM duckdb_columns() WHERE NOT internal")
        queries = store.named_queries()
    assert all(str(row["column_name"]) in told for row in columns)
    assert all(str(query) in told and query.description in told for query in queries)


def test_what_is_not_there_is_said(visitor: Visitor, explored: Explored) -> None:
    for at, found in {
        "/nope": "No such page Nothing is at /nope.",
        "/run/xyz": "run 'xyz': found no such run; expected last, the id of a run",
        "/run/": "Nothing is at /run/",
        layer_address(explored.small, "secund"): "found no result of a layer 'secund'; "
        "expected one of second",
        layer_address(explored.small, "<b>"): "a layer '<b>'; expected one of first, second",
        f"/run/{explored.small}/layer": "found no result of a layer ''",
        "/compare?run=last&run=zz": "run 'zz': found no such run",
        "/static/app.py": "Nothing is at /static/app.py",
        "/static/%2e%2e%2fapp.py": "Nothing is at",
    }.items():
        reply = visitor.get(at)
        assert reply.status == 404, at
        assert found in reply.told
        assert "Traceback" not in reply.text


def test_runs_are_found_by_the_beginning_of_their_ids(visitor: Visitor, explored: Explored) -> None:
    assert visitor.get(f"/run/{str(explored.small)[:13]}").page.one("h1").text.startswith("net on")
    assert visitor.get("/run/last").status == 200


def test_a_file_that_the_browser_has_is_not_sent_again(visitor: Visitor) -> None:
    for name in ("style.css", "report.js", "explorer.css", "explorer.js", "charts.js", "vega.js"):
        first = visitor.get(f"/static/{name}")
        assert first.status == 200
        again = visitor.get(f"/static/{name}", {"if-none-match": first.headers["etag"]})
        assert (again.status, again.text) == (304, "")


def test_a_run_can_be_watched(tmp_path: Path) -> None:
    """The file is free between pages, and pages show what was committed last."""
    path = tmp_path / "store.duckdb"
    filled(path)
    with visiting(path) as visitor:
        assert "There is no run in this store yet." in visitor.get("/").told
        with Store.open(path) as store, store.start_run(info()) as run:
            store.close()
            table = grid(visitor.get("/").page.by_id("runs"))
            assert table.texts("Status") == ["running"]
            reply = visitor.get(run_address(run.id))
            assert reply.status == 200
            assert "it is running, and has recorded no evaluation" in reply.told
            assert visitor.get(compare_address(run.id, run.id)).status == 404
            run.fail("enough")
        assert grid(visitor.get("/").page.by_id("runs")).texts("Status") == ["failed"]
        explored_runs(path, PROBLEM)
        assert grid(visitor.get("/").page.by_id("runs")).texts("Status") == ["done", "failed"]


def test_a_store_that_cannot_be_read_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    filled(path)
    with visiting(path) as visitor:
        path.rename(tmp_path / "elsewhere.duckdb")
        for reply in (visitor.get("/"), visitor.get("/sql"), visitor.ask("SELECT 1")):
            assert reply.status == 503
            assert "no such file; expected a store that nestmap explore wrote" in reply.told
        path.write_text("not a store")
        reply = visitor.get("/")
        assert (reply.status, "not a DuckDB database" in reply.told) == (503, True)
        path.unlink()
        (tmp_path / "elsewhere.duckdb").rename(path)
        assert visitor.get("/").status == 200


def test_a_store_of_another_version_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    filled(path)
    with closing(duckdb.connect(path)) as connection:
        connection.execute("UPDATE store_schema SET version = 7")
    with visiting(path) as visitor:
        for reply in (visitor.get("/"), visitor.get("/schema"), visitor.get("/run/last")):
            assert reply.status == 503
            assert "found schema 7; expected" in reply.told


def test_a_store_that_somebody_holds_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_site, "PATIENCE", 0.3)
    path = tmp_path / "store.duckdb"
    filled(path)
    with visiting(path) as visitor:
        with running(HOLD, str(path)) as holder:
            assert read_line(holder) == "open"
            reply = visitor.get("/")
            assert reply.status == 503
            assert "another process has it open; expected an unlocked file" in reply.told
        assert visitor.get("/").status == 200


def test_addresses_keep_names(explored: Explored) -> None:
    for name in NASTY:
        parts = urlsplit(layer_address(explored.small, name))
        assert parts.path == f"/run/{explored.small}/layer"
        assert parse_qs(parts.query)["name"] == [name]


def test_a_run_that_cannot_be_shown_is_said_to_be(tmp_path: Path) -> None:
    """Its figures are made up: its pictures cannot be drawn, the others of the store can."""
    path = tmp_path / "store.duckdb"
    with Store.open(path) as store:
        run = fill(store)
    with visiting(path) as visitor:
        reply = visitor.get(run_address(run))
        assert reply.status == 422
        assert reply.told.startswith("This cannot be shown")
        assert visitor.get("/").status == 200
