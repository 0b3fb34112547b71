"""Runs side by side: totals, differences, and every layer."""

from functools import cache

from nestmap.model import Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.pages.report.comparison import run_names
from nestmap.pipeline.pages.report.page import report
from nestmap.pipeline.pages.report.run import ReportedRun, read_reported
from nestmap.store import Store
from tests.pipeline.networks import FIRST, MACHINE, SECOND
from tests.pipeline.pages.report.dom import Element, captioned, grid, read
from tests.pipeline.pages.report.samples import SHORT, leaking, on

BOTH = Workload.of(FIRST, SECOND, name="net")
ONE = Workload.of(FIRST, name="net")


@cache
def compared() -> tuple[list[ReportedRun], Element]:
    """Three runs: one machine, another one with another objective, a part of the network."""
    energy = SearchPlan.of(
        SearchOptions(search="loma", lpf_limit=3, spatial_mappings=2, workers=1, objective="energy")
    )
    other = copy_with(leaking(), {"name": "leaking"})
    with Store.open(None) as store:
        runs = [
            explore_network(on(MACHINE, BOTH), SHORT, store=store).run,
            explore_network(on(other, BOTH), energy, store=store).run,
            explore_network(on(MACHINE, ONE), SHORT, store=store).run,
        ]
        tree = read(report(store, runs))
        return [read_reported(store, run) for run in runs], tree


def test_three_runs() -> None:
    runs, tree = compared()
    names = run_names(runs)
    assert len(set(names)) == 3
    totals = captioned(tree, "Totals")
    assert totals.texts("Run") == list(names)
    first = runs[0].evaluation
    assert totals.values("Energy") == [run.evaluation.energy for run in runs]
    assert totals.values("Latency cycles") == [run.evaluation.latency for run in runs]
    changes = [run.evaluation.energy / first.energy - 1 for run in runs]
    assert totals.values("Change") == [0.0, *changes[1:]]
    layers = grid(tree.by_id("comparison-table"))
    assert layers.texts("Layer") == ["first", "second"]
    for run, name in zip(runs, names, strict=True):
        cells = layers.column(f"Energy {name}")
        for cell, layer in zip(cells, ("first", "second"), strict=True):
            if layer in run.results:
                assert cell.value == run.results[layer].cme.energy
            else:
                assert cell.text == "\u2013"
                assert "data-value" not in cell.attributes
    assert layers.texts("Mapping")[1] == "not in all runs"


def test_what_was_different() -> None:
    _, tree = compared()
    sentences = [x.text for x in tree.by_id("comparison").every("li")]
    assert len(sentences) == 2
    assert "objective energy instead of latency" in sentences[0]
    assert "other energies, areas or names" in sentences[0]
    assert "another workload" in sentences[1]


def test_each_run_is_a_pane_with_its_own_places() -> None:
    runs, tree = compared()
    (views,) = tree.with_class("views")
    panes = [x for x in views.inside if isinstance(x, Element)]
    assert ["pane" in x.classes() for x in panes] == [True] * 4
    assert [next(x.every("article")).attributes["id"] for x in panes] == [
        "comparison",
        *(run.anchor for run in runs),
    ]
    ids = [x.attributes["id"] for x in tree.every() if "id" in x.attributes]
    assert len(set(ids)) == len(ids)


def test_names_of_runs() -> None:
    runs, _ = compared()
    assert run_names(runs[:2]) == ("machine", "leaking")
    both = run_names([runs[0], runs[2]])
    assert both == tuple(f"machine {str(run.id)[:8]}" for run in (runs[0], runs[2]))
