"""Evaluates a layer under other spatial mappings than that of a result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    MappingType,
    Objective,
    SpatialProblem,
)
from nestmap.model.arrays import Rows
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change, WhatIf
from nestmap.pipeline.analysis.mapping.records import evaluated
from nestmap.search import best_of
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.temporal.exact.fitting_rows import rows_that_may_fit
from nestmap.search.temporal.loma import feasible_orders

TRIED: Final = 3
"""Spatial mappings that are tried for latency, and for energy: those with the lowest bounds."""

FACTORS: Final = 6
"""Loop factors of LOMA's orders under each of them."""

_CHECKED: Final = 64
"""Spatial mappings that are checked at once for whether a temporal mapping may fit."""


def other_spatial_mappings(spatial: SpatialProblem, cme: CostModelEvaluation) -> Iterator[WhatIf]:
    """The fastest and the thriftiest mapping found under other spatial mappings.

    Empty if none is better. The spatial mapping and the order of loops that the user fixed do not
    hold here, but hints do. The search is short: a full one may find better mappings.
    """
    found = [best for other in _promising(spatial) for best in _best_orders(other)]
    answers: list[WhatIf] = []
    for objective in (Objective.LATENCY, Objective.ENERGY):
        better = [x for x in found if x.values(objective)[0] < objective.of(cme)]
        if better:
            answers.append(_answer(min(better, key=partial(_costs, objective))))
    yield from dict.fromkeys(answers)


def _promising(spatial: SpatialProblem) -> Iterator[SpatialProblem]:
    problem = _unfixed(spatial.problem)
    # bounds of arrays that compute in memory are made one by one, and mixed mappings are many
    every = all_spatial_mappings(problem, mixed=problem.accelerator.array.imc is None)
    if not len(every):
        return
    bounds = every.bounds()
    by_latency = _first_that_may_fit(every, np.lexsort((bounds.energy, bounds.latency)))
    by_energy = _first_that_may_fit(every, np.lexsort((bounds.latency, bounds.energy)))
    for row in dict.fromkeys([*by_latency, *by_energy]):
        other = every.spatial(row)
        if other.spatial_mapping != spatial.spatial_mapping:
            yield other


def _first_that_may_fit(every: SpatialCandidates, order: Rows) -> list[int]:
    """The first rows in that order under which a temporal mapping may fit; nearly all do."""
    found: list[int] = []
    for begin in range(0, len(order), _CHECKED):
        rows = order[begin : begin + _CHECKED]
        checked = np.isin(np.arange(len(every)), rows)
        fitting = np.flatnonzero(checked)[rows_that_may_fit(every.where(checked))]
        found += rows[np.isin(rows, fitting)].tolist()
        if len(found) >= TRIED:
            break
    return found[:TRIED]


def _unfixed(problem: MappingProblem) -> MappingProblem:
    """The layer without the spatial mapping, ordering and dataflow that the user fixed."""
    freed: dict[str, object] = {
        "spatial_mapping": None,
        "temporal_ordering": (),
        "outer_ordering": (),
        "memory_levels": (),
        "dataflow": None,
    }
    return copy_with(problem, {"constraints": copy_with(problem.constraints, freed)})


def _best_orders(spatial: SpatialProblem) -> Iterator[EvaluationBatch]:
    """The fastest and the thriftiest of LOMA's orders, as batches of one; none if none fits."""
    batches = [evaluate_batch(x) for x in feasible_orders(spatial, FACTORS, MappingType.UNEVEN)]
    for objective in (Objective.LATENCY, Objective.ENERGY):
        best = best_of(batches, objective)
        if len(best):
            yield best


def _costs(objective: Objective, best: EvaluationBatch) -> tuple[float, float, float]:
    return float(best.values(objective)[0]), float(best.latency2[0]), float(best.energy[0])


def _answer(best: EvaluationBatch) -> WhatIf:
    spatial = best.mappings.problem
    records = evaluated(spatial, best.mappings.row(0))
    return WhatIf(
        change=Change.SPATIAL,
        spatial_mapping=spatial.spatial_mapping,
        latency=records.latency,
        energy=records.dynamic_energy + records.static_energy,
        stall=records.stall,
    )
