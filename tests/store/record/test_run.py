"""Runs: what is recorded is read back, in whatever pieces it came."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    EvaluationBatch,
    Infeasibility,
    NetworkEvaluation,
    Recording,
    RecordMode,
    SearchStatistics,
    StoreError,
    front_rows,
)
from nestmap.model.base import copy_with
from nestmap.store import ROW_GROUP, Run, RunStatus, Store
from nestmap.store.record.run import CommitPolicy
from tests.store.builders import (
    FACTORS,
    NASTY,
    accelerator,
    batch,
    batches,
    info,
    layer,
    network,
    record,
    result,
    results,
    rows_of,
    search_info,
    spatial_problem,
    vector_entry,
    with_vector,
)
from tests.sweeps import some_of

PROBLEM = spatial_problem(layer(), accelerator())
NETWORK = network(layer("one"), layer("two", 24))


def count(store: Store, table: str) -> int:
    (row,) = store.query(f"SELECT count(*) AS n FROM {table}")
    return cast("int", row["n"])


@settings(max_examples=some_of(25), deadline=None)
@given(st.lists(batches(), max_size=5))
def test_recorded_evaluations_are_read_back_equal(recorded: list[EvaluationBatch]) -> None:
    with Store.open(None) as store, store.start_run(info()) as run:
        record(run, *recorded)
        run.finish(result(network()))
        back = store.evaluations(run.id, "fc")
    assert _by_problem(back) == _by_problem(recorded)


def _by_problem(parts: Sequence[EvaluationBatch]) -> object:
    """What the parts hold together, of each problem."""
    return {
        problem: _joined([x for x in parts if x.mappings.problem == problem])
        for problem in {x.mappings.problem for x in parts}
    }


def _joined(parts: list[EvaluationBatch]) -> object:
    """All rows in order, what failed, how many were evaluated, and the ideal cycles."""
    rows = [rows_of(part) for part in parts]
    mappings = [mapping for row in rows for mapping in row.mappings]
    costs = [tuple(x for row in rows for x in row.costs[i]) for i in range(4)]
    failed = sum((Counter(row.infeasible) for row in rows), Counter[str]())
    evaluations = sum(part.statistics.evaluations for part in parts)
    return mappings, failed, evaluations, rows[-1].ideal_cycles, costs


@settings(max_examples=some_of(25), deadline=None)
@given(results(NETWORK))
def test_results_are_read_back_equal(given_results: NetworkEvaluation) -> None:
    with Store.open(None) as store, store.start_run(info(NETWORK)) as run:
        run.finish(given_results)
        assert store.best(run.id) == given_results


def test_chunks_are_committed_on_the_way_and_the_rest_at_the_end() -> None:
    parts = [
        batch(PROBLEM, rows, seed=rows) for rows in (ROW_GROUP - 5, 3, 3, 2 * ROW_GROUP + 7, 0, 11)
    ]
    with Store.open(None) as store, store.start_run(info()) as run:
        seen: list[int] = []
        with run.record_search(search_info(PROBLEM)) as search:
            for part in parts:
                search.record(part)
                seen.append(count(store, "evaluation_rows"))
            assert count(store, "searches WHERE evaluations IS NULL") == 1
        assert seen == [0, 0, 0, *[3 * ROW_GROUP] * 3]  # small batches wait for more
        run.finish(result(network()))
        assert count(store, "searches WHERE evaluations IS NULL") == 0
        (back,) = store.evaluations(run.id, "fc")
        for name in ("energy", "latency0", "latency1", "latency2"):
            whole = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(getattr(back, name), whole)
        for name in ("orders", "cuts"):
            whole = np.concatenate([getattr(part.mappings, name) for part in parts])
            np.testing.assert_array_equal(getattr(back.mappings, name), whole)


def test_each_layer_has_its_spatial_mappings() -> None:
    one, two = NETWORK.workload.layers
    problems = [
        spatial_problem(of, NETWORK.accelerator, unrolled)
        for of in (one, two)
        for unrolled in (1, 4)
    ]
    recorded = [batch(problems[i % 4], 5, seed=i) for i in range(12)]
    with Store.open(None) as store, store.start_run(info(NETWORK)) as run:
        record(run, *recorded)
        run.finish(result(NETWORK))
        back = store.evaluations(run.id, "one") + store.evaluations(run.id, "two")
        assert [x.mappings.problem for x in back] == problems
        for i, whole in enumerate(back):
            energies = np.concatenate([part.energy for part in recorded[i::4]])
            np.testing.assert_array_equal(whole.energy, energies)
        assert count(store, "spatial_mappings") == 3  # K 1, K 4, and K 2 of the results


def test_failures_add_up_and_stay_in_order() -> None:
    reasons = [("W does not fit", 2), ("I does not fit", 1), ("W does not fit", 3)]
    failed = [
        SearchStatistics(infeasible=(Infeasibility(reason=reason, count=n),))
        for reason, n in reasons
    ]
    with Store.open(None) as store, store.start_run(info()) as run:
        record(run, *[batch(PROBLEM, ROW_GROUP, statistics=x) for x in failed])
        run.finish(result(network()))
        (back,) = store.evaluations(run.id, "fc")
        assert [(x.reason, x.count) for x in back.statistics.infeasible] == [
            ("W does not fit", 5),
            ("I does not fit", 1),
        ]
        rows = store.query("SELECT outcome, count FROM outcomes ORDER BY count").rows()
        assert [(x["outcome"], x["count"]) for x in rows] == [
            ("I does not fit", 1),
            ("W does not fit", 5),
        ]


def test_orders_of_different_lengths_are_one_search() -> None:
    short, other = FACTORS[:2], (FACTORS[3], FACTORS[0])
    recorded = [
        batch(PROBLEM, 4),
        batch(PROBLEM, 5, short, seed=1),
        batch(PROBLEM, 6, other, seed=2),
    ]
    with Store.open(None) as store, store.start_run(info()) as run:
        record(run, *recorded)
        run.finish(result(network()))
        back = store.evaluations(run.id, "fc")
        assert [len(x) for x in back] == [4, 11]
        mappings = [x.mappings.row(i) for x in back for i in range(len(x))]
        assert mappings == [x.mappings.row(i) for x in recorded for i in range(len(x))]
        assert [x.statistics.evaluations for x in back] == [15, 0]


def recalled(run: Run) -> EvaluationBatch:
    """What the store knows of the one problem."""
    known = run.find_search(search_info(PROBLEM))
    assert known is not None
    (batch_of_all,) = known
    return batch_of_all


def test_what_is_known_is_recalled() -> None:
    recorded = batch(PROBLEM, 100)
    wanted = front_rows(recorded.energy, recorded.latency2)
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            assert run.find_search(search_info(PROBLEM)) is None
            record(run, recorded)
            mine = recalled(run)
            run.finish(result(network()))
        with store.start_run(info()) as other:
            assert other.find_search(search_info(PROBLEM, "another")) is None
            found = recalled(other)
            other.finish(result(network()))
        for back in (mine, found):
            assert rows_of(back) == rows_of(recorded.take(wanted))
            assert back.statistics == recorded.statistics
        assert count(store, "evaluation_rows") == 100
        assert len(store.evaluations(other.id, "fc")[0]) == 100
        linked = store.query("SELECT recalled FROM run_searches WHERE run = ?", (other.id,))
        assert [row["recalled"] for row in linked] == [True]


@pytest.mark.parametrize(
    ("recording", "rows"),
    [
        (Recording(), 100),
        (Recording(record=RecordMode.BEST), None),
        (Recording(record=RecordMode.NONE), 0),
        (Recording(limit=30), 30),
        (Recording(limit=100), 100),
        (Recording(limit=101), 100),
    ],
)
def test_as_much_is_recorded_as_is_asked_for(recording: Recording, rows: int | None) -> None:
    recorded = [batch(PROBLEM, 50, seed=seed) for seed in (1, 2)]
    energy = np.concatenate([x.energy for x in recorded])
    best = front_rows(energy, np.concatenate([x.latency2 for x in recorded]))
    with Store.open(None) as store:
        asked = copy_with(info(), {"recording": recording})
        with store.start_run(asked) as run:
            record(run, *recorded)
            run.finish(result(network()))
        numbers = [
            row["number"]
            for row in store.query("SELECT number FROM evaluation_rows ORDER BY number")
        ]
        first = set(range(rows or 0))
        more = set(best.tolist()) if recording.record is not RecordMode.NONE else set[int]()
        assert numbers == sorted(first | more)
        front = recalled(store.start_run(asked))
        np.testing.assert_array_equal(front.energy, energy[best])
        assert front.statistics.evaluations == 100
        needs_all = store.start_run(info()).find_search(search_info(PROBLEM))
        assert (needs_all is None) == (len(numbers) < 100)


def test_a_fresh_run_recalls_nothing_and_keeps_what_others_found() -> None:
    with Store.open(None) as store:
        for fresh in (False, True, True):
            asked = copy_with(info(), {"recording": Recording(fresh=fresh)})
            with store.start_run(asked) as run:
                assert run.find_search(search_info(PROBLEM)) is None
                record(run, batch(PROBLEM, 10))
                run.finish(result(network()))
        assert count(store, "evaluation_rows") == 30
        assert {len(store.evaluations(x.id, "fc")[0]) for x in store.runs()} == {10}


def test_a_search_that_ends_with_an_error_is_not_complete() -> None:
    with Store.open(None) as store:
        run = store.start_run(info())
        with pytest.raises(KeyError):
            break_off(run, batch(PROBLEM, 10))
        run.fail("broken")
        assert count(store, "evaluations") == 10
        assert store.start_run(info()).find_search(search_info(PROBLEM)) is None


def break_off(run: Run, recorded: EvaluationBatch) -> None:
    """A search that ends with an error."""
    with run.record_search(search_info(recorded.mappings.problem)) as search:
        search.record(recorded)
        raise KeyError


def test_an_interrupted_run_goes_on_where_it_was() -> None:
    parts = [batch(PROBLEM, 10, seed=seed) for seed in (1, 2)]
    other = spatial_problem(layer(), accelerator(), 4)
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            record(run, batch(other, 5))
            with pytest.raises(KeyError):
                break_off(run, parts[0])
            run.fail("broken")
        with pytest.raises(StoreError, match=r"is still running it"):
            store.resume_run(store.start_run(info()).id)
        with store.resume_run(run.id) as again:
            assert again.find_search(search_info(PROBLEM)) is None
            assert again.find_search(search_info(other)) is not None
            with again.record_search(search_info(PROBLEM)) as search:
                for part in parts:
                    search.record(part)
            again.finish(result(network()))
        back = {x.mappings.problem: x for x in store.evaluations(run.id, "fc")}
        assert [len(back[x]) for x in (other, PROBLEM)] == [5, 20]
        np.testing.assert_array_equal(
            back[PROBLEM].energy, np.concatenate([x.energy for x in parts])
        )
        record_of = store.run(run.id)
        assert (record_of.status, record_of.resumed) == (RunStatus.DONE, 1)
        with pytest.raises(StoreError, match=r"it is done; expected one that was interrupted"):
            store.resume_run(run.id)


@pytest.mark.parametrize(("first", "commits"), [(0, 1), (5, 1), (5, 2)])
def test_the_best_of_a_search_are_there_once_if_it_was_killed_between_their_commits(
    monkeypatch: pytest.MonkeyPatch, first: int, commits: int
) -> None:
    monkeypatch.setattr("nestmap.store.record.run.ROW_GROUP", 4)
    rows = np.arange(41.0)
    energy = np.where(rows % 2, 100, 41 - rows)  # every other one is in the front
    given = replace(batch(PROBLEM, 41, seed=3), energy=energy, latency2=rows)
    recording = Recording(limit=first) if first else Recording(record=RecordMode.BEST)
    kept = [x for x in rows if x < first or x % 2 == 0]
    with Store.open(None) as store:
        run = store.start_run(copy_with(info(), {"recording": recording}))
        with monkeypatch.context() as patch:
            kill_after(patch, commits)
            with pytest.raises(KilledError), run:
                record(run, given)
        assert count(store, "evaluation_rows") in range(1, len(kept))
        with store.resume_run(run.id) as again:
            record(again, given)
            again.finish(result(network()))
        (back,) = store.evaluations(run.id, "fc")
        np.testing.assert_array_equal(back.latency2, kept)


class KilledError(Exception):
    """The process has ended."""


def kill_after(patch: pytest.MonkeyPatch, commits: int) -> None:
    """From that commit on, nothing is written any more, and then the next thing fails."""
    restart, left = CommitPolicy.restart, commits

    def count_down(policy: CommitPolicy) -> None:
        nonlocal left
        restart(policy)
        left -= 1
        if not left:
            raise KilledError

    def write_nothing(run: Run, connection: object) -> None:
        """The process is gone."""

    patch.setattr(CommitPolicy, "restart", count_down)
    patch.setattr(Run, "_write_rest", write_nothing)


def test_equal_content_is_one_row() -> None:
    same = network(layer("a"), layer("b"), layer("c", 24))
    with Store.open(None) as store:
        for _ in range(3):
            with store.start_run(info(same)) as run:
                run.finish(result(same))
        counts = {
            table: count(store, table)
            for table in ("runs", "workloads", "layers", "workload_layers", "accelerators")
        }
    assert counts == {
        "runs": 3,
        "workloads": 1,
        "layers": 2,
        "workload_layers": 3,
        "accelerators": 1,
    }


def test_a_finished_run_is_done() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            (record,) = store.runs()
            assert (record.status, record.ended, record.id) == (RunStatus.RUNNING, None, run.id)
            run.finish(result(network()))
        (record,) = store.runs()
        assert (record.status, record.reason) == (RunStatus.DONE, None)
        assert record.ended is not None
        assert record.ended >= record.started
        assert (record.workload, record.accelerator) == ("net", "machine")


@pytest.mark.parametrize(
    ("kind", "text", "status", "reason"),
    [
        (ValueError, "no mapping fits", RunStatus.FAILED, "no mapping fits"),
        (RuntimeError, "", RunStatus.FAILED, "RuntimeError"),
        (KeyboardInterrupt, "", RunStatus.INTERRUPTED, "KeyboardInterrupt"),
    ],
)
def test_leaving_with_an_exception_ends_the_run_and_keeps_what_it_recorded(
    kind: type[BaseException], text: str, status: RunStatus, reason: str
) -> None:
    with Store.open(None) as store:
        run = store.start_run(info())
        with pytest.raises(kind):
            record_and_raise(run, kind(text))
        (record,) = store.runs()
        assert (record.status, record.reason) == (status, reason)
        assert len(store.evaluations(run.id, "fc")[0]) == 7
        assert count(store, "best") == 0


def record_and_raise(run: Run, error: BaseException) -> None:
    with run:
        record(run, batch(PROBLEM, 7))
        raise error


def test_leaving_without_results_interrupts_the_run() -> None:
    with Store.open(None) as store:
        with store.start_run(info()):
            pass
        assert store.runs()[0].status is RunStatus.INTERRUPTED


def test_a_run_can_be_failed_with_a_reason() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            record(run, batch(PROBLEM, 7))
            run.fail('it\'s "broken"; really')
        assert store.runs()[0].reason == 'it\'s "broken"; really'
        assert count(store, "evaluation_rows") == 7


def test_a_run_that_has_ended_takes_nothing_more() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            run.finish(result(network()))
        with pytest.raises(ValueError, match="is done; expected a run that is running"):
            record(run, batch(PROBLEM, 1))
        with pytest.raises(ValueError, match="is done"):
            run.fail("too late")
        assert store.runs()[0].status is RunStatus.DONE


def test_strange_layers_and_accelerators_are_refused() -> None:
    with Store.open(None) as store, store.start_run(info()) as run:
        with pytest.raises(ValueError, match="layer fc is not in the workload"):
            record(run, batch(spatial_problem(layer(size=24), accelerator()), 1))
        with pytest.raises(ValueError, match="other is not the accelerator"):
            record(run, batch(spatial_problem(layer(), accelerator("other")), 1))


def test_a_run_without_results_says_so() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            run.fail("broken")
        with pytest.raises(StoreError, match="found no results, it is failed; expected a run that"):
            store.best(run.id)
        with pytest.raises(StoreError, match="not in this store"):
            store.best(uuid4())
        with pytest.raises(StoreError, match="not in this store"):
            store.evaluations(uuid4(), "fc")
        with pytest.raises(StoreError, match="found no layer 'conv'; expected one of fc"):
            store.evaluations(run.id, "conv")


def test_many_vector_operators_of_any_size_are_read_back() -> None:
    entries = [vector_entry(f"n{i}", 2 ** (i % 54), i / 7) for i in range(3000)]
    given_results = with_vector(result(network()), *entries, vector_entry(NASTY))
    with Store.open(None) as store, store.start_run(info()) as run:
        run.finish(given_results)
        assert store.best(run.id) == given_results
