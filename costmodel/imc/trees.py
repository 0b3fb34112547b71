"""Adders of an IMC array: trees over rows, trees over place values, accumulators.

Source: P. Houshmand, J. Sun and M. Verhelst, arXiv:2305.18335 (2023); J. Sun, P. Houshmand and
M. Verhelst, ICCAD 2023, arXiv:2405.14978.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from nestmap.costmodel.imc.blocks import Circuits
from nestmap.model import ImcKind, InMemoryCompute


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
