"""Runs that are not done: what they have found so far, said to be no result."""

from uuid import UUID

import pytest

from nestmap.model import EvaluationBatch, InputError, NetworkProblem, StoreError
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.pages.report.page import report
from nestmap.pipeline.pages.report.provenance import unfinished
from nestmap.pipeline.pages.report.run import read_reported
from nestmap.store import RunStatus, Store
from tests.pipeline.pages.report.dom import grid, read
from tests.pipeline.pages.report.samples import PROBLEMS, SHORT, page


class Stop:
    """Stops an exploration when it has seen something of a layer."""

    def __init__(self, layer: str, error: BaseException) -> None:
        self.layer, self.error = layer, error

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        if batch.mappings.problem.layer.name == self.layer:
            raise self.error

    def recall(self, batch: EvaluationBatch) -> None:
        """Nothing to note."""


def stopped(store: Store, layer: str, error: BaseException) -> UUID:
    """A run that came to a layer, and no further."""
    with pytest.raises(type(error)):
        explore_network(PROBLEMS["blocks"], SHORT, store=store, progress=Stop(layer, error))
    return store.find_run("last")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), RunStatus.INTERRUPTED, "was interrupted"),
        (RuntimeError("<b>boom</b>"), RunStatus.FAILED, "has failed"),
    ],
)
def test_what_was_recorded_is_shown(error: BaseException, status: RunStatus, words: str) -> None:
    with Store.open(None) as store:
        run = stopped(store, "second0", error)
        found, tree = read_reported(store, run), read(report(store, [run]))
        best = store.pareto(run).best(found.record.objective)
    assert found.record.status is status
    assert not found.complete
    assert found.evaluation == best
    (warning,) = tree.with_class("warning")
    assert warning.text == f"Not done. {unfinished(found)}"
    assert words in warning.text
    names = [result.cme.layer for result in best.layers]
    assert f"of {len(names)} of 6 layers" in warning.text
    table = grid(tree.by_id(f"{found.anchor}-table"))
    assert table.texts("Layer") == names
    assert f"nestmap resume {run}" in tree.by_id(f"{found.anchor}-facts").text


def test_nothing_was_recorded() -> None:
    with Store.open(None) as store:
        run = stopped(store, "first0", RuntimeError("boom"))
        with pytest.raises(InputError, match="it is failed, and has recorded no evaluation"):
            report(store, [run])


def test_no_such_run() -> None:
    with Store.open(None) as store, pytest.raises(StoreError, match="not in this store"):
        report(store, [UUID(int=5)])


def test_a_run_that_is_done_is_not_warned_of() -> None:
    found = page("blocks")
    assert unfinished(found.run) == ""
    assert not list(found.tree.with_class("warning"))
