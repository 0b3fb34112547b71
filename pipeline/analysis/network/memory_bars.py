"""Bars of the energy and the stall of each memory, summed over all layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model import MOVEMENTS, CostModelEvaluation
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.analysis.network.stacked_bars import (
    LEAKAGE,
    LEAKAGE_LOOK,
    Bars,
    Part,
    array_leakage,
    leakage_of,
    memory_looks,
)
from nestmap.pipeline.format.palette import GREYS, Look, operand_looks

ARRAY: Final = "array"
"""The bar of computation, below those of the memories."""


def memory_bars(cmes: Sequence[CostModelEvaluation]) -> Bars:
    """The energy (pJ) of the array and of each memory: computation, reads, writes, leakage."""
    names = (ARRAY, *memory_looks(cmes))
    parts = [part for part in _parts(cmes, names) if any(part.values)]
    return Bars(names, tuple(parts))


def _parts(cmes: Sequence[CostModelEvaluation], names: Sequence[str]) -> Iterator[Part]:
    computation = sum(cme.mac_energy for cme in cmes)
    yield Part("computation", Look(GREYS[0]), (computation, *(0.0 for _ in names[1:])))
    looks = operand_looks(entry.operand for cme in cmes for entry in cme.levels)
    for operand, look in looks.items():
        for reads, does, hatch in ((True, "read", ""), (False, "written", "/////")):
            values = tuple(_moved(cmes, name, operand, reads=reads) for name in names)
            yield Part(f"{operand} {does}", look._replace(hatch=hatch or look.hatch), values)
    leaks = tuple(sum(leakage_of(cme, name) for cme in cmes) for name in names[1:])
    array = sum(array_leakage(cme) for cme in cmes)
    yield Part(LEAKAGE, LEAKAGE_LOOK, (array, *leaks))


def _moved(
    cmes: Sequence[CostModelEvaluation], memory: str, operand: LayerOperand, *, reads: bool
) -> float:
    """The energy (pJ) of reading or writing an operand in a memory."""
    return sum(
        energy
        for cme in cmes
        for entry in cme.levels
        if entry.memory == memory and entry.operand == operand
        for movement, energy in zip(MOVEMENTS, entry.costs.energies, strict=True)
        if movement.reads is reads
    )
