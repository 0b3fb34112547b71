"""Says which tensors stay on chip, and why others do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import NetworkProblem
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.analysis.network.kept_tensors import KeptTensor, kept_tensors
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.text.plain_table import printable

MOST_REASONS: Final = 10
MOST_NAMES: Final = 3
_ONCE: Final = " after one transfer from the outermost memory, or before one to it"


def kept_notes(network: NetworkProblem) -> list[str]:
    """A sentence for each memory in which tensors stay, and for the first ten reasons to leave."""
    staying = dict[tuple[str, bool], list[KeptTensor]]()
    leaving = dict[tuple[str, str], list[KeptTensor]]()
    for tensor in kept_tensors(network):
        if tensor.reason is None:
            staying.setdefault((tensor.memory, tensor.moves_once), []).append(tensor)
        else:
            leaving.setdefault((tensor.memory, tensor.reason), []).append(tensor)
    notes = [
        f"In {memory} {_subject(tensors, 'stays', 'stay')}{_ONCE if moves_once else ''}."
        for (memory, moves_once), tensors in staying.items()
    ]
    notes += [
        f"Through {memory} {_subject(tensors, 'goes', 'go')}: {reason}."
        for (memory, reason), tensors in leaving.items()
    ]
    more = len(notes) - len(staying) - MOST_REASONS
    rest = [f"{more} more reasons are in the JSON file (--json) and in the query on_chip."]
    return notes[: len(staying) + MOST_REASONS] + (rest if more > 0 else [])


def _subject(tensors: Sequence[KeptTensor], one: str, several: str) -> str:
    """``stay O of n0, n1, n3, ... (12 layers), W of n0``."""
    layers = dict[LayerOperand, list[str]]()
    for tensor in tensors:
        layers.setdefault(tensor.operand, []).append(printable(tensor.layer))
    said = list[str]()
    for operand, names in layers.items():
        many = f", ... ({count(len(names))} layers)" if len(names) > MOST_NAMES else ""
        said.append(f"{operand} of {', '.join(names[:MOST_NAMES])}{many}")
    return f"{several if len(tensors) > 1 else one} {', '.join(said)}"
