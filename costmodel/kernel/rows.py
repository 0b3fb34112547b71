"""Copies rows of arrays in kernels, by loops: assignments between slices also compile errors."""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined
from nestmap.model.arrays import Codes, Floats, Ints


@inlined
def copy_row(target: Floats | Ints | Codes, source: Floats | Ints | Codes) -> None:
    """Copies ``source`` [n] to the first n values of ``target``."""
    for n in range(len(source)):
        target[n] = source[n]
