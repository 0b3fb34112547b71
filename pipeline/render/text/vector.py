"""Summarizes vector operators in one sentence."""

from __future__ import annotations

from collections import Counter

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering
from nestmap.pipeline.render.text.plain_table import printable


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
    return (
        f"Vector operators: {count(len(vector))} {'node' if len(vector) == 1 else 'nodes'} "
        f"({named}), {engineering(sum(entry.operations for entry in vector))} operations, "
        f"{capacity(bits)} traffic with {printable(vector[0].memory)}, "
        f"energy {energy(evaluation.vector_energy)}, "
        f"{cycles(evaluation.vector_latency)} cycles{_without_unit(evaluation)}; "
        + ("counted in the totals." if evaluation.vector_counted else f"not in the totals{remedy}.")
    )


def _without_unit(evaluation: NetworkEvaluation) -> str:
    """A note if operations cost nothing because the accelerator has no vector unit."""
    if any(entry.operations and not entry.compute_cycles for entry in evaluation.vector):
        return " (traffic alone: the accelerator has no vector unit)"
    return ""
