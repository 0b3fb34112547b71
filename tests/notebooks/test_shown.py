"""Answers, runs, explanations and pipelines in notebooks."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from nestmap import Explanation, Exploration, conv2d, explain, linear, recorded_problem
from nestmap.model import Frozen, NetworkProblem, Objective, SpatialProblem, Workload
from nestmap.pipeline import MainStage, Stage, each, stage
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.api import FrontExploration, explore_front, explore_network
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.notebook.markup import MOST_ROWS
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    MinimalEnergyStage,
    SpatialMappingGeneratorStage,
    SumStage,
    WorkloadStage,
)
from nestmap.store import Store
from tests.loma import with_loma
from tests.notebooks.shown import html_of, page_of, tables_of, text_of
from tests.pipeline.render.text.read_explanation import figure

PLAN = SearchPlan.of(with_loma(lpf_limit=3))


@cache
def problem() -> NetworkProblem:
    """A small network."""
    conv, fc = conv2d("conv", (1, 16, 14, 14), (32, 16, 3, 3)), linear("<b>fc</b>", (1, 64), 32)
    return NetworkProblem(
        workload=Workload.of(conv, fc, name="net"), accelerator=read_accelerator("tpu_like")
    )


@cache
def explored() -> Exploration:
    """What it costs."""
    return explore_network(problem(), PLAN)


@cache
def explained() -> Explanation:
    """Why its second layer costs that."""
    found = explored().layers[1].cme
    return explain(recorded_problem(problem(), found), found)


@pytest.fixture(scope="module", name="store")
def _store() -> Iterator[Store]:
    with Store.open(None) as store:
        explore_network(problem(), PLAN, store=store)
        yield store


def test_an_exploration() -> None:
    found = explored()
    (shown,) = tables_of(found)
    assert shown.caption == "net on tpu_like, best latency"
    assert shown.column("Layer") == ("conv", "<b>fc</b>")
    total = dict(zip(shown.columns, shown.total, strict=True))
    assert figure(total["Energy"]).tells(found.energy * 1e-12)
    assert figure(total["Latency cycles"]).tells(found.latency)
    assert str(found.run) not in html_of(found)  # the same notebook, the same output


def test_an_exploration_of_fronts() -> None:
    found: FrontExploration = explore_front(problem(), PLAN)
    (shown,) = tables_of(found)
    assert shown.caption == "net on tpu_like, energy against latency"
    assert len(shown.rows) == sum(len(layer.cmes) for layer in found.front.layers)
    best = found.front.best(Objective.ENERGY).layers[0].cme
    assert figure(shown.row("conv")["Energy"]).tells(best.energy * 1e-12)


def test_an_explanation_has_all_of_its_text() -> None:
    found = explained()
    page = page_of(found)
    titles = ["".join(title.itertext()) for title in page.iter("summary")]
    text = found.text()
    assert titles == [x for x in text.splitlines() if x.isupper() and "  " not in x]
    assert "".join(text_of(found).split()) == "".join(text.split())
    assert all(part.get("open") for part in page.iter("details"))


def test_the_rows_of_an_answer(store: Store) -> None:
    found = store.query('SELECT layer, energy, latency AS "<i>" FROM best ORDER BY ALL')
    (shown,) = tables_of(found)
    assert shown.columns == ("layer", "energy", "<i>")
    assert shown.caption == "2 rows"
    for row, cells in zip(found.rows(), shown.rows, strict=True):
        assert cells[0] == row["layer"]
        assert float(cells[1]) == pytest.approx(row["energy"])
    assert "text-align:right" in html_of(found)


@pytest.mark.parametrize("rows", [0, 1, MOST_ROWS, MOST_ROWS + 1, 10_000])
def test_large_answers_are_cut_and_say_so(store: Store, rows: int) -> None:
    found = store.query(f"SELECT i, '<' || i AS text, NULL AS nothing FROM range({rows}) AS t(i)")
    (shown,) = tables_of(found)
    assert shown.column("i") == tuple(str(i) for i in range(min(rows, MOST_ROWS)))
    assert shown.caption.startswith(f"{rows:,} row")
    assert (f"the first {MOST_ROWS} are shown" in shown.caption) is (rows > MOST_ROWS)
    assert set(shown.column("nothing")) <= {""}
    assert len(html_of(found)) < 50_000


def test_answers_of_any_kind(store: Store) -> None:
    found = store.query(
        "SELECT [1, 2] AS list, {'a': 1} AS struct, chr(8238) || repeat('x', 999) AS long, "
        "1 AS list"
    )
    (shown,) = tables_of(found)
    assert shown.columns == ("list", "struct", "long", "list_2")
    (row,) = shown.rows
    assert row[:2] == ("[1, 2]", "1")
    assert row[2].startswith("\\u202exxx")
    assert len(row[2]) <= 80


def test_a_run(store: Store) -> None:
    record = store.run(store.find_run("last"))
    (shown,) = tables_of(record)
    said = {row[0]: row[1] for row in shown.rows}
    assert str(record.id) in shown.caption
    assert set(said) == {name.replace("_", " ") for name in type(record).model_fields}
    assert said["started"] == f"{record.started:%Y-%m-%d %H:%M:%S} UTC"
    assert (said["workload"], said["status"], said["reason"]) == ("net", "done", "-")


class Wide(Frozen, Stage[Iterable[SpatialProblem], Iterator[SpatialProblem]], frozen=True):
    """A stage of a user's."""

    note: str = "<script>"
    words: tuple[int, ...] = ()
    nothing: str | None = None

    def __call__(self, problems: Iterable[SpatialProblem], /) -> Iterator[SpatialProblem]:
        yield from problems


@stage
def kept(problems: Iterable[SpatialProblem]) -> Iterator[SpatialProblem]:
    """All of them."""
    yield from problems


def test_a_pipeline_shows_its_stages_in_order() -> None:
    best = MinimalEnergyStage()
    search = LomaStage(lpf_limit=4) >> each(CostModelStage()) >> best
    layer = SpatialMappingGeneratorStage() >> kept >> Wide() >> each(search) >> best
    pipeline = WorkloadStage() >> each(layer) >> SumStage()
    names = [x.text for x in page_of(pipeline).iter("code")]
    assert names == [
        *("WorkloadStage", "each", "SpatialMappingGeneratorStage", "kept", "Wide", "each"),
        *("LomaStage", "each", "CostModelStage", "MinimalEnergyStage", "MinimalEnergyStage"),
        "SumStage",
    ]
    assert "lpf_limit 4" in text_of(pipeline)
    assert "Wide note <script>, words []" in text_of(pipeline)
    assert len(page_of(pipeline).findall("div/ol/li")) == len(describe(pipeline))
    assert html_of(MainStage(pipeline)) == html_of(pipeline)


def test_every_stage_shows_itself() -> None:
    assert "CostModelStage" in text_of(exploration_pipeline(PLAN))
    assert text_of(Wide(words=tuple(range(1000)))).endswith("...")
    assert text_of(kept) == "kept"


def test_the_store_and_the_model_are_light_to_import() -> None:
    heavy = ("numba", "rich", "IPython", "jinja2", "nestmap.pipeline", "nestmap.search")
    code = f"import sys, nestmap.store; print([x for x in {heavy} if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
