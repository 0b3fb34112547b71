"""In-memory computing (IMC): arrays that multiply in the memory that stores the weights."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.units import Bits, NanoMeters, Volts

IMC_CELLS: Final = "cells"
"""The name of the memory that is the array of an IMC accelerator."""


class ImcKind(StrEnum):
    """How an IMC array adds: analog currents on bit lines, or digital logic next to the cells."""

    ANALOG = "analog"
    DIGITAL = "digital"


class ArrayPart(StrEnum):
    """The circuits of an IMC array in the breakdown of its costs."""

    CELLS = "cells"
    DACS = "dacs"
    ADCS = "adcs"
    MULTIPLIERS = "mults"
    BIT_LINES = "analog_bl_addition"
    ADDER_TREES = "adders_regular"
    PLACE_VALUE_ADDERS = "adders_pv"
    ACCUMULATORS = "accumulators"


class InMemoryCompute(Frozen, frozen=True):
    """The circuits of an IMC array; precisions in bits.

    An activation enters in slices of ``bit_serial_precision`` bits, one per cycle.
    ``adc_resolution`` is that of the converters at the bit lines of an analog array (0: no
    converter cost). The SRAM cells of a multiplier are the memory :data:`IMC_CELLS`. ``technology``
    is the node in nm.

    Source: Houshmand, Sun and Verhelst, arXiv:2305.18335; Sun, Houshmand and Verhelst,
    ICCAD 2023 (arXiv:2405.14978).
    """

    kind: ImcKind
    activation_precision: Bits
    weight_precision: Bits
    bit_serial_precision: Bits
    adc_resolution: int = Field(default=0, ge=0, le=32)
    technology: NanoMeters = 28.0
    supply_voltage: Volts = 0.9

    @model_validator(mode="after")
    def _check_precisions(self) -> InMemoryCompute:
        for what, bits in (
            ("activation precision", self.activation_precision),
            ("weight precision", self.weight_precision),
            ("bit-serial precision", self.bit_serial_precision),
        ):
            if bits < 1 or bits & (bits - 1):
                raise ValueError(f"{what} {bits} bit; expected a power of two")
        if self.bit_serial_precision > self.activation_precision:
            raise ValueError(
                f"bit-serial precision {self.bit_serial_precision} bit; expected at most the "
                f"activation precision, {self.activation_precision}"
            )
        if self.kind is ImcKind.DIGITAL and self.adc_resolution:
            raise ValueError(
                f"adc_resolution {self.adc_resolution} of a digital array; expected 0: it has no "
                "converters"
            )
        return self

    @property
    def cycles_per_operation(self) -> float:
        """Cycles to enter all bits of an activation."""
        return self.activation_precision / self.bit_serial_precision


class ImcSizes(Frozen, frozen=True):
    """The size of an IMC array in weights: ``columns`` (outputs) by ``rows`` (summed inputs).

    ``banks`` is the number of identical macros of that size.
    """

    columns: int
    rows: int
    banks: int


class PeakPerformance(Frozen, frozen=True):
    """The peak performance of a fully used IMC array, in 10^12 operations.

    ``tops`` per second, ``tops_per_watt`` per joule, ``tops_per_mm2`` per second and mm2 of the
    array.
    """

    tops: float
    tops_per_watt: float
    tops_per_mm2: float
