"""The cells of an IMC array as a memory: the energy of reading another weight."""

from __future__ import annotations

from nestmap.costmodel.imc.array import macro_of
from nestmap.model import Accelerator


def precharge_energy(accelerator: Accelerator) -> float:
    """Energy of pre-charging shared bit lines in pJ per weight; 0 if weights share none.

    ``P_w (C_wl + g C_bl) V^2`` for ``g`` weights of ``P_w`` bit behind one multiplier: the array
    gets another weight through a word line and a bit line with ``g`` cells on it, bit by bit
    (arXiv:2405.14978). It is counted once for each weight that the array reads: the reference,
    if it evaluates this term at all, divides again by the cycles that a weight is stationary.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    macro = macro_of(accelerator)
    bits = macro.imc.weight_precision
    sharing = accelerator.cells.instance.size // bits
    if sharing == 1:
        return 0.0
    return bits * (1 + sharing) * macro.circuits.cell_line_energy
