"""Records of runs and searches: what is known before they start, and their status."""

import json
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import AfterValidator

from nestmap.model import (
    Frozen,
    MappingProblem,
    NetworkProblem,
    Objective,
    Recording,
    RunLabel,
    SpatialProblem,
    Workload,
)
from nestmap.model.evaluation.recording import UNLABELED
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.store.rows.run_kinds import RunKind, RunStatus


def _is_json(text: str) -> str:
    json.loads(text)
    return text


JsonText = Annotated[str, AfterValidator(_is_json)]
"""Valid JSON text."""


class RunInfo(Frozen, frozen=True):
    """The description of a single-core run, known before it starts.

    ``command`` is the command line or call, ``version`` nestmap's version, ``versions`` those of
    everything else that determines its results; ``pipeline`` describes the stages, ``options`` the
    search, all as JSON. ``pareto``: whether it searches for fronts. ``seed``: the random seed, if
    it draws random numbers. ``label``: its name and tags.
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
    label: RunLabel = UNLABELED


class StreamInfo(Frozen, frozen=True):
    """The description of a multi-core run, known before it starts.

    The run reports the allocation of its front with the lowest ``objective``; other fields are as
    in :class:`RunInfo`.
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
    label: RunLabel = UNLABELED


class RunRecord(Frozen, frozen=True):
    """A run as the store lists it; times are UTC, ``workload`` and ``accelerator`` are names.

    ``reason`` says why a run failed or was interrupted. ``cpu_seconds`` is the CPU time of its
    process over all threads; ``resumed`` counts how often it was resumed; ``label`` is its name and
    tags.
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
    label: RunLabel = UNLABELED


class SearchInfo(Frozen, frozen=True):
    """The problem of a search, and its options.

    ``key`` is the content hash of everything that determines the result; ``options`` are those of
    the search, as JSON.
    """

    key: str
    spatial: SpatialProblem
    options: JsonText = "{}"


class RecordedNumbers(NamedTuple):
    """The evaluations of an interrupted search that the store has: the first, and some of the best.

    ``others`` are numbers after a gap: evaluations of the front, of which some were committed.
    """

    first: int = 0
    others: frozenset[int] = frozenset()


class LayerInfo(Frozen, frozen=True):
    """The exploration of a layer over all of its spatial mappings.

    ``method`` is the content hash of the accelerator, the options of the exploration and the
    versions, ``key`` that of layer and constraints: together they determine the result.
    """

    method: str
    key: str
    problem: MappingProblem
