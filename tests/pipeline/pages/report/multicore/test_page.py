"""Pages of schedules: the figures are those of the schedule, names are text, links lead there."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from nestmap.model import InputError
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.multicore.api import stream_problem
from nestmap.pipeline.pages.report.multicore.page import stream_report
from nestmap.pipeline.pages.report.multicore.reported_run import read_stream
from nestmap.pipeline.pages.report.page import report
from nestmap.pipeline.render.tables.schedule import MOST_NODES, nodes_table
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.store import Store
from tests.pipeline.multicore.streams import Watched, job
from tests.pipeline.pages.report.dom import Element, captioned, grid, read
from tests.pipeline.pages.report.multicore.streams import (
    NAMES,
    compared_page,
    fitness,
    hostile,
    hostile_page,
    large,
    page,
    reported,
)
from tests.pipeline.pages.report.samples import PROBLEMS, SHORT
from tests.pipeline.render.schedules import pipelined, streamed

LARGEST = 5_000_000
"""Letters of a page."""

PAGES = {"one": page, "hostile": hostile_page, "compared": compared_page}


def addresses(tree: Element) -> list[str]:
    """What the elements of a page refer to."""
    names = ("src", "href", "srcset", "action", "data", "formaction")
    return [x.attributes[name] for x in tree.every() for name in names if name in x.attributes]


@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_fetched_and_links_lead_to_places_that_are_there_once(kind: str) -> None:
    tree = PAGES[kind]()
    assert all(x.startswith("#") or x == "data:," for x in addresses(tree))
    ids = [x.attributes["id"] for x in tree.every() if "id" in x.attributes]
    assert len(set(ids)) == len(ids)
    targets = {x[1:] for x in addresses(tree) if x.startswith("#")}
    labels = [x.attributes.get("aria-labelledby", "") for x in tree.every()]
    targets |= {name for label in labels for name in label.split()}
    assert targets <= set(ids)


@pytest.mark.parametrize("kind", PAGES)
def test_headings_are_in_order_and_tables_are_tables(kind: str) -> None:
    tree = PAGES[kind]()
    levels = [int(x.tag[1]) for x in tree.every() if re.fullmatch("h[1-6]", x.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in tree.every("table"):
        assert table.one("caption").text
        assert all(x.attributes["scope"] in ("col", "row") for x in table.every("th"))


def test_names_are_never_markup() -> None:
    plain, found = page(), hostile_page()
    assert {x.tag for x in found.every()} <= {x.tag for x in plain.every()}
    assert not any(name.startswith("on") for x in found.every() for name in x.attributes)
    table = grid(found.by_id("run-1-table"))
    assert table.texts("Layer") == [" ".join(printable(name).split()) for name in NAMES]


def test_key_figures_are_those_of_the_schedule() -> None:
    schedule, costs = streamed(), fitness(streamed())
    figures = {
        one.text: other.one("b").value
        for one, other in zip(page().every("dt"), page().every("dd"), strict=True)
        if list(other.every("b"))
    }
    assert figures["Latency"] == schedule.latency
    assert figures["Energy"] == schedule.energy.total
    assert figures["EDP"] == costs.edp
    assert figures["Memory"] == costs.memory
    assert figures["Nodes"] == len(schedule.core)
    assert figures["Transfers"] == len(schedule.transfers)
    assert figures["Busy"] == pytest.approx(6 * 10 / (2 * schedule.latency))


def test_parts_of_energy_and_time_add_up() -> None:
    schedule, tree = streamed(), page()
    energies = captioned(tree, "Energy by purpose")
    assert sum(energies.values("Energy")) == pytest.approx(schedule.energy.total)
    cycles = captioned(tree, "Cycles of all cores")
    assert sum(cycles.values("Cycles")) == 2 * schedule.latency


def test_layers_and_nodes_are_those_of_the_schedule() -> None:
    schedule, tree = hostile(), hostile_page()
    layers = grid(tree.by_id("run-1-table"))
    first = schedule.problem.nodes.first_nodes
    assert layers.values("Nodes") == np.diff(first).tolist()
    assert layers.values("Start cycles") == np.minimum.reduceat(schedule.start, first[:-1]).tolist()
    assert layers.values("End cycles") == np.maximum.reduceat(schedule.end, first[:-1]).tolist()
    assert sum(layers.values("Energy")) == pytest.approx(schedule.energy.computation)
    assert layers.texts("Cores") == ["0", "1", "2", "0", "1"]
    nodes = captioned(tree, "Nodes as they start")
    order = np.argsort(schedule.start, kind="stable")
    assert nodes.values("Start cycles") == schedule.start[order].tolist()
    assert nodes.values("Core") == schedule.core[order].tolist()


def test_the_machine_has_all_parts_and_how_much_they_are_used() -> None:
    schedule, tree = streamed(), page()
    cores = captioned(tree, "Cores of")
    assert [x.text for x in cores.column("Busy cycles")][:2] == ["30", "30"]
    memories = captioned(tree, "Outermost memories")
    assert memories.values("Peak") == list(schedule.peaks)
    wires = captioned(tree, "Links and buses of")
    assert sum(wires.values("Transfers")) == len(schedule.transfers)


def test_the_front_names_the_reported_allocation() -> None:
    table = captioned(page(), "Pareto front of allocations")
    schedule = streamed()
    (own,) = (row for row in table.rows if row[table.titles.index("Reported")].text == "yes")
    assert own[table.titles.index("Latency cycles")].value == schedule.latency
    latencies = table.values("Latency cycles")
    assert latencies == sorted(latencies)


def test_compared_schedules_change_from_the_first_one() -> None:
    tree = compared_page()
    totals = captioned(tree, "Totals")
    layers, rows = pipelined(5, 1, 3), hostile()
    assert totals.texts("Schedule") == ["layer by layer", "20 nodes"]
    assert totals.values("Latency cycles") == [layers.latency, rows.latency]
    assert totals.values("Change")[1] == pytest.approx(rows.latency / layers.latency - 1)
    article = tree.by_id("comparison")
    assert "another workload" in article.text
    charts = [x.attributes["data-chart"] for x in article.every("figure")]
    assert charts == ["schedule-1", "schedule-2", "schedule-energy", "schedule-latency"]


def test_large_schedules_make_pages_that_can_be_opened() -> None:
    text = stream_report([reported(large())])
    assert len(text) < LARGEST
    assert len(nodes_table(large()).rows) == MOST_NODES < len(large().core)


def test_a_recorded_run_is_reported(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.duckdb") as store:
        result = stream_problem(job(), store=store)
        run = read_stream(store, result.run)
        tree = read(report(store, [result.run]))
    assert run.complete
    assert (run.fitness.latency, run.fitness.energy) == (result.latency, result.energy)
    assert run.generations[-1] == result.search.generation
    assert len(run.generations) == result.search.generation.number + 1
    facts = tree.by_id(f"{run.anchor}-facts").text
    assert str(result.run) in facts
    assert result.schedule.problem.accelerator.content_hash in facts
    stages = [x.one("b").text for x in tree.by_id(f"{run.anchor}-pipeline").with_class("stage")]
    assert "InterCoreMappingStage" in stages


def test_a_run_that_is_not_done_says_so_and_shows_the_best_so_far(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.duckdb") as store:
        with pytest.raises(KeyboardInterrupt):
            stream_problem(job(), store=store, progress=Watched(until=2))
        (record,) = store.runs()
        tree = read(report(store, [record.id]))
    (warning,) = tree.with_class("warning")
    assert "This run was interrupted." in warning.text
    assert "up to generation 2" in warning.text
    assert f"nestmap resume {record.id}" in tree.text


def test_runs_of_one_core_and_of_several_are_not_compared(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.duckdb") as store:
        one = explore_network(PROBLEMS["imc"], SHORT, store=store).run
        several = stream_problem(job(), store=store).run
        with pytest.raises(InputError, match="several cores"):
            report(store, [one, several])
