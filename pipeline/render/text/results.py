"""Sentences about results: vector operators, tensors on chip, busy ports, fronts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model import FusedSegment, KeptTensor, NetworkEvaluation, OnChip
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering, share
from nestmap.pipeline.render.text.plain_table import printable

# --- summarizes vector operators in one sentence ---


def vector_note(evaluation: NetworkEvaluation, remedy: str = "") -> str:
    """The number of vector operators and their cost; empty if there are none.

    ``remedy`` says how to include them in the totals, if they are not.
    """
    vector = evaluation.vector
    if not vector:
        return ""
    kinds = Counter(entry.operator for entry in vector)
    named = ", ".join(f"{printable(name)} {n}" for name, n in sorted(kinds.items()))
    bits = sum(entry.bits_read + entry.bits_written for entry in vector)
    memories = " and ".join(dict.fromkeys(entry.memory for entry in vector))
    return (
        f"Vector operators: {count(len(vector))} {'node' if len(vector) == 1 else 'nodes'} "
        f"({named}), {engineering(sum(entry.operations for entry in vector))} operations, "
        f"{capacity(bits)} traffic with {printable(memories)}, "
        f"energy {energy(evaluation.vector_energy)}, "
        f"{cycles(evaluation.vector_latency)} cycles{_without_unit(evaluation)}; "
        + ("counted in the totals." if evaluation.vector_counted else f"not in the totals{remedy}.")
    )


def _without_unit(evaluation: NetworkEvaluation) -> str:
    """A note if operations cost nothing because the accelerator has no vector unit."""
    if any(entry.operations and not entry.compute_cycles for entry in evaluation.vector):
        return " (traffic alone: the accelerator has no vector unit)"
    return ""


# --- tensors that stay on chip, and the reasons why others do not ---

MOST_REASONS: Final = 10
MOST_NAMES: Final = 3


def kept_notes(evaluation: NetworkEvaluation) -> list[str]:
    """What tensors on chip save, where they stay, and the first ten reasons why others leave."""
    if evaluation.on_chip is None:
        return []
    staying, leaving = dict[str, list[KeptTensor]](), dict[tuple[str, str], list[KeptTensor]]()
    for tensor in evaluation.on_chip.tensors:
        if tensor.reason is None:
            staying.setdefault(tensor.memory, []).append(tensor)
        else:
            leaving.setdefault((tensor.memory, tensor.reason), []).append(tensor)
    notes = [
        f"In {memory} {_subject(tensors, 'stays', 'stay')}." for memory, tensors in staying.items()
    ]
    notes += [
        f"Through {memory} {_subject(tensors, 'goes', 'go')}: {reason}."
        for (memory, reason), tensors in leaving.items()
    ]
    more = len(notes) - len(staying) - MOST_REASONS
    rest = [f"{more} more reasons are in the JSON file (--json) and in the query on_chip."]
    told = notes[: len(staying) + MOST_REASONS] + (rest if more > 0 else [])
    saved = _saved_note(evaluation, evaluation.on_chip) if staying else ()
    return [*saved, *_segment_notes(evaluation.on_chip.segments), *told]


def _segment_notes(segments: Sequence[FusedSegment] | None) -> Iterator[str]:
    """Which nodes run together, in which tiles, and where what is between them stays."""
    if segments is None:
        return
    if not segments:
        yield "No layers run together: each by itself costs less, or they cannot."
    for segment in segments[:MOST_REASONS]:
        yield f"{segment_text(segment)}."
    if len(segments) > MOST_REASONS:
        yield f"{len(segments) - MOST_REASONS} more segments are in the JSON file (--json)."


def segment_text(segment: FusedSegment) -> str:
    """A segment in one line: its nodes, tiles, memories, energy and cycles."""
    first, last = printable(segment.nodes[0]), printable(segment.nodes[-1])
    sizes = " x ".join(f"{axis.dimension} {axis.size}" for axis in segment.axes)
    again = [axis.dimension for axis in segment.axes if axis.tiles > 1 and not axis.retained]
    computed = f", computed again along {' and '.join(again)}" if again else ""
    weights = f", weights in {segment.residence}" if segment.residence else ""
    inputs = ", ".join(map(printable, segment.staged))
    staged = f", inputs of {inputs} copied on chip first" if segment.staged else ""
    return (
        f"Together run {first} to {last} ({count(len(segment.nodes))} nodes) in "
        f"{count(segment.tiles)} tiles of {sizes}{computed}: tensors between them in "
        f"{segment.home}{staged}{weights}; {energy(segment.energy)}, "
        f"{cycles(segment.latency)} cycles"
    )


def fused_sentences(evaluation: NetworkEvaluation, layer: str) -> Iterator[str]:
    """How a layer runs in a network that was fused, and why not with its neighbours."""
    if evaluation.on_chip is None or evaluation.on_chip.segments is None:
        return
    segment, ends = evaluation.segment_of(layer), evaluation.on_chip.ends
    yield f"{printable(layer)} runs by itself." if segment is None else f"{segment_text(segment)}."
    if segment is not None and segment.taken:
        rooms = (f"{capacity(x.bits)} of {printable(x.memory)}" for x in segment.taken)
        yield f"Beside the mapping of each layer, they take {', '.join(rooms)}."
    first = layer if segment is None else segment.nodes[0]
    at = next((i for i, x in enumerate(ends, 1) if x.next == first), 0)
    for end in ends[max(0, at - 1) : at]:
        yield f"{printable(end.last)} before runs apart: {end.reason}."
    for end in ends[at : at + 1]:
        yield f"{printable(end.next)} after runs apart: {end.reason}."


def _saved_note(evaluation: NetworkEvaluation, on_chip: OnChip) -> Iterator[str]:
    """What the network costs with no tensor on chip; under a limit, other mappings are chosen."""
    outside = on_chip.outside
    if outside is None or evaluation.limited is not None:
        return
    changes = (
        f"{share(abs(change))} {'less' if change <= 0 else 'more'}"
        for change in (
            evaluation.energy / outside.energy - 1,
            evaluation.latency / outside.latency - 1,
        )
    )
    less_energy, less_latency = changes
    yield (
        f"With all tensors outside it would take {energy(outside.energy)} and "
        f"{cycles(outside.latency)} cycles: on chip it takes {less_energy} energy and "
        f"{less_latency} time."
    )


def _subject(tensors: Sequence[KeptTensor], one: str, several: str) -> str:
    """``stay O of n0, n1, n3, ... (12 nodes), W of n0``."""
    layers = dict[LayerOperand, list[str]]()
    for tensor in tensors:
        layers.setdefault(tensor.operand, []).append(printable(tensor.node))
    said = list[str]()
    for operand, names in layers.items():
        many = f", ... ({count(len(names))} nodes)" if len(names) > MOST_NAMES else ""
        said.append(f"{operand} of {', '.join(names[:MOST_NAMES])}{many}")
    return f"{several if len(tensors) > 1 else one} {', '.join(said)}"


# --- ports that are busy for longer than layers take ---


def overload_note(evaluation: NetworkEvaluation) -> str:
    """In how many layers loads overlap on a port, and the worst one; empty if there are none."""
    found = [
        ((port.busy or 0) / result.cme.latency, result.cme.layer, port)
        for result in evaluation.layers
        if (port := result.cme.overloaded_port) is not None
    ]
    if not found:
        return ""
    load, layer, port = max(found, key=lambda x: x[0])
    return (
        f"{count(len(found))} of {count(len(evaluation.layers))} layers take fewer cycles than a "
        f"port of theirs is busy: {printable(layer)}, where the {printable(port.port)} of "
        f"{printable(port.memory)} is busy for {share(load - 1)} more, above all. Loads overlap "
        "there, as the reference counts; without --reference they wait."
    )
