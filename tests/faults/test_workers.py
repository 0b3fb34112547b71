"""Workers that break in the middle: the error is told, what was found before is kept."""

import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    MappingBatch,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Recording,
    Workload,
)
from nestmap.pipeline import Stage, each, stage
from nestmap.pipeline.explore.recording import record_run
from nestmap.pipeline.explore.run import ExplorationRun, Job
from nestmap.pipeline.stages import (
    LomaStage,
    MinimalLatencyStage,
    RecallStage,
    SpatialMappingConversionStage,
    SumStage,
    WorkloadStage,
)
from nestmap.pipeline.stages.mapping.recall import Ledger
from nestmap.search import loma
from nestmap.search.temporal.loma import CHUNK as ORDERS_A_BATCH
from nestmap.store import ROW_GROUP, RunStatus, Store
from tests.costmodel.machines import machine, matmul, memory
from tests.faults.forks import Forks
from tests.loma import LOMA_PLAN

# 40,320 orders in five batches, all of which fit
NETWORK = NetworkProblem(
    workload=Workload.of(matmul(k=30, c=42, b=10), name="net"),
    accelerator=machine(memory("register", size=64, operands="I2"), memory("top")),
)
BROKEN = 2


@stage
def numbered(batches: Iterable[MappingBatch]) -> Iterator[tuple[int, MappingBatch]]:
    return enumerate(batches)


def pipeline(ledger: Ledger, error: BaseException) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main job on two workers; the one that gets the third batch raises the error."""

    @stage
    def cost(item: tuple[int, MappingBatch]) -> EvaluationBatch:
        number, batch = item
        if number == BROKEN:
            raise error
        return evaluate_batch(batch)

    search = LomaStage(lpf_limit=None, workers=2) >> numbered >> each(cost, workers=2)
    layer = SpatialMappingConversionStage() >> RecallStage(search, ledger) >> MinimalLatencyStage()
    return WorkloadStage() >> each(layer) >> SumStage()


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (RuntimeError("kernel broken"), RunStatus.FAILED, "kernel broken"),
        (MemoryError(), RunStatus.FAILED, "MemoryError"),
        (OSError("no such device"), RunStatus.FAILED, "no such device"),
        (KeyboardInterrupt(), RunStatus.INTERRUPTED, "KeyboardInterrupt"),
    ],
)
def test_a_worker_that_breaks_loses_nothing_that_was_found(
    error: BaseException, status: RunStatus, reason: str, tmp_path: Path
) -> None:
    file, before = tmp_path / "store.duckdb", set(threading.enumerate())
    with (
        pytest.raises(type(error)) as caught,
        record_run(Job(NETWORK, LOMA_PLAN), file, Recording()) as run,
    ):
        pipeline(ledger_of(run), error)(NETWORK)
    assert caught.value is error
    with Store.open_read_only(file) as store:
        (record,) = store.runs()
        assert (record.status, record.reason) == (status, reason)
        (found,) = store.evaluations(record.id, "layer")
        assert len(store.query("SELECT * FROM best")) == 0
    # what came before the batch that broke is all there, in order
    (problem,) = WorkloadStage()(NETWORK)
    batches = loma(SpatialMappingConversionStage()(problem), None, MappingType.UNEVEN)
    expected = [evaluate_batch(batch) for batch in batches][:BROKEN]
    assert len(found) == BROKEN * ORDERS_A_BATCH
    energies = np.concatenate([batch.energy for batch in expected])
    np.testing.assert_array_equal(found.energy, energies)
    caught.value.__traceback__ = None  # what it refers to waits for threads
    assert {x for x in threading.enumerate() if x.is_alive()} <= before


def ledger_of(run: ExplorationRun) -> Ledger:
    assert run.ledger is not None
    return run.ledger


# From within a run: the cost model has no room any more after some batches.
BREAK = """
from nestmap.pipeline.stages.mapping import loma as explore
evaluate, seen = explore.evaluate_batch, []
def broken(batch):
    seen.append(len(batch))
    if sum(seen) > 100_000:
        raise {error}
    return evaluate(batch)
explore.evaluate_batch = broken
"""

SHOWN = 2 * ROW_GROUP
IN_HAND = 8 * ORDERS_A_BATCH
"""What two workers may have evaluated and not handed on."""

# From within a run: nobody can stop this, when more than a chunk of the store has been shown.
KILL = f"""
import os, signal
from nestmap.pipeline.cli.progress import ExplorationBar
seen = []
def observe(bar, batch):
    if sum(seen) > {SHOWN}:
        os.kill(os.getpid(), signal.SIGKILL)
    seen.append(len(batch))
ExplorationBar.observe = observe
"""

EXPLORE = (
    *("explore", "light:alexnet", "-a", "tpu_like", "--search", "loma"),
    *("--lpf-limit", "8", "--workers", "2"),
)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        ("ArithmeticError('too much')", 1, "ArithmeticError: too much"),
        (
            "MemoryError('too much')",
            2,
            "error: memory: found none left; expected more: raise the limits of this "
            "process (ulimit -v, ulimit -u), or free memory",
        ),
        ("OSError(28, 'No space left on device')", 2, "error: [Errno 28] No space left on device"),
    ],
)
def test_a_command_whose_worker_breaks_keeps_what_it_found(
    forks: Forks, error: str, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = forks.run(*EXPLORE, "--json", "out.json", setup=BREAK.format(error=error))
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err.splitlines()
    assert [path.name for path in tmp_path.iterdir()] == ["nestmap.duckdb"]
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (run,) = store.runs()
        assert run.status is RunStatus.FAILED
        (row,) = store.query("SELECT count(*) AS n FROM evaluations").rows()
        # all but what two workers had in hand
        assert 100_000 - IN_HAND < cast("int", row["n"]) <= 100_000


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_a_command_that_is_killed_keeps_the_chunks_before(
    forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    explore = (*EXPLORE, "--lpf-limit", "9")
    ended = forks.run(*explore, setup=KILL)
    assert (ended.code, ended.out) == (-signal.SIGKILL, "")
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        assert [run.status for run in store.runs()] == [RunStatus.RUNNING]
    with Store.open(Path("nestmap.duckdb")) as store:
        (run,) = store.runs()
        assert run.status is RunStatus.INTERRUPTED
        layers = [str(x["layer"]) for x in store.query("SELECT DISTINCT layer FROM searches")]
        found = [batch for layer in layers for batch in store.evaluations(run.id, layer)]
        # a commit may come early on a slow machine, and then a chunk has to fill anew
        assert sum(map(len, found)) >= SHOWN - ROW_GROUP - IN_HAND > 0
    again = forks.run(*explore)
    assert again.code == 0
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        assert [run.status for run in store.runs()] == [RunStatus.INTERRUPTED, RunStatus.DONE]
