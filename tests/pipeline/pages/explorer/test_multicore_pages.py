"""Pages of the explorer about runs on several cores."""

from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.multicore.api import stream_problem
from nestmap.pipeline.pages.explorer.render import run_address
from nestmap.store import Store
from tests.pipeline.multicore.streams import PLAN, job
from tests.pipeline.pages.explorer.visits import compare_address, visiting
from tests.pipeline.pages.report.dom import captioned
from tests.pipeline.pages.report.samples import PROBLEMS, SHORT


class Streams(NamedTuple):
    """A store with two runs on several cores, and one on one core."""

    path: Path
    one: UUID
    other: UUID
    alone: UUID


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Streams:
    path = tmp_path_factory.mktemp("streams") / "runs.duckdb"
    layers = copy_with(PLAN, {"split": None})
    with Store.open(path) as store:
        one, other = (stream_problem(job(plan), store=store).run for plan in (layers, PLAN))
        alone = explore_network(PROBLEMS["imc"], SHORT, store=store).run
    return Streams(path, one, other, alone)


def test_a_run_on_several_cores_has_a_page(streams: Streams) -> None:
    with visiting(streams.path) as visitor:
        found = visitor.get(run_address(streams.one))
    assert found.status == 200
    assert "net on star" in found.page.one("h1").text


def test_runs_on_several_cores_are_compared(streams: Streams) -> None:
    with visiting(streams.path) as visitor:
        found = visitor.get(compare_address(streams.one, streams.other))
    totals = captioned(found.page, "Totals")
    links = [cell.one("a").attributes["href"] for cell in totals.column("Schedule")]
    assert links == [run_address(streams.one), run_address(streams.other)]


def test_runs_on_one_core_and_on_several_are_not(streams: Streams) -> None:
    with visiting(streams.path) as visitor:
        found = visitor.get(compare_address(streams.one, streams.alone))
    assert found.status == 400
    assert "expected one on several cores, as the first" in found.told
