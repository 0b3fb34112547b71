"""Evaluates a layer under other spatial mappings than that of a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import (
    CostModelEvaluation,
    MappingProblem,
    MappingType,
    Objective,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change, WhatIf
from nestmap.search import best_of, loma
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.temporal.exact.fitting_rows import rows_that_may_fit

TRIED: Final = 3
"""Spatial mappings that are tried for latency, and for energy: those with the lowest bounds."""

FACTORS: Final = 6
"""Loop factors of LOMA's orders under each of them."""


def other_spatial_mappings(spatial: SpatialProblem, cme: CostModelEvaluation) -> Iterator[WhatIf]:
    """The fastest and the thriftiest mapping found under other spatial mappings.

    Empty if none is better. The spatial mapping and the order of loops that the user fixed do not
    hold here, but hints do. The search is short: a full one may find better mappings.
    """
    found = [best for other in _promising(spatial) for best in _best_orders(other)]
    answers: list[WhatIf] = []
    for objective in (Objective.LATENCY, Objective.ENERGY):
        better = [x for x in found if objective.of(x.cme) < objective.of(cme)]
        if better:
            best = min(better, key=lambda x: (objective.of(x.cme), x.cme.latency, x.cme.energy))
            answers.append(_answer(best))
    yield from dict.fromkeys(answers)


def _promising(spatial: SpatialProblem) -> Iterator[SpatialProblem]:
    every = _candidates(_unfixed(spatial.problem))
    if not len(every):
        return
    bounds = every.bounds()
    by_latency = np.lexsort((bounds.energy, bounds.latency))[:TRIED]
    by_energy = np.lexsort((bounds.latency, bounds.energy))[:TRIED]
    for row in dict.fromkeys([*by_latency.tolist(), *by_energy.tolist()]):
        other = every.spatial(int(row))
        if other.spatial_mapping != spatial.spatial_mapping:
            yield other


def _candidates(problem: MappingProblem) -> SpatialCandidates:
    # bounds of arrays that compute in memory are made one by one, and mixed mappings are many
    every = all_spatial_mappings(problem, mixed=problem.accelerator.array.imc is None)
    return every.where(rows_that_may_fit(every))


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


class _Found(NamedTuple):
    spatial: SpatialProblem
    cme: CostModelEvaluation


def _best_orders(spatial: SpatialProblem) -> Iterator[_Found]:
    """The fastest and the thriftiest of LOMA's orders; none if none fits."""
    batches = [evaluate_batch(x) for x in loma(spatial, FACTORS, MappingType.UNEVEN)]
    for objective in (Objective.LATENCY, Objective.ENERGY):
        best = best_of(batches, objective)
        if len(best):
            yield _Found(spatial, evaluate(spatial, best.mappings.row(0)))


def _answer(found: _Found) -> WhatIf:
    return WhatIf(
        change=Change.SPATIAL,
        spatial_mapping=found.spatial.spatial_mapping,
        latency=found.cme.latency,
        energy=found.cme.energy,
        stall=found.cme.stall,
    )
