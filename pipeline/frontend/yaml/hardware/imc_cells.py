"""Costs the cells of an IMC array with a memory model, as their share of a bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model import ImcSizes, InMemoryCompute, MemoryCost, MemoryMacro


@final
@dataclass(frozen=True, slots=True)
class Bank:
    """One bank of an IMC array: an SRAM with rows as wide as the weights of all columns."""

    sizes: ImcSizes
    imc: InMemoryCompute

    def macro(self, size: int, technology: float | None) -> MemoryMacro:
        """The bank as an SRAM, with ``size`` bits of cells per unit.

        ``technology`` is in nm (``None``: the node of the array).
        """
        return MemoryMacro(
            size=size * self.sizes.columns * self.sizes.rows,
            width=self.sizes.columns * self.imc.weight_precision,
            read_write_ports=1,
            technology=technology or self.imc.technology,
        )

    def share(self, cost: MemoryCost, width: int) -> MemoryCost:
        """The cost of a unit's cells, given the cost of the bank; an access is ``width`` bits wide.

        A write costs its share of a row. A read costs nothing here: the array reads the cells when
        it computes, and its own components include that energy.
        """
        units = self.sizes.columns * self.sizes.rows
        row = self.sizes.columns * self.imc.weight_precision
        return MemoryCost(
            read_energy=0.0,
            write_energy=cost.write_energy * width / row,
            area=cost.area / units,
            leakage=cost.leakage / units,
        )
