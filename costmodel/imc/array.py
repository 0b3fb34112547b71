"""Workload-independent figures of an IMC array: area, clock, peak performance.

Each function is for an accelerator whose array computes in memory (``array.imc``).

Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
M. Verhelst, ICCAD 2023, arXiv:2405.14978.
"""

from __future__ import annotations

from nestmap.costmodel.imc.macro import Macro
from nestmap.model import Accelerator, ArrayPart, PartArea, PartEnergy, PeakPerformance


def macro_of(accelerator: Accelerator) -> Macro:
    """The macro of each bank of the array.

    Raises:
        ValueError: if the array does not compute in memory.
    """
    imc = accelerator.array.imc
    if imc is None:
        raise ValueError(f"accelerator {accelerator.name} has no IMC array; expected one")
    sizes = accelerator.array.imc_sizes
    return Macro(imc, sizes.columns, sizes.rows)


def array_areas(accelerator: Accelerator) -> tuple[PartArea, ...]:
    """The areas of all banks in mm2, named as in :class:`ArrayPart` (arXiv:2305.18335).

    The cells' area is that of the memory ``cells`` in the description, once per unit. Registers
    of inputs and outputs are memories, and not included.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    banks = accelerator.array.imc_sizes.banks
    cells = accelerator.cells.instance.area * accelerator.array.units
    others = ((part, area * banks) for part, area in macro_of(accelerator).areas().items())
    return tuple(
        PartArea(part=part.value, area=area) for part, area in ((ArrayPart.CELLS, cells), *others)
    )


def array_delays(accelerator: Accelerator) -> dict[ArrayPart, float]:
    """The delay of each part in ns (arXiv:2305.18335); that of the cells is taken as 0.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    return {ArrayPart.CELLS: 0.0, **macro_of(accelerator).delays()}


def clock_period(accelerator: Accelerator) -> float:
    """The clock period in ns: all parts one after the other (arXiv:2305.18335).

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    return sum(array_delays(accelerator).values())


def peak_energies(accelerator: Accelerator) -> tuple[PartEnergy, ...]:
    """Energy of all banks per cycle in pJ at full utilization, with no weight being written.

    Source: arXiv:2305.18335.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    macro, banks = macro_of(accelerator), accelerator.array.imc_sizes.banks
    energies = macro.cycle_energies(macro.columns, macro.rows)
    return tuple(PartEnergy(part=part, energy=pj * banks) for part, pj in energies.items())


def peak_performance(accelerator: Accelerator) -> PeakPerformance:
    """Performance of the array at full utilization; a multiply-accumulate is two operations.

    Memories other than the cells are left out (arXiv:2305.18335).

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    operations = 2 * accelerator.array.units / accelerator.array.operation_cycles
    tops = operations / clock_period(accelerator) / 1000
    return PeakPerformance(
        tops=tops,
        tops_per_watt=operations / sum(part.energy for part in peak_energies(accelerator)),
        tops_per_mm2=tops / sum(part.area for part in array_areas(accelerator)),
    )
