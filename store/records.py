"""What the store knows about a run."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator

from nestmap.model import Frozen, NetworkProblem, Objective


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


class RunInfo(Frozen, frozen=True):
    """What a run is about, known before it starts.

    ``command`` is what was called, ``version`` nestmap's; ``pipeline`` says which stages are wired
    how, ``options`` what else was asked for, both as JSON.
    """

    command: str
    version: str
    objective: Objective
    network: NetworkProblem
    pipeline: JsonText = "{}"
    options: JsonText = "{}"


class RunRecord(Frozen, frozen=True):
    """A run as the store lists it; times are UTC, ``workload`` and ``accelerator`` names.

    ``reason`` says why a run failed or was interrupted.
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
