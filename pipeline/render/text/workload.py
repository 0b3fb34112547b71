"""Sentences about a workload: totals, operators that cost nothing or are not known."""

from collections.abc import Sequence
from typing import Final

from nestmap.model import Workload
from nestmap.model.workload.sum_bits import ASSUMED_SUMS
from nestmap.pipeline.analysis.network.workload_summary import (
    LayerGroup,
    known_no_cost,
    vector_summaries,
)
from nestmap.pipeline.format.numbers import count, engineering, size_text
from nestmap.pipeline.render.text.plain_table import printable

DEFINITIONS: Final = (
    "Times: how many layers have the same content; the figures of a row are those of one. "
    "Weights: operands that are known before the network runs; activations: all others. "
    "MACs per byte (arithmetic intensity): multiply-accumulates per byte of weights and "
    "activations, each read or written once."
)


def workload_totals(workload: Workload, groups: Sequence[LayerGroup]) -> str:
    """The totals in one sentence; ``groups`` are those of identical layers."""
    vectors = vector_summaries(workload)
    read, written = sum(x.bits_read for x in vectors), sum(x.bits_written for x in vectors)
    uncounted = workload.uncounted_operators
    without = ", ".join(f"{printable(name)} ({n})" for name, n in uncounted.items())
    return (
        f"Total{without and f' without {without}'}: layers {count(len(workload.layers))}, "
        f"different ones {count(len(groups))}, "
        f"MACs {engineering(workload.macs)}, "
        f"weights {size_text(sum(group.weight_bits for group in groups))}; "
        f"vector operators {count(len(workload.vector_nodes))}, "
        f"their operations {engineering(sum(x.operations for x in vectors))}, "
        f"read {size_text(read)}, written {size_text(written)}."
    )


def operator_notes(workload: Workload) -> list[str]:
    """The operators at no cost, with the unrecognized ones among them."""
    notes = no_cost_note(known_no_cost(workload)), _unknown(workload), _narrowed_sums(workload)
    return [note for note in notes if note]


def _narrowed_sums(workload: Workload) -> str:
    """How wide sums are where the network assumes wider ones; empty if there are none."""
    assumed = [layer.output for layer in workload.layers if layer.output.assumes_sums]
    widths = sorted({x.partial_precision for x in assumed if x.partial_precision < ASSUMED_SUMS})
    if not widths:
        return ""
    return (
        f"Partial sums have {' or '.join(map(str, widths))} bit, as much as the innermost memory "
        f"holds: the network does not state their width, usually {ASSUMED_SUMS} (--sum-bits)."
    )


def no_cost_note(operators: dict[str, int]) -> str:
    """The operators that stay in the graph at no cost; empty if there are none."""
    if not operators:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(operators.items()))
    return f"Operators that cost nothing here: {counted}."


def _unknown(workload: Workload) -> str:
    unknown = sorted(workload.unknown_operators.items())
    if not unknown:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in unknown)
    return f"Unrecognized operators, kept in the graph at no cost: {counted}."
