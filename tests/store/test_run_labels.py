"""Names and tags of runs: recorded, shown with every row of a run, and accepted for its id."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final
from uuid import UUID

import pytest

import nestmap
from nestmap.model import InputError, RunLabel, StoreError
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.pages.report.page import run_body
from nestmap.pipeline.pages.report.run import read_reported
from nestmap.store import Parameter, Store
from nestmap.store.maintenance.merge import merge_stores
from tests.loma import LOMA
from tests.pipeline.networks import PROBLEM
from tests.pipeline.pages.explorer.visits import visiting
from tests.pipeline.pages.report.dom import grid

PLAN = SearchPlan.of(LOMA)
LABEL = RunLabel(name="wide port", tags=("sram", "week 7"))


@final
@dataclass(frozen=True)
class Labeled:
    """A store with the same exploration twice: named, then without a name."""

    store: Store
    named: UUID
    bare: UUID


@pytest.fixture(name="labeled", scope="module")
def _labeled() -> Iterator[Labeled]:
    with Store.open(None) as store:
        named = explore_network(PROBLEM, PLAN, store=store, label=LABEL).run
        bare = explore_network(PROBLEM, PLAN, store=store).run
        yield Labeled(store, named, bare)


def test_the_label_is_read_back(labeled: Labeled) -> None:
    assert [run.label for run in labeled.store.runs()] == [LABEL, RunLabel()]
    assert labeled.store.info(labeled.named).label == LABEL
    assert labeled.store.run(labeled.bare).label == RunLabel()
    assert str(LABEL) == "wide port #sram #week 7"


@pytest.mark.parametrize("query", ["history", "designs"])
def test_lists_of_runs_have_names_and_tags(labeled: Labeled, query: str) -> None:
    rows = {str(row["run"]): row for row in labeled.store.ask(query)}
    assert (rows[str(labeled.named)]["name"], rows[str(labeled.bare)]["name"]) == (LABEL.name, None)
    assert rows[str(labeled.named)]["tags"] == list(LABEL.tags)


@pytest.mark.parametrize("view", ["best", "evaluations", "outcomes"])
def test_views_say_of_what_each_row_is(labeled: Labeled, view: str) -> None:
    sql = f"SELECT DISTINCT run, name, workload, accelerator, objective FROM {view} ORDER BY name"
    workload, machine = PROBLEM.workload.name, PROBLEM.accelerator.name
    assert [tuple(row.values()) for row in labeled.store.query(sql)] == [
        (str(labeled.named), LABEL.name, workload, machine, "latency"),
        (str(labeled.bare), None, workload, machine, "latency"),
    ]


@pytest.mark.parametrize("view", ["best", "evaluations", "outcomes", "totals", "data_movement"])
def test_a_view_by_its_name_has_the_rows_of_one_run(labeled: Labeled, view: str) -> None:
    store = labeled.store
    (row,) = store.query(f"SELECT count(*) AS n FROM {view} WHERE run = ?", (labeled.named,))
    assert row["n"]
    named = store.ask(view, {Parameter.RUN: labeled.named})
    assert (len(named), {x["run"] for x in named}) == (row["n"], {str(labeled.named)})
    assert {x["run"] for x in store.ask(view)} == {str(labeled.bare)}  # the last one


def test_layers_of_the_last_run_are_listed_once(labeled: Labeled) -> None:
    """Without a condition, two runs of the same network list each layer twice."""
    names = [layer.name for layer in PROBLEM.workload.layers]
    sql = "SELECT layer FROM best WHERE run = last_run() ORDER BY position"
    assert [row["layer"] for row in labeled.store.query(sql)] == names


def test_a_run_is_named_by_the_beginning_of_its_id_or_its_name(labeled: Labeled) -> None:
    store, whole = labeled.store, labeled.store.ask("best", {Parameter.RUN: labeled.named}).rows()
    beginning = next(
        str(labeled.named)[:n]
        for n in range(1, 37)
        if str(labeled.named)[:n] != str(labeled.bare)[:n]
    )
    for text in (beginning, str(labeled.named), "wide port"):
        assert store.find_run(text) == labeled.named
        assert store.ask("best", {Parameter.RUN: text}).rows() == whole
        asked = store.query_about("SELECT * FROM best WHERE run = $run", {Parameter.RUN: text})
        assert asked.rows() == whole
    (row,) = store.query("SELECT run_id(?) AS run", (beginning,))
    assert row["run"] == str(labeled.named)
    with pytest.raises(StoreError, match="2 runs have an id that begins with"):
        store.query("SELECT run_id('')")
    with pytest.raises(StoreError, match="0 runs have an id that begins with wide port"):
        store.query("SELECT run_id('wide port')")


def test_two_runs_of_a_name_are_listed() -> None:
    with Store.open(None) as store:
        runs = [explore_network(PROBLEM, PLAN, store=store, label=LABEL).run for _ in range(2)]
        with pytest.raises(StoreError, match="found 2 runs") as raised:
            store.find_run("wide port")
        assert all(str(run) in str(raised.value) for run in runs)
        assert store.find_run("last") == runs[1]


def test_parameters_of_sql(labeled: Labeled) -> None:
    store = labeled.store
    first = PROBLEM.workload.layers[0].name
    sql = "SELECT run FROM best WHERE run = $run AND layer = $layer LIMIT $k"
    (row,) = store.query_about(sql, {Parameter.LAYER: first, Parameter.K: 1})
    assert row["run"] == str(labeled.bare)
    with pytest.raises(StoreError, match=r"found no \$against in the SQL; expected one"):
        store.query_about(sql, {Parameter.AGAINST: "last"})
    with pytest.raises(StoreError, match=r"query: .*layer"):
        store.query_about(sql, {})
    with pytest.raises(StoreError, match="found no such run"):
        store.query_about("SELECT $run", {Parameter.RUN: "nothing"})
    assert store.query_about("SELECT 1 AS one", {}).rows() == [{"one": 1}]


def test_reports_and_the_explorer_show_the_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    run = explore_network(PROBLEM, PLAN, store=path, label=LABEL).run
    subject = f"{PROBLEM.workload.name} on {PROBLEM.accelerator.name}"
    with Store.open_read_only(path) as store:
        reported = read_reported(store, run)
    assert reported.title == f"{subject}: {LABEL}"
    body = run_body(reported)
    assert f'<h1 id="{reported.anchor}-name">{reported.title}</h1>' in body
    assert "week 7" in body.partition("</h1>")[2]
    with visiting(path) as visitor:
        table = grid(visitor.get("/").page.by_id("runs"))
        assert table.texts("Name") == [str(LABEL)]
        assert f"{subject}: {LABEL}" in visitor.get("/sql").text


def test_names_survive_a_merge(tmp_path: Path) -> None:
    explore_network(PROBLEM, PLAN, store=tmp_path / "a.duckdb", label=LABEL)
    merge_stores(tmp_path / "all.duckdb", [tmp_path / "a.duckdb"])
    with Store.open_read_only(tmp_path / "all.duckdb") as store:
        assert [run.label for run in store.runs()] == [LABEL]


def test_names_are_given_in_python(tmp_path: Path) -> None:
    layer = nestmap.gemm("fc", (4, 8), (8, 8))
    path = tmp_path / "runs.duckdb"
    nestmap.explore(
        layer, "tpu_like", store=path, label=RunLabel(name=" base ", tags=("x", "x", " y"))
    )
    nestmap.explore(layer, "tpu_like", store=path, label=" base ")
    with Store.open_read_only(path) as store:
        assert [run.label for run in store.runs()] == [
            RunLabel(name="base", tags=("x", "y")),
            RunLabel(name="base"),
        ]
    with pytest.raises(InputError, match="label cannot be combined with no store"):
        nestmap.explore(layer, "tpu_like", label="x")


@pytest.mark.parametrize(("name", "tags"), [("last", ()), (" ", ()), (None, ("a", ""))])
def test_a_label_that_says_nothing_is_refused(name: str | None, tags: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"of a run: found .*; expected a (name|tag)"):
        RunLabel.of(name, tags)
