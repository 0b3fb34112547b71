"""Formats names, loops and mappings in short form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from nestmap.model.dims import Loop
from nestmap.model.workload.layer import Layer, Operand
from nestmap.pipeline.format.numbers import count

if TYPE_CHECKING:  # networks need neither accelerators nor mappings
    from nestmap.model.hardware.accelerator import Accelerator
    from nestmap.model.mapping.spatial import SpatialMapping, Unrolling

LONGEST: Final = 26
"""The maximum length of a name in a figure; longer names are shortened."""


def shortened(name: str, longest: int = LONGEST) -> str:
    """The name, with its middle left out if it is too long.

    >>> shortened("layer1/conv2/weights", 11)
    'layer…ights'
    """
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


def sizes_text(loops: Sequence[Loop]) -> str:
    """The loop dimensions of a layer with more than one iteration: ``K 64, C 3``."""
    return ", ".join(str(loop) for loop in loops if loop.size > 1) or str(loops[0])


def spatial_text(mapping: SpatialMapping) -> str:
    """A spatial mapping without unrollings of 1: ``D1: K 32, D2: -``."""
    return ", ".join(f"{x.array_dimension}: {unrolled_text(x)}" for x in mapping.unrollings)


def unrolled_text(unrolling: Unrolling) -> str:
    """The loops unrolled over an array dimension, without those of 1: ``K 8 x C 4``."""
    return " x ".join(str(loop) for loop in unrolling.loops if loop.size > 1) or "-"


def precisions_text(layer: Layer) -> str:
    """Bits per element of each operand: ``W 8, I 8 (40 % not zero), O 8 (sums 16)``."""
    inputs = sorted(layer.inputs, key=lambda operand: not operand.constant)
    names = (*(operand.name for operand in inputs), layer.output.name)
    texts = [f"{name} {bits_text(layer.operand(name))}" for name in names]
    return f"{', '.join(texts)} (sums {layer.output.partial_precision})"


def bits_text(operand: Operand) -> str:
    """Bits per element of an operand, and how many elements are not zero if some are."""
    share = f" ({100 * operand.density:.3g} % not zero)" if operand.density < 1 else ""
    return f"{operand.precision}{share}"


def array_text(accelerator: Accelerator) -> str:
    """The size of the array: its number of units and its dimensions."""
    sides = " x ".join(f"{side.name} {side.size}" for side in accelerator.array.sides)
    return f"{count(accelerator.array.units)} MACs ({sides})"


def core_ranges(name: str) -> str:
    """The name of a channel, with consecutive cores as a range.

    >>> core_ranges("bus 0, 1, 2, 3 -> 5")
    'bus 0\u20133 \u2192 5'
    """
    listed = re.sub(r"\d+(, \d+)+", lambda found: _ranges(found.group()), name)
    return listed.replace("->", "\u2192")


def _ranges(numbers: str) -> str:
    """Three or more consecutive numbers as a range."""
    found = enumerate(map(int, numbers.split(", ")))
    parts: list[str] = []
    for _, run in groupby(found, lambda x: x[1] - x[0]):
        texts = [str(number) for _, number in run]
        parts += [f"{texts[0]}\u2013{texts[-1]}"] if len(texts) > 2 else texts
    return ", ".join(parts)
