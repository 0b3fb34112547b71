"""Explorations that the store keeps: a run around the search, every evaluation in it."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final

from nestmap.model import EvaluationBatch, NetworkProblem, Objective
from nestmap.pipeline.describe import StageDescription
from nestmap.store import Run, RunInfo, Store


@final
@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes every evaluation that it sees into a run."""

    run: Run

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch that has left the cost model."""
        self.run.record(batch)


@contextmanager
def recording(
    store: Store | Path | str,
    network: NetworkProblem,
    objective: Objective,
    pipeline: tuple[StageDescription, ...],
) -> Generator[Run]:
    """A run in a store that is given, or opened (and closed again) at a path.

    Left without ``finish``, the run is marked as failed or interrupted; it is never half there.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    info = RunInfo(
        command="explore",
        version=version("nestmap"),
        objective=objective,
        network=network,
        pipeline=json.dumps([stage.as_json() for stage in pipeline]),
    )
    opened = nullcontext(store) if isinstance(store, Store) else Store.open(Path(store))
    with opened as target, target.start_run(info) as run:
        yield run
