"""What is printed of vector operators: one sentence on all of them."""

from __future__ import annotations

from collections import Counter

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering
from nestmap.pipeline.render.text.plain_table import printable


def vector_note(evaluation: NetworkEvaluation, remedy: str = "") -> str:
    """How many vector operators there are, and what they cost; empty if there are none.

    ``remedy`` says what makes the totals include them, where they do not.
    """
    vector = evaluation.vector
    if not vector:
        return ""
    kinds = Counter(entry.operator for entry in vector)
    named = ", ".join(f"{printable(name)} {n}" for name, n in sorted(kinds.items()))
    bits = sum(entry.bits_read + entry.bits_written for entry in vector)
    return (
        f"Vector operators: {count(len(vector))} {'node' if len(vector) == 1 else 'nodes'} "
        f"({named}), {engineering(sum(entry.operations for entry in vector))} operations, "
        f"{capacity(bits)} traffic with {printable(vector[0].memory)}, "
        f"energy {energy(evaluation.vector_energy)}, "
        f"{cycles(evaluation.vector_latency)} cycles{_without_unit(evaluation)}; "
        + ("counted in the totals." if evaluation.vector_counted else f"not in the totals{remedy}.")
    )


def _without_unit(evaluation: NetworkEvaluation) -> str:
    """A word where operations cost nothing, which a vector unit would make them do."""
    if any(entry.operations and not entry.compute_cycles for entry in evaluation.vector):
        return " (traffic alone: the accelerator has no vector unit)"
    return ""
