"""Says how far results may be from the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import (
    CostModelEvaluation,
    LayerFront,
    NetworkEvaluation,
    Objective,
    ObjectiveBound,
)
from nestmap.model.evaluation.cost_bounds import gap_to
from nestmap.pipeline.format.numbers import count, cycles, energy, engineering, gap_text

_MORE_WORK: Final = (
    "Spatial mappings share the work of a layer: hints or unrollings in a mapping file leave fewer "
    "of them, and more work for each."
)


def bound_sentence(bound: ObjectiveBound, cme: CostModelEvaluation) -> str:
    """The lower bound of a layer, and the gap of its mapping to it."""
    gap = gap_to(bound.value, bound.objective.of(cme))
    least = f"o mapping of the space searched {_costs_less(bound)}"
    if not gap:
        return f"The mapping is optimal: n{least}."
    return f"N{least}: the optimum is at most {gap_text(gap)} lower."


def gap_note(evaluation: NetworkEvaluation) -> str:
    """How many layers are optimal, and the largest gaps; empty if no bound is known."""
    gaps = [result.gap for result in evaluation.layers]
    known = [gap for gap in gaps if gap is not None]
    if not known:
        return ""
    optimal, most = known.count(0.0), max(known)
    said = [f"{count(optimal)} of {count(len(gaps))} layers proven optimal"]
    if most:
        others = "the others" if optimal else "each"
        said.append(f"optimum of {others} at most {gap_text(most)} lower")
    if evaluation.gap and len(gaps) > 1:
        said.append(f"optimum of the network at most {gap_text(evaluation.gap)} lower")
    if len(known) < len(gaps):
        said.append(f"no bound known of {count(len(gaps) - len(known))}")
    unproven = sum(result.statistics.unproven for result in evaluation.layers)
    cut = sum(result.statistics.cut for result in evaluation.layers)
    for number, limit in ((cut, "the time limit"), (unproven - cut, "the limit of work")):
        if number:
            said.append(f"{limit} left {count(number)} spatial mapping{'s' * (number > 1)}")
    more = f" {_MORE_WORK}" if unproven > cut else ""
    return f"Lower bounds: {', '.join(said)}.{more}"


def front_gap_note(fronts: Sequence[LayerFront]) -> str:
    """How many fronts are complete, and how far points may be off; empty if not known."""
    gaps = [front.gap for front in fronts if front.gap is not None]
    if not gaps:
        return ""
    complete, most = gaps.count(0.0), max(gaps)
    said = f"{count(complete)} of {count(len(fronts))} fronts proven complete"
    if len(fronts) == 1:
        said = "Proven complete" if complete else "Not proven complete"
    if most:
        off = f"each mapping that was not found is at most {gap_text(most)} below some point"
        said = f"{said}; {off}, in energy and in latency"
    return f"{said}."


def _costs_less(bound: ObjectiveBound) -> str:
    match bound.objective:
        case Objective.ENERGY:
            return f"takes less energy than {energy(bound.value)}"
        case Objective.LATENCY:
            return f"takes fewer than {cycles(bound.value)} cycles"
        case Objective.EDP:
            product = engineering(bound.value * 1e-12, "J x cycles")
            return f"has an energy-delay product below {product}"
