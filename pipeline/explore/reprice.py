"""Recorded mappings under other energies: energy is linear in accesses, so no search is needed."""

from collections.abc import Iterable
from enum import StrEnum
from itertools import chain
from math import isclose
from typing import Final

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.costmodel.evaluate import port_names
from nestmap.costmodel.reprice import reprice, reprice_vector, used_hierarchy
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    InputError,
    LayerResult,
    NetworkEvaluation,
    Objective,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.accelerator_diff import differences

_MOST_TOLD: Final = 5
_ROUNDING: Final = 1e-9
"""The relative difference up to which factors count as equal."""


class Standing(StrEnum):
    """Whether the chosen mappings are still the best under the new energies.

    The comparison covers the candidates of the search. If the candidates themselves depended on
    energies (annealing for energy or EDP, spatial mappings ranked by bounds), a new search may
    try other mappings in any case.
    """

    BEST = "best"
    """The order of the candidates is unchanged: none of them is better."""
    BEST_BUT_FOR_TIES = "best_but_for_ties"
    """No candidate has lower latency; one of equal latency may take less energy."""
    UNKNOWN = "unknown"
    """Another mapping may be better; this needs a new search."""


def reprice_results(
    evaluation: NetworkEvaluation, before: Accelerator, after: Accelerator
) -> NetworkEvaluation:
    """The evaluation of the same mappings on ``after``, exactly as the cost model computes it.

    ``before`` is the accelerator of the evaluation; ``after`` may have other energies, areas and
    names. Nothing is searched and no mapping is evaluated: the new energies multiply the counted
    accesses. The statistics remain those of the search, but for its bounds: with other energies
    they do not hold.

    Raises:
        InputError: where the accelerators differ in anything else, so that a new search is needed;
            where the evaluation is not one of ``before``, or has fused layers.
    """
    check_repriceable(before, after)
    if evaluation.on_chip is not None and evaluation.on_chip.segments:
        names = ", ".join(evaluation.on_chip.segments[0].nodes)
        raise InputError("evaluation", f"{names} run together in tiles", "no fused layers")
    for result in evaluation.layers:
        _check_made_for(result.cme, before)
    layers = tuple(_repriced(result, before, after) for result in evaluation.layers)
    vector = tuple(reprice_vector(entry, before, after) for entry in evaluation.vector)
    kept = evaluation.on_chip and copy_with(evaluation.on_chip, {"outside": None, "bound": None})
    return copy_with(evaluation, {"layers": layers, "vector": vector, "on_chip": kept})


def _repriced(result: LayerResult, before: Accelerator, after: Accelerator) -> LayerResult:
    """The result on ``after``; of its bounds only that of the latency still holds there."""
    bound = result.bound
    updates: dict[str, object] = {
        "cme": reprice(result.cme, before, after),
        "statistics": copy_with(result.statistics, {"bounds": None}),
        "bound": bound if bound and bound.objective is Objective.LATENCY else None,
    }
    return copy_with(result, updates)


def compare_standing(objective: Objective, before: Accelerator, after: Accelerator) -> Standing:
    """Whether the best mappings on ``before`` are also known to be the best on ``after``.

    The array takes the same energy for all mappings of a layer. Therefore the order of energies
    is unchanged if all memory energies and the leakage per cycle change by the same factor, and
    the order of energy x latency if the array's energy changes by it, too (apart from rounding,
    unless the factor is 1).

    Raises:
        InputError: where the accelerators differ in more than energies, areas and names.
    """
    check_repriceable(before, after)
    pairs = list(zip(_memory_energies(before), _memory_energies(after), strict=True))
    pairs.append((leakage_of(before), leakage_of(after)))
    if objective is Objective.EDP:
        pairs.append((before.array.unit_energy, after.array.unit_energy))
    if _by_one_factor(pairs):
        return Standing.BEST
    return Standing.BEST_BUT_FOR_TIES if objective is Objective.LATENCY else Standing.UNKNOWN


def check_repriceable(before: Accelerator, after: Accelerator) -> None:
    """Checks that two accelerators differ only in energies, areas and names.

    Raises:
        InputError: where they differ in anything else; it lists the differences.
    """
    found = differences(before, after)
    if not found:
        return
    told = [str(difference) for difference in found[:_MOST_TOLD]]
    more = [f"{len(found) - _MOST_TOLD} more differences"] if found[_MOST_TOLD:] else []
    raise InputError(
        f"accelerator {after.name}",
        "; ".join(told + more),
        f"an accelerator that differs from {before.name} only in energies, areas and names: a new "
        "search is needed for anything else (nestmap explore)",
    )


def _check_made_for(cme: CostModelEvaluation, accelerator: Accelerator) -> None:
    """Checks that the evaluation has the memories of the accelerator, their sizes and energies.

    It does not if a stage such as ``weight_diagonal`` changed the accelerator for its search.
    """
    if not _suits(cme, accelerator):
        raise InputError(
            f"layer {cme.layer}",
            f"an evaluation that was not made for accelerator {accelerator.name} as it is (or "
            "does not say which memory operands it uses)",
            "one that was: a new search is needed (nestmap explore)",
        )


def _suits(cme: CostModelEvaluation, accelerator: Accelerator) -> bool:
    linked = {link.operand for link in cme.links}
    names = {level.name for level in accelerator.memories}
    if any(x.operand not in linked or x.memory not in names for x in cme.levels):
        return False
    used = used_hierarchy(cme, accelerator, accelerator)
    sizes = {level.name: level.instance.size for level in used.memories}
    held = [
        (link.operand, i, level.name)
        for link in cme.links
        for i, level in enumerate(used.levels_of(link.memory_operand))
    ]
    return (
        held == [(x.operand, x.level, x.memory) for x in cme.levels]
        and port_names(used) == [(x.memory, x.port) for x in cme.port_stalls]
        and all(x.utilization == x.bits / sizes[x.memory] for x in cme.levels)
        and cme == reprice(cme, accelerator, accelerator)
    )


def _memory_energies(accelerator: Accelerator) -> Iterable[float]:
    instances = (level.instance for level in accelerator.memories)
    return chain.from_iterable((x.read_energy, x.write_energy) for x in instances)


def _by_one_factor(pairs: Iterable[tuple[float, float]]) -> bool:
    """Whether all second values are the first values times the same positive number."""
    some = [(old, new) for old, new in pairs if old or new]
    if not all(old and new for old, new in some):
        return False
    factors = [new / old for old, new in some]
    return all(isclose(factor, factors[0], rel_tol=_ROUNDING) for factor in factors)
