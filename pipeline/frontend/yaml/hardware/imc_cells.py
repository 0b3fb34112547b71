"""What the cells of an IMC array cost where a model of memories is asked: their share of a bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model import ImcSizes, InMemoryCompute, MemoryCost, MemoryMacro


@final
@dataclass(frozen=True, slots=True)
class Bank:
    """One bank of an IMC array: an SRAM of its rows, each as wide as the weights of all columns."""

    sizes: ImcSizes
    imc: InMemoryCompute

    def macro(self, size: int, technology: float | None) -> MemoryMacro:
        """The bank as an SRAM, where a unit has ``size`` bits of cells.

        In the node of the array, unless another one is named.
        """
        return MemoryMacro(
            size=size * self.sizes.columns * self.sizes.rows,
            width=self.sizes.columns * self.imc.weight_precision,
            read_write_ports=1,
            technology=technology or self.imc.technology,
        )

    def share(self, cost: MemoryCost, width: int) -> MemoryCost:
        """The cells of a unit, out of what the bank costs; an access is ``width`` bits wide.

        A write is its part of a row. Reading is what the array does when it computes: its own
        parts have that energy.
        """
        units = self.sizes.columns * self.sizes.rows
        row = self.sizes.columns * self.imc.weight_precision
        return MemoryCost(
            read_energy=0.0,
            write_energy=cost.write_energy * width / row,
            area=cost.area / units,
            leakage=cost.leakage / units,
        )
