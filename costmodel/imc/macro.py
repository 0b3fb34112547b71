"""One macro of an IMC array: energies per cycle, areas and delays of its components.

Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
M. Verhelst, ICCAD 2023, arXiv:2405.14978.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

from nestmap.costmodel.imc.blocks import (
    Circuits,
    adc_area,
    adc_delay,
    adc_energy,
    circuits_of,
    dac_energy,
)
from nestmap.costmodel.imc.trees import (
    Accumulator,
    AdderTree,
    PlaceValueTree,
    accumulator,
    adder_tree,
    place_value_tree,
)
from nestmap.model import ArrayPart, ImcKind, InMemoryCompute

Parts = dict[ArrayPart, float]
"""One figure per component."""


@final
@dataclass(frozen=True)
class Macro:
    """A macro of ``columns`` weights side by side, each column with ``rows`` of them.

    Of parts that exist once per column: converters once for each bit of a weight, adder trees
    (digital) once for each bit of a slice of the activation, place-value trees and accumulators
    once.
    """

    imc: InMemoryCompute
    columns: int
    rows: int

    @property
    def is_analog(self) -> bool:
        """Whether bit lines add and converters read them."""
        return self.imc.kind is ImcKind.ANALOG

    @cached_property
    def circuits(self) -> Circuits:
        """The circuits of logic and cells."""
        return circuits_of(self.imc)

    @cached_property
    def tree(self) -> AdderTree:
        """The adder tree (of a digital macro)."""
        return adder_tree(self.imc, self.rows)

    @cached_property
    def place_values(self) -> PlaceValueTree:
        """The place-value tree."""
        return place_value_tree(self.imc, self.rows)

    @cached_property
    def accumulator(self) -> Accumulator:
        """The accumulator."""
        return accumulator(self.imc, self.rows)

    def cycle_energies(self, columns: int, rows: int) -> Parts:
        """Energies per cycle in pJ with ``columns`` and ``rows`` in use (arXiv:2405.14978).

        Unused columns take no energy, except in the multipliers. In unused rows, analog
        multipliers and DACs take no energy, bit lines always the full energy; digital
        multipliers take the full energy, adder trees that of the toggling adders.
        """
        if self.is_analog:
            energies = self._analog_energies(columns, rows)
        else:
            energies = self._digital_energies(columns, rows)
        adders = self.place_values.adders * columns
        return energies | {
            ArrayPart.PLACE_VALUE_ADDERS: adders * self.circuits.adder_energy,
            ArrayPart.ACCUMULATORS: self.accumulator.energy(self.circuits) * columns,
        }

    def _analog_energies(self, columns: int, rows: int) -> Parts:
        imc, circuits = self.imc, self.circuits
        bits = imc.weight_precision
        converter = adc_energy(imc.adc_resolution, circuits.voltage)
        return {
            ArrayPart.DACS: dac_energy(imc.bit_serial_precision, circuits.voltage) * rows,
            ArrayPart.ADCS: converter * bits * columns,
            ArrayPart.MULTIPLIERS: circuits.multiplier_energy * bits * self.columns * rows,
            ArrayPart.BIT_LINES: circuits.cell_line_energy * bits * columns * self.rows,
            ArrayPart.ADDER_TREES: 0.0,
        }

    def _digital_energies(self, columns: int, rows: int) -> Parts:
        serial = self.imc.bit_serial_precision
        multipliers = serial * self.imc.weight_precision * self.columns * self.rows
        trees = serial * columns
        return {
            ArrayPart.DACS: 0.0,
            ArrayPart.ADCS: 0.0,
            ArrayPart.MULTIPLIERS: self.circuits.multiplier_energy * multipliers,
            ArrayPart.BIT_LINES: 0.0,
            ArrayPart.ADDER_TREES: self.tree.toggling(rows).energy(self.circuits) * trees,
        }

    def areas(self) -> Parts:
        """Areas in mm2 (arXiv:2305.18335); without the cells, and DACs are taken as free."""
        imc, circuits, columns = self.imc, self.circuits, self.columns
        bits, serial = imc.weight_precision, imc.bit_serial_precision
        slices = 1 if self.is_analog else serial
        trees = 0 if self.is_analog else self.tree.adders * serial * columns
        return {
            ArrayPart.DACS: 0.0,
            ArrayPart.ADCS: adc_area(imc.adc_resolution) * bits * columns,
            ArrayPart.MULTIPLIERS: circuits.nand_area * bits * slices * columns * self.rows,
            ArrayPart.ADDER_TREES: circuits.adder_area * trees,
            ArrayPart.PLACE_VALUE_ADDERS: circuits.adder_area * self.place_values.adders * columns,
            ArrayPart.ACCUMULATORS: self.accumulator.area(circuits) * columns,
        }

    def delays(self) -> Parts:
        """Delays in ns (arXiv:2305.18335); signals go through the parts one after the other."""
        circuits = self.circuits
        return {
            ArrayPart.DACS: 0.0,
            ArrayPart.ADCS: adc_delay(self.imc.adc_resolution, self.rows),
            ArrayPart.MULTIPLIERS: circuits.nand_delay,
            ArrayPart.ADDER_TREES: 0.0 if self.is_analog else self.tree.delay(circuits),
            ArrayPart.PLACE_VALUE_ADDERS: self.place_values.delay(circuits),
            ArrayPart.ACCUMULATORS: self.accumulator.delay(circuits),
        }
