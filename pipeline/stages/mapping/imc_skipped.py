"""Layers of a network that its array leaves out: poolings and additions on an IMC array.

As in ZigZag they get no mapping and add nothing to energy or latency. They stay in the network, so
that what is kept on chip between layers knows of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from nestmap.model import Layer, NetworkEvaluation, NetworkProblem

SKIPPED_OPERATORS: Final = ("Pooling", "Add")
"""Operators without weights: there is nothing to store in the cells of an IMC array."""


def mapped_layers(network: NetworkProblem) -> tuple[Layer, ...]:
    """The layers that are mapped, every layer after those it reads from."""
    layers = network.workload.layers
    if network.accelerator.array.imc is None:
        return layers
    return tuple(layer for layer in layers if layer.operator not in SKIPPED_OPERATORS)


def skipped_note(layers: Iterable[Layer], evaluation: NetworkEvaluation) -> str:
    """Which of a network's layers were left out, in a sentence; empty if none was."""
    mapped = {result.cme.layer for result in evaluation.layers}
    left = counted(layer.operator for layer in layers if layer.name not in mapped)
    return f"Layers that an IMC array skips, at no cost here: {left}." if left else ""


def counted(operators: Iterable[str]) -> str:
    """How often each operator occurs: ``Add 2, Pooling 1``."""
    return ", ".join(f"{name} {n}" for name, n in sorted(Counter(operators).items()))
