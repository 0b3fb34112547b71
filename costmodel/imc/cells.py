"""The cells of an IMC array as a memory: what reading another weight takes."""

from __future__ import annotations

from nestmap.costmodel.imc.array import macro_of
from nestmap.model import Accelerator


def precharge_energy(accelerator: Accelerator) -> float:
    """What pre-charging shared bit lines takes, in pJ a weight; 0 where weights share none.

    ``P_w (C_wl + g C_bl) V^2`` for ``g`` weights of ``P_w`` bit behind one multiplier: the array
    gets another weight through a word line and a bit line with ``g`` cells on it, bit by bit
    (arXiv:2405.14978). It is taken once for each weight that the array gets: the reference,
    where it is evaluated at all, divides by the cycles that a weight stays once more.

    Raises:
        UnknownNodeError: at a technology node that nothing is known of.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    macro = macro_of(accelerator)
    bits = macro.imc.weight_precision
    sharing = accelerator.cells.instance.size // bits
    if sharing == 1:
        return 0.0
    return bits * (1 + sharing) * macro.circuits.cell_line_energy
