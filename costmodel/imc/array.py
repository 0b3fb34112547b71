"""Workload-independent figures of an IMC array: area, clock, peak performance.

Each function is for an accelerator whose array computes in memory (``array.imc``).

Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
M. Verhelst, ICCAD 2023, arXiv:2405.14978.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

from nestmap.costmodel.imc.blocks import (
    Circuits,
    adc_area,
    adc_delay,
    adc_energy,
    circuits_of,
    dac_energy,
)
from nestmap.model import (
    Accelerator,
    ArrayPart,
    ImcKind,
    InMemoryCompute,
    PartArea,
    PartEnergy,
    PeakPerformance,
)

# --- one macro of an IMC array: energies per cycle, areas and delays of its components ---
# Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
# M. Verhelst, ICCAD 2023, arXiv:2405.14978.

# --- adders of an IMC array: trees over rows, trees over place values, accumulators ---
# Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
# M. Verhelst, ICCAD 2023, arXiv:2405.14978.


class Toggling(NamedTuple):
    """1-bit adders that toggle: with both inputs, or with one of them idle."""

    full: int
    half: int

    def energy(self, circuits: Circuits) -> float:
        """Their energy in pJ."""
        return self.full * circuits.adder_energy + self.half * circuits.idle_adder_energy


@final
@dataclass(frozen=True, slots=True)
class AdderTree:
    """A tree of ripple-carry adders that sums ``inputs`` numbers of ``width`` bit.

    ``inputs`` is a power of two.
    """

    inputs: int
    width: int

    @property
    def depth(self) -> int:
        """Adders in series: ``log2 H``."""
        return log2(self.inputs)

    @property
    def output_width(self) -> int:
        """Bits of the sum."""
        return self.width + self.depth

    @property
    def adders(self) -> int:
        """1-bit adders: ``m (P_w + 1) - (P_w + log2 m + 1)`` (arXiv:2305.18335).

        The sum of ``P_w`` in each of ``m / 2`` adders at the leaves, one more at each level.
        """
        return self.inputs * (self.width + 1) - (self.output_width + 1)

    def toggling(self, used: int) -> Toggling:
        """The adders that toggle if the first ``used`` inputs do (arXiv:2405.14978).

        An adder of two subtrees is fully active if both are, half if only the first one is.
        """
        if used < 1 or used >= self.inputs:
            return Toggling(self.adders if used >= self.inputs else 0, 0)
        half = AdderTree(self.inputs // 2, self.width)
        if used > half.inputs:
            second = half.toggling(used - half.inputs)
            return Toggling(half.adders + second.full + half.output_width, second.half)
        first = half.toggling(used)
        return Toggling(first.full, first.half + half.output_width)

    def delay(self, circuits: Circuits) -> float:
        """``(h - 1) t_s + t_c + (P_w + h - 2) t_cc`` in ns (arXiv:2305.18335).

        This also applies to a tree of one input, as in the reference, but is limited to 0 or more:
        the formula is negative for weights of 1 or 2 bit.
        """
        sums = (self.depth - 1) * circuits.sum_delay + circuits.carry_out_delay
        return max(0.0, sums + (self.output_width - 2) * circuits.carry_delay)


@final
@dataclass(frozen=True, slots=True)
class PlaceValueTree:
    """A tree that adds ``inputs`` numbers of ``width`` bit, each worth twice the one before."""

    inputs: int
    width: int

    @property
    def output_width(self) -> int:
        """Bits of the sum (arXiv:2305.18335)."""
        return self.width if self.inputs == 1 else self.width + self.inputs

    @property
    def adders(self) -> float:
        """1-bit adders: ``p (k - 1) + k (log2 k - 1/2)``; none for one input (arXiv:2305.18335)."""
        k = self.inputs
        return 0.0 if k == 1 else self.width * (k - 1) + k * (log2(k) - 0.5)

    def delay(self, circuits: Circuits) -> float:
        """``(log2 k - 1) t_s + t_c + (k - 1) t_cc`` in ns; 0 for one input (arXiv:2305.18335)."""
        if self.inputs == 1:
            return 0.0
        sums = (log2(self.inputs) - 1) * circuits.sum_delay + circuits.carry_out_delay
        return sums + (self.inputs - 1) * circuits.carry_delay


@final
@dataclass(frozen=True, slots=True)
class Accumulator:
    """Adders and registers of ``width`` bit that add ``added`` bits a cycle; of 0 bit: none."""

    width: int
    added: int

    def energy(self, circuits: Circuits) -> float:
        """``L (e_add + e_reg)`` in pJ (arXiv:2305.18335)."""
        return self.width * (circuits.adder_energy + circuits.register_energy)

    def area(self, circuits: Circuits) -> float:
        """``L (a_add + a_reg)`` in mm2 (arXiv:2305.18335)."""
        return self.width * (circuits.adder_area + circuits.register_area)

    def delay(self, circuits: Circuits) -> float:
        """``t_c + (L - q - 1) t_cc`` in ns, ``q`` bits being added (arXiv:2305.18335)."""
        if not self.width:
            return 0.0
        carries = self.width - self.added - 1
        return circuits.carry_out_delay + carries * circuits.carry_delay


def adder_tree(imc: InMemoryCompute, rows: int) -> AdderTree:
    """The tree over the rows of a weight column of a digital array, one for each serial bit."""
    return AdderTree(rows, imc.weight_precision)


def place_value_tree(imc: InMemoryCompute, rows: int) -> PlaceValueTree:
    """The tree behind a weight column.

    It adds the outputs of the converters of the weight's bits (analog), or of the adder trees of
    the activation's bits (digital).
    """
    if imc.kind is ImcKind.ANALOG:
        return PlaceValueTree(imc.weight_precision, imc.adc_resolution)
    return PlaceValueTree(imc.bit_serial_precision, adder_tree(imc, rows).output_width)


def accumulator(imc: InMemoryCompute, rows: int) -> Accumulator:
    """The accumulator of a weight column over the cycles of an operation; none for one cycle.

    As wide as activation, weight and, analog, the converter's figure or, digital, the depth of the
    adder tree together (arXiv:2305.18335).
    """
    if imc.bit_serial_precision == imc.activation_precision:
        return Accumulator(0, 0)
    more = imc.adc_resolution if imc.kind is ImcKind.ANALOG else log2(rows)
    width = imc.activation_precision + imc.weight_precision + more
    return Accumulator(width, place_value_tree(imc, rows).output_width)


def log2(power: int) -> int:
    """The logarithm of a power of two."""
    return power.bit_length() - 1


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


# --- workload-independent figures of an IMC array: area, clock, peak performance ---


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
