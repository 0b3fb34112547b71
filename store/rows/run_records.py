"""What the store knows about a run and a search."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator

from nestmap.model import Frozen, NetworkProblem, Objective, Recording, SpatialProblem, Workload
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping


def _is_json(text: str) -> str:
    json.loads(text)
    return text


JsonText = Annotated[str, AfterValidator(_is_json)]
"""A text that is valid JSON."""


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class RunKind(StrEnum):
    """What a run explores."""

    EXPLORE = "explore"
    """A network layer by layer, on one core."""
    STREAM = "stream"
    """A network of computation nodes, on several cores."""


class RunInfo(Frozen, frozen=True):
    """What a run is about, known before it starts.

    ``command`` is what was called, ``version`` nestmap's, ``versions`` those of what else decides
    its figures; ``pipeline`` says which stages are wired how, ``options`` how it searches, all as
    JSON. ``pareto``: whether it looks for fronts. ``seed`` of what it draws at random, if anything.
    """

    command: str
    version: str
    objective: Objective
    network: NetworkProblem
    pipeline: JsonText = "{}"
    options: JsonText = "{}"
    versions: JsonText = "{}"
    pareto: bool = False
    seed: int | None = None
    recording: Recording = Recording()


class StreamInfo(Frozen, frozen=True):
    """What a run of several cores is about, known before it starts.

    ``objective``: what the reported one of its front has least of; the others as in
    :class:`RunInfo`.
    """

    command: str
    version: str
    objective: Objective
    workload: Workload
    accelerator: MultiCoreAccelerator
    mapping: CoreMapping = CoreMapping()
    pipeline: JsonText = "{}"
    options: JsonText = "{}"
    versions: JsonText = "{}"
    seed: int | None = None


class RunRecord(Frozen, frozen=True):
    """A run as the store lists it; times are UTC, ``workload`` and ``accelerator`` names.

    ``reason`` says why a run failed or was interrupted. ``cpu_seconds`` are those of its process,
    all threads together; ``resumed`` counts how often it was continued.
    """

    id: UUID
    command: str
    version: str
    objective: Objective
    workload: str
    accelerator: str
    started: datetime
    ended: datetime | None
    status: RunStatus
    reason: str | None
    host: str
    pid: int
    cpu_seconds: float | None
    resumed: int
    kind: RunKind = RunKind.EXPLORE


class SearchInfo(Frozen, frozen=True):
    """What is searched, and how.

    ``key`` is the content hash of all that decides what is found; ``options`` are those of the
    search, as JSON.
    """

    key: str
    spatial: SpatialProblem
    options: JsonText = "{}"
