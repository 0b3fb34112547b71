"""Says how far results may be from the optimum."""

from collections.abc import Sequence
from typing import Final

from nestmap.model import (
    CostModelEvaluation,
    LayerFront,
    LimitedCost,
    NetworkEvaluation,
    NetworkFront,
    Objective,
    ObjectiveBound,
)
from nestmap.model.evaluation.objective import gap_to
from nestmap.pipeline.format.numbers import (
    count,
    cycles,
    energy,
    engineering,
    gap_text,
    printable,
    share,
)

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
    if evaluation.limited is not None:
        return _limit_sentence(evaluation, evaluation.limited)
    if evaluation.on_chip is not None and evaluation.on_chip.segments is not None:
        return _tiles_sentence(evaluation)
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


def _tiles_sentence(evaluation: NetworkEvaluation) -> str:
    """How far the result may be off, of all ways to run layers together."""
    bound, gap = evaluation.bound, evaluation.gap
    if bound is None or gap is None:  # recorded by an earlier version
        return ""
    said = f"No schedule of any segments, tiles and homes {_costs_less(bound)}"
    return f"{said}: the optimum is at most {gap_text(gap)} lower."


def _limit_sentence(evaluation: NetworkEvaluation, limited: LimitedCost) -> str:
    """The limit under which mappings were chosen, and how far the result may be off."""
    limit, gap = limited.limit, evaluation.gap
    of = energy if limit.quantity is Objective.ENERGY else cycles
    unit = " cycles" if limit.quantity is Objective.LATENCY else ""
    times = f"{limited.value / limited.least:.4g} times the least, {of(limited.least)}{unit}"
    said = f"{limit.quantity.value.capitalize()} at most {of(limited.value)}{unit} ({times})"
    what = f"the {limit.minimized} under this limit"
    if gap is None:
        return f"{said}; no bound is known of {what}."
    if not gap:
        return f"{said}; {what} is proven to be the least."
    return f"{said}; the optimum of {what} is at most {gap_text(gap)} lower."


def contrast_note(chosen: CostModelEvaluation, picojoules: float, least: float) -> str:
    """What the lowest energy of a layer costs in cycles, beside its fastest mapping."""
    times, more = chosen.latency / least, picojoules / chosen.energy - 1
    return (
        f"{printable(chosen.layer)}: {times:.3g} times the cycles of its fastest mapping "
        f"({cycles(least)}), which takes {share(more)} more energy. --at-most latency=1.1x finds "
        "the least energy near the lowest latency."
    )


def front_notes(front: NetworkFront) -> list[str]:
    """How many of the mappings evaluated are on the fronts, and how far points may be off."""
    fronts = [layer for layer in front.layers if layer.repeats is None]
    points = sum(len(layer.cmes) for layer in fronts)
    evaluated = sum(layer.statistics.evaluations for layer in fronts)
    return [
        f"{count(points)} of {count(evaluated)} mappings evaluated.",
        front_gap_note(front.layers),
    ]


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
