"""Layers that an IMC array skips: poolings and additions.

As in ZigZag, they get no mapping and add no energy or latency. They stay in the network, because
they matter for keeping data on chip between layers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from nestmap.model import Layer, NetworkEvaluation, NetworkProblem

SKIPPED_OPERATORS: Final = ("Pooling", "Add")
"""Operators without weights: the cells of an IMC array would have nothing to store."""


def mapped_layers(network: NetworkProblem) -> tuple[Layer, ...]:
    """The layers to map, in topological order."""
    layers = network.workload.layers
    if network.accelerator.array.imc is None:
        return layers
    return tuple(layer for layer in layers if layer.operator not in SKIPPED_OPERATORS)


def skipped_note(layers: Iterable[Layer], evaluation: NetworkEvaluation) -> str:
    """A sentence about the skipped layers of a network; empty if there are none."""
    mapped = {result.cme.layer for result in evaluation.layers}
    mapped.update(entry.layer for entry in evaluation.infeasible)
    left = counted(layer.operator for layer in layers if layer.name not in mapped)
    return f"Layers that an IMC array skips, at no cost here: {left}." if left else ""


def counted(operators: Iterable[str]) -> str:
    """The number of occurrences of each operator: ``Add 2, Pooling 1``."""
    return ", ".join(f"{name} {n}" for name, n in sorted(Counter(operators).items()))
