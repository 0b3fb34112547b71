"""Runs: what is recorded is read back, in whatever pieces it came."""

from __future__ import annotations

from collections import Counter
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    EvaluationBatch,
    Infeasibility,
    NetworkEvaluation,
    SearchStatistics,
    StoreError,
)
from nestmap.store import CHUNK, Run, RunStatus, Store
from tests.store.builders import (
    NASTY,
    accelerator,
    batch,
    batches,
    info,
    layer,
    network,
    result,
    results,
    rows_of,
    spatial_problem,
    vector_entry,
    with_vector,
)

PROBLEM = spatial_problem(layer(), accelerator())
NETWORK = network(layer("one"), layer("two", 24))


def count(store: Store, table: str) -> int:
    return int(store.query(f"SELECT count(*) AS n FROM {table}").column("n")[0].as_py())


@settings(max_examples=25, deadline=None)
@given(st.lists(batches(), max_size=5))
def test_recorded_evaluations_are_read_back_equal(recorded: list[EvaluationBatch]) -> None:
    with Store.open(None) as store, store.start_run(info()) as run:
        for one in recorded:
            run.record(one)
        run.finish(result(network()))
        back = store.evaluations(run.id, "fc")
    assert {_key(x): _joined([x]) for x in back} == {
        key: _joined([x for x in recorded if _key(x) == key]) for key in map(_key, recorded)
    }
    assert all(x.statistics.evaluations == len(x) for x in back)


def _key(one: EvaluationBatch) -> object:
    return one.mappings.problem, one.mappings.factors


def _joined(parts: list[EvaluationBatch]) -> object:
    """What the parts hold together; ideal cycles are those of the first."""
    rows = [rows_of(part) for part in parts]
    costs = [tuple(x for row in rows for x in row.costs[i]) for i in range(4)]
    failed = sum((Counter(row.infeasible) for row in rows), Counter[str]())
    mappings = [mapping for row in rows for mapping in row.mappings]
    return rows[0].ideal_cycles, mappings, costs, failed


@settings(max_examples=25, deadline=None)
@given(results(NETWORK))
def test_results_are_read_back_equal(given_results: NetworkEvaluation) -> None:
    with Store.open(None) as store, store.start_run(info(NETWORK)) as run:
        run.finish(given_results)
        assert store.results(run.id) == given_results


def test_chunks_are_committed_on_the_way_and_the_rest_at_the_end() -> None:
    parts = [batch(PROBLEM, rows, seed=rows) for rows in (CHUNK - 5, 3, 3, 2 * CHUNK + 7, 0, 11)]
    with Store.open(None) as store, store.start_run(info()) as run:
        seen: list[int] = []
        for part in parts:
            run.record(part)
            seen.append(count(store, "evaluation_rows"))
        assert seen == [0, 0, CHUNK, 3 * CHUNK, 3 * CHUNK, 3 * CHUNK]
        run.finish(result(network()))
        (back,) = store.evaluations(run.id, "fc")
        for name in ("energy", "latency0", "latency1", "latency2"):
            whole = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(getattr(back, name), whole)
        for name in ("orders", "cuts"):
            whole = np.concatenate([getattr(part.mappings, name) for part in parts])
            np.testing.assert_array_equal(getattr(back.mappings, name), whole)


def test_layers_and_spatial_mappings_alternate() -> None:
    one, two = NETWORK.workload.layers
    problems = [
        spatial_problem(of, NETWORK.accelerator, unrolled)
        for of in (one, two)
        for unrolled in (1, 4)
    ]
    recorded = [batch(problems[i % 4], 5, seed=i) for i in range(12)]
    with Store.open(None) as store, store.start_run(info(NETWORK)) as run:
        for part in recorded:
            run.record(part)
        run.finish(result(NETWORK))
        back = store.evaluations(run.id, "one") + store.evaluations(run.id, "two")
        assert [x.mappings.problem for x in back] == problems
        for i, whole in enumerate(back):
            energies = np.concatenate([part.energy for part in recorded[i::4]])
            np.testing.assert_array_equal(whole.energy, energies)
        assert count(store, "spatial_mappings") == 3  # K 1, K 4, and K 2 of the results


def test_failures_add_up_over_chunks() -> None:
    failed = SearchStatistics(infeasible=(Infeasibility(reason="W does not fit", count=2),))
    with Store.open(None) as store, store.start_run(info()) as run:
        for _ in range(3):
            run.record(batch(PROBLEM, CHUNK, statistics=failed))
        run.record(batch(PROBLEM, 0, statistics=failed))
        run.finish(result(network()))
        rows = store.query("SELECT reason, count FROM infeasible").to_pylist()
        assert rows == [{"reason": "W does not fit", "count": 8}]


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
        run.record(batch(PROBLEM, 7))
        raise error


def test_leaving_without_results_interrupts_the_run() -> None:
    with Store.open(None) as store:
        with store.start_run(info()):
            pass
        assert store.runs()[0].status is RunStatus.INTERRUPTED


def test_a_run_can_be_failed_with_a_reason() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            run.record(batch(PROBLEM, 7))
            run.fail('it\'s "broken"; really')
        assert store.runs()[0].reason == 'it\'s "broken"; really'
        assert count(store, "evaluation_rows") == 7


def test_a_run_that_has_ended_takes_nothing_more() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            run.finish(result(network()))
        with pytest.raises(ValueError, match="is done; expected a run that is running"):
            run.record(batch(PROBLEM, 1))
        with pytest.raises(ValueError, match="is done"):
            run.fail("too late")
        assert store.runs()[0].status is RunStatus.DONE


def test_strange_layers_and_accelerators_are_refused() -> None:
    with Store.open(None) as store, store.start_run(info()) as run:
        with pytest.raises(ValueError, match="layer fc is not in the workload"):
            run.record(batch(spatial_problem(layer(size=24), accelerator()), 1))
        with pytest.raises(ValueError, match="other is not the accelerator"):
            run.record(batch(spatial_problem(layer(), accelerator("other")), 1))


def test_a_run_without_results_says_so() -> None:
    with Store.open(None) as store:
        with store.start_run(info()) as run:
            run.fail("broken")
        with pytest.raises(StoreError, match="found no results, it is failed; expected a run that"):
            store.results(run.id)
        with pytest.raises(StoreError, match="not in this store"):
            store.results(uuid4())
        with pytest.raises(StoreError, match="not in this store"):
            store.evaluations(uuid4(), "fc")
        with pytest.raises(StoreError, match="found no layer 'conv'; expected one of fc"):
            store.evaluations(run.id, "conv")


def test_many_vector_operators_of_any_size_are_read_back() -> None:
    entries = [vector_entry(f"n{i}", 2 ** (i % 54), i / 7) for i in range(3000)]
    given_results = with_vector(result(network()), *entries, vector_entry(NASTY))
    with Store.open(None) as store, store.start_run(info()) as run:
        run.finish(given_results)
        assert store.results(run.id) == given_results
