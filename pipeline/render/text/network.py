"""Sentences about an exploration: totals, area and time, what was padded, reduced, skipped."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Counting,
    InfeasibleLayer,
    LayerResult,
    NetworkEvaluation,
    NetworkProblem,
    PartKind,
)
from nestmap.pipeline.analysis.network.reduced_unrollings import (
    ReducedUnrolling,
    reduced_unrollings,
)
from nestmap.pipeline.format.numbers import area_text, count, cycles, energy, engineering, share
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.render.text.results import kept_notes, overload_note, vector_note
from nestmap.pipeline.render.text.workload import operator_notes

MOST_NOTES: Final = 10
"""The maximum number of notes of one kind that are printed."""

MOST_NAMES: Final = 3
"""The maximum number of layers that such a note names."""


def totals(evaluation: NetworkEvaluation, uncounted: Mapping[str, int] | None = None) -> str:
    """The totals in one sentence, with units.

    ``uncounted`` are the operators that seem to compute but are not in the totals, and how many.
    """
    edp = engineering(evaluation.energy * 1e-12 * evaluation.latency, "J x cycles")
    missing = [_names_of(evaluation)] if evaluation.infeasible else []
    missing += [f"{printable(name)} ({n})" for name, n in (uncounted or {}).items()]
    left_out = f" without {', '.join(missing)}" if missing else ""
    return (
        f"Total{left_out}: energy {energy(evaluation.energy)}, "
        f"latency {cycles(evaluation.latency)} cycles, "
        f"EDP {edp}, MAC utilization {share(evaluation.utilization)}, "
        f"{count(evaluation.evaluations)} mappings evaluated."
    )


def network_notes(
    evaluation: NetworkEvaluation, network: NetworkProblem, remedy: str = ""
) -> list[str]:
    """All that is said about a result but its bound; ``remedy`` is for :func:`vector_note`."""
    notes = (
        *infeasible_notes(evaluation.infeasible),
        overload_note(evaluation),
        machine_note(evaluation),
        _pruned_note(evaluation),
        vector_note(evaluation, remedy),
        *operator_notes(network.workload),
        *padding_notes(evaluation),
        *reduced_notes(reduced_unrollings(network, evaluation)),
        *skipped_orders(evaluation),
        *kept_notes(evaluation),
        counting_note(network.accelerator),
    )
    return [note for note in notes if note]


def infeasible_notes(infeasible: Sequence[InfeasibleLayer]) -> list[str]:
    """Why layers have no mapping; the first ten different ones."""
    notes = [f"No mapping fits: {printable(x.message)}." for x in infeasible if x.repeats is None]
    more = len(notes) - MOST_NOTES
    rest = [f"{more} more layers without a mapping are in the JSON file (--json)."]
    return notes[:MOST_NOTES] + (rest if more > 0 else [])


def _names_of(evaluation: NetworkEvaluation) -> str:
    """The layers that totals leave out: how many, and the first three."""
    names = [printable(entry.layer) for entry in evaluation.infeasible]
    more = ", ..." if names[MOST_NAMES:] else ""
    layers = count(len(evaluation.layers) + len(names))
    return f"{count(len(names))} of {layers} layers ({', '.join(names[:MOST_NAMES])}{more})"


def counting_note(accelerator: Accelerator) -> str:
    """That costs are the reference's, if they are."""
    if accelerator.counting is Counting.EXACT:
        return ""
    return "Costs are counted as by ZigZag; an execution may move more."


def machine_note(evaluation: NetworkEvaluation) -> str:
    """Leakage, time and area, if the accelerator describes them."""
    said: list[str] = []
    if evaluation.largest.static_energies:
        said.append(f"leakage {energy(evaluation.static_energy)} of the energy")
    if evaluation.clock_period is not None:
        seconds = engineering(evaluation.latency * evaluation.clock_period * 1e-9, "s")
        said.append(f"time {seconds} at {evaluation.clock_period:.4g} ns a cycle")
    if says_area(evaluation.largest):
        area = area_text(evaluation.area, evaluation.largest.area_unit)
        said.append(f"area {area} ({_area_parts(evaluation.largest)})")
    text = ", ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def says_area(cme: CostModelEvaluation) -> bool:
    """Whether the area is more than a constant for each unit of the array."""
    memories = any(x.area for x in cme.areas if x.kind is PartKind.MEMORY)
    return bool(cme.area) and (memories or bool(cme.array_energies))


def _area_parts(cme: CostModelEvaluation) -> str:
    """The shares of the array, the memories and the vector unit."""
    sums = {kind: sum(x.area for x in cme.areas if x.kind is kind) for kind in PartKind}
    names = {PartKind.MEMORY: "memories", PartKind.VECTOR_UNIT: "vector unit"}
    return ", ".join(
        f"{names.get(kind, kind.value)} {share(area / cme.area)}"
        for kind, area in sums.items()
        if area
    )


def _pruned_note(evaluation: NetworkEvaluation) -> str:
    """The number of pruned spatial mappings; empty if there are none."""
    pruned = sum(result.statistics.pruned for result in evaluation.layers)
    if not pruned:
        return ""
    return f"{count(pruned)} spatial mappings left out: none can be better than the best."


def padding_notes(evaluation: NetworkEvaluation) -> list[str]:
    """The padded loops of each layer, with what the padding adds; the first ten layers."""
    notes = [padding_note(result.cme) for result in evaluation.layers if result.cme.padding]
    more = len(notes) - MOST_NOTES
    rest = [f"{more} more padded layers are in the JSON file (--json)."]
    return notes[:MOST_NOTES] + (rest if more > 0 else [])


def padding_note(cme: CostModelEvaluation) -> str:
    """The padded loops of a layer, and what the padding adds."""
    needed = prod(x.size / x.padded for x in cme.padding)
    return (
        f"Layer {printable(cme.layer)} is padded: {', '.join(map(str, cme.padding))} "
        f"({share(1 / needed - 1)} more multiply-accumulates, in all figures of the layer)."
    )


def reduced_notes(reduced: Sequence[ReducedUnrolling]) -> list[str]:
    """The user's unrollings that do not fit, with the layers of each; the first ten."""
    layers: dict[tuple[str, str, int, int], list[str]] = {}
    for x in reduced:
        key = (x.array_dimension, x.dimension, x.asked, x.used)
        layers.setdefault(key, []).append(printable(x.layer))
    notes = [
        f"Unrolling reduced to fit: {side} asks for {dimension} {asked}, "
        f"{'layer' if len(names) == 1 else f'{len(names)} layers'} "
        f"{', '.join(names[:MOST_NAMES])}{', ...' if names[MOST_NAMES:] else ''} "
        f"{'uses' if len(names) == 1 else 'use'} {used}."
        for (side, dimension, asked, used), names in layers.items()
    ]
    more = len(notes) - MOST_NOTES
    rest = [f"{more} more reduced unrollings are in the JSON file (--json)."]
    return notes[:MOST_NOTES] + (rest if more > 0 else [])


def bundled_mapping_note(network: NetworkProblem) -> str:
    """How many layers the mapping bundled with the accelerator restricts; empty if none."""
    entries = [network.constraints.of(layer) for layer in network.workload.layers]
    fixed = sum(entry.spatial_mapping is not None for entry in entries)
    hinted = sum(bool(x.spatial_hints) and x.spatial_mapping is None for x in entries)
    counts = [
        f"{does} {many} of {len(entries)} layers"
        for does, many in (("fixes the spatial mapping of", fixed), ("restricts that of", hinted))
        if many
    ]
    if not counts:
        return ""
    return (
        f"The mapping bundled with {network.accelerator.name} {' and '.join(counts)}; "
        "--mapping free searches all spatial mappings."
    )


def skipped_orders(evaluation: NetworkEvaluation) -> list[str]:
    """The number of infeasible loop orders by layer and reason; the first ten notes in full."""
    notes = [note for result in evaluation.layers for note in skipped_of(result)]
    more = len(notes) - MOST_NOTES
    rest = [f"{more} more notes on skipped orders are in the JSON file (--json)."]
    return notes[:MOST_NOTES] + (rest if more > 0 else [])


def skipped_of(result: LayerResult) -> Iterator[str]:
    """All notes of one layer."""
    failed = result.statistics.infeasible
    orders = result.statistics.evaluations + sum(reason.count for reason in failed)
    for reason in failed:
        yield (
            f"{count(reason.count)} of {count(orders)} orders of layer "
            f"{printable(result.cme.layer)} skipped: {reason.reason}."
        )
