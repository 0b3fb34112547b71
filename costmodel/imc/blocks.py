"""The building blocks of an IMC array: energy, area and delay of each, at a node and a voltage.

Energies are in pJ for one activation (a cycle), areas in mm2, delays in ns, capacitances in pF.

Source of blocks and constants: P. Houshmand, J. Sun and M. Verhelst, Benchmarking and modeling of
analog and digital SRAM in-memory computing architectures, arXiv:2305.18335 (2023); J. Sun,
P. Houshmand and M. Verhelst, Analog or Digital In-Memory Computing? Benchmarking through
Quantitative Modeling, ICCAD 2023, arXiv:2405.14978. Their constants are those of 28 nm at 0.9 V;
:func:`circuits_of` scales logic and cells to other nodes and voltages. Converters keep their
capacitances, areas and delays: noise and matching determine them, not the node.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

from nestmap.costmodel.technology import (
    nominal_node,
    nominal_voltage,
    scale_area,
    scale_delay,
    scale_energy,
)
from nestmap.model import InMemoryCompute, NestmapError

REFERENCE_NODE: Final = 28.0
"""The node in nm of the published constants; its nominal voltage is theirs, too."""

_NAND_CAPACITANCE = 0.7e-3
_NAND_AREA = 0.614e-6
_NAND_DELAY = 0.0478

# Of delays: an exponent usual for short channels (the law has 2 for long ones, 1 where velocity
# saturates), and the threshold voltage as a share of the nominal supply. Both are choices of ours.
_ALPHA = 1.3
_THRESHOLD = 1 / 3


@final
class SupplyVoltageError(NestmapError, ValueError):
    """A supply voltage at which transistors do not conduct; the text gives the valid range."""

    def __init__(self, voltage: float, node: float) -> None:
        least = _THRESHOLD * nominal_voltage(node)
        super().__init__(
            f"supply voltage {voltage:g} V at {node:g} nm; expected more than the threshold "
            f"voltage, {least:.3g} V (nominal is {nominal_voltage(node):g} V)"
        )


@final
@dataclass(frozen=True, slots=True)
class Circuits:
    """Logic and cells of a node at a supply voltage (V), in terms of a 2-input NAND.

    Ratios to the NAND: arXiv:2305.18335, arXiv:2405.14978.
    """

    voltage: float
    nand_capacitance: float
    nand_area: float
    nand_delay: float

    def switching(self, capacitance: float) -> float:
        """``C V^2``: the energy of charging a capacitance once."""
        return capacitance * self.voltage**2

    @property
    def cell_line_energy(self) -> float:
        """``C_bl V^2`` and ``C_wl V^2``: one SRAM cell on a bit line or word line, half a NAND."""
        return self.switching(self.nand_capacitance / 2)

    @property
    def multiplier_energy(self) -> float:
        """``0.5 C_nand V^2``: a 1-bit multiplier is a gate whose weight input does not toggle."""
        return self.switching(self.nand_capacitance / 2)

    @property
    def adder_energy(self) -> float:
        """``(3 C_nand + 2 C_xor) V^2`` of a 1-bit full adder: 3 NAND and 2 XOR of 1.5 NAND each."""
        return self.switching(3 * self.nand_capacitance) + self.idle_adder_energy

    @property
    def idle_adder_energy(self) -> float:
        """``2 C_xor V^2``: a 1-bit full adder of which one input does not toggle."""
        return self.switching(2 * 1.5 * self.nand_capacitance)

    @property
    def register_energy(self) -> float:
        """``C_dff V^2`` of a 1-bit register: a flip-flop is 3 NAND."""
        return self.switching(3 * self.nand_capacitance)

    @property
    def adder_area(self) -> float:
        """``3 A_nand + 2 A_xor`` of a 1-bit full adder; an XOR is 2.4 NAND."""
        return (3 + 2 * 2.4) * self.nand_area

    @property
    def register_area(self) -> float:
        """``6 A_nand`` of a 1-bit register."""
        return 6 * self.nand_area

    @property
    def sum_delay(self) -> float:
        """``2 t_xor``: from an input of a full adder to its sum; an XOR takes 2.4 NAND."""
        return 2 * 2.4 * self.nand_delay

    @property
    def carry_out_delay(self) -> float:
        """``t_xor + 2 t_nand``: from an input of a full adder to its carry."""
        return (2.4 + 2) * self.nand_delay

    @property
    def carry_delay(self) -> float:
        """``2 t_nand``: from the carry of a full adder to the next one."""
        return 2 * self.nand_delay


def circuits_of(imc: InMemoryCompute) -> Circuits:
    """Logic and cells as ``imc`` has them: exactly the published constants at 28 nm and 0.9 V.

    Between nodes capacitance goes with ``energy / V^2`` at nominal voltage, area and delay with
    those of :mod:`nestmap.costmodel.technology` (source there). With the voltage at a node, energy
    goes as ``C V^2``, and delay as ``V / (V - V_t)^1.3``: the alpha-power law of T. Sakurai and
    A. R. Newton, IEEE JSSC 25(2), 1990, with a third of the nominal voltage as threshold ``V_t``.
    The published polynomials are not used for the voltage: near 28 nm their delay has a minimum.

    Raises:
        UnknownNodeError: outside the nodes that can be scaled to.
        SupplyVoltageError: at a voltage not above the threshold.
    """
    return _circuits(imc.technology, imc.supply_voltage)


@lru_cache(maxsize=64)
def _circuits(node: float, voltage: float) -> Circuits:
    here, there = nominal_node(REFERENCE_NODE), nominal_node(node)
    charge = (scale_energy(1.0, here, there) / there.vdd**2) * here.vdd**2
    slower = _voltage_delay(node, voltage) / _voltage_delay(node, there.vdd)
    return Circuits(
        voltage=voltage,
        nand_capacitance=_NAND_CAPACITANCE * charge,
        nand_area=scale_area(_NAND_AREA, here, there),
        nand_delay=scale_delay(_NAND_DELAY, here, there) * slower,
    )


def _voltage_delay(node: float, voltage: float) -> float:
    excess = voltage - _THRESHOLD * nominal_voltage(node)
    if not excess > 0:
        raise SupplyVoltageError(voltage, node)
    return voltage / math.pow(excess, _ALPHA)


def dac_energy(bits: int, voltage: float) -> float:
    """``0.05 b V^2``: a converter of a row has 50 fF per bit; at 1 bit there is none.

    Source: arXiv:2305.18335, arXiv:2405.14978.
    """
    return 0.05 * bits * voltage**2 if bits > 1 else 0.0


def adc_energy(resolution: int, voltage: float) -> float:
    """``(k5 R + k6 4^R) V^2``, 100 fF and 1 aF; without a resolution there is no converter.

    Source of the form: B. Murmann, Mixed-signal computing for deep neural network inference, IEEE
    TVLSI 29(1), 2021; of the constants: arXiv:2305.18335.
    """
    return (100 * resolution + 1e-3 * 4.0**resolution) / 1000 * voltage**2 if resolution else 0.0


def adc_area(resolution: int) -> float:
    """``10^(1.206 - 0.0369 R) 2^R`` um2, a fit to three published 28 nm macros; 0 up to 1 bit.

    Source: arXiv:2305.18335, arXiv:2405.14978.
    """
    return 10.0 ** (1.206 - 0.0369 * resolution) * 2.0**resolution * 1e-6 if resolution > 1 else 0.0


def adc_delay(resolution: int, rows: int) -> float:
    """``R (0.00653 H + 0.640)``: each bit takes longer on a longer bit line.

    Source: arXiv:2305.18335, arXiv:2405.14978.
    """
    return resolution * (0.00653 * rows + 0.640)
