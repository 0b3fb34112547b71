"""Technology scaling: converts costs of a circuit to another node and supply voltage.

Source of all tables: A. Stillmaker and B. Baas, "Scaling equations for the accurate prediction of
CMOS device performance from 180 nm to 7 nm", Integration, the VLSI Journal 58 (2017), 74-81: bulk
CMOS down to 65 nm, its high-performance figures from 45 nm on. Supply voltages are the nominal ones
of the Predictive Technology Models that the paper simulates.

Between the nodes of the tables factors are interpolated on a double logarithmic scale, at the same
share of the nominal voltage.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from nestmap.model import NestmapError

SMALLEST_NODE: Final = 7.0
"""The smallest node in nm that can be scaled to."""

LARGEST_NODE: Final = 180.0
"""The largest node in nm that can be scaled to."""

EXPECTED_NODE: Final = f"{SMALLEST_NODE:g} to {LARGEST_NODE:g} nm"
"""The valid technology nodes, in words."""

VOLTAGE_SHARES: Final = (0.75, 1.1)
"""Least and largest supply voltage as a share of the nominal one.

nestmap's own choice: beyond, the published polynomials are not monotonic or become negative.
"""


class _Row(NamedTuple):
    """A node of the tables: nm, V, area in that of 7 nm, polynomials in V (highest power first)."""

    nm: float
    vdd: float
    area: float
    energy: tuple[float, float, float]
    delay: tuple[float, float, float, float]


_TABLE: Final = (
    _Row(7, 0.70, 1.0, (0.1776, -0.09097, 0.02447), (-28.58, 76.6, -70.26, 24.69)),
    _Row(10, 0.75, 1.7, (0.2068, -0.09311, 0.02375), (-34.95, 93.65, -85.99, 30.4)),
    _Row(14, 0.80, 2.9, (0.2363, -0.09675, 0.02239), (-40.66, 109.2, -100.6, 35.92)),
    _Row(16, 0.85, 3.2, (0.2958, -0.1241, 0.03024), (0.0, 24.8, -47.52, 28.87)),
    _Row(20, 0.90, 3.6, (0.373, -0.1582, 0.04104), (0.0, 34.63, -66.37, 41.15)),
    _Row(32, 0.90, 7.8, (0.8367, -0.4341, 0.1701), (-1047.0, 2982.0, -2797.0, 873.5)),
    _Row(45, 1.00, 17.0, (1.018, -0.3107, 0.1539), (-501.6, 1567.0, -1619.0, 566.1)),
    _Row(65, 1.10, 25.0, (3.755, -4.398, 1.975), (-53.3, 230.4, -333.9, 178.6)),
    _Row(90, 1.20, 48.0, (4.762, -4.781, 2.092), (-60.34, 262.5, -384.2, 210.9)),
    _Row(130, 1.30, 110.0, (7.171, -6.709, 2.904), (-76.65, 334.9, -493.4, 275.8)),
    _Row(180, 1.80, 320.0, (0.0, 24.64, -17.98), (0.0, 97.09, -356.7, 406.5)),
)
_NODES: Final = tuple(row.nm for row in _TABLE)


@final
class UnknownNodeError(NestmapError, ValueError):
    """An unsupported technology node; the text gives the supported range."""

    def __init__(self, nm: float) -> None:
        self.nm = nm
        super().__init__(f"unknown technology node {nm:g} nm; expected {EXPECTED_NODE}")


def is_known_node(nm: float) -> bool:
    """Whether figures can be scaled to that node (in nm)."""
    return SMALLEST_NODE <= nm <= LARGEST_NODE


def nominal_voltage(nm: float) -> float:
    """The nominal supply voltage in V of a node, linear between the nodes of the table.

    Raises:
        UnknownNodeError: outside 7 to 180 nm.
    """
    low, high, share = _neighbours(nm)
    return low.vdd + (high.vdd - low.vdd) * share


@final
@dataclass(frozen=True, slots=True)
class Node:
    """A technology node in nm with its supply voltage in V.

    Raises:
        UnknownNodeError: outside 7 to 180 nm.
        ValueError: at a voltage outside ``VOLTAGE_SHARES`` of the nominal one.
    """

    nm: float
    vdd: float

    def __post_init__(self) -> None:
        least, most = (share * nominal_voltage(self.nm) for share in VOLTAGE_SHARES)
        if not least * (1 - 1e-9) <= self.vdd <= most * (1 + 1e-9):
            raise ValueError(
                f"supply voltage {self.vdd:g} V at {self.nm:g} nm; expected {least:.3g} to "
                f"{most:.3g} V"
            )

    @property
    def drive(self) -> float:
        """The supply voltage as a share of the nominal one."""
        return self.vdd / nominal_voltage(self.nm)


def nominal_node(nm: float) -> Node:
    """A node (in nm) at its nominal supply voltage.

    Raises:
        UnknownNodeError: outside 7 to 180 nm.
    """
    return Node(nm, nominal_voltage(nm))


def scale_energy(value: float, source: Node, target: Node) -> float:
    """The dynamic energy at ``target`` of a circuit with ``value`` at ``source``, same unit."""
    return value * (_factor(target, _energy) / _factor(source, _energy))


def scale_delay(value: float, source: Node, target: Node) -> float:
    """The delay at ``target`` of a circuit with ``value`` at ``source``, in the same unit."""
    return value * (_factor(target, _delay) / _factor(source, _delay))


def scale_area(value: float, source: Node, target: Node) -> float:
    """The area at ``target`` of a circuit with ``value`` at ``source``, in the same unit.

    The paper's table is rounded to two digits, so ratios differ from it by up to 5 %.
    """
    return value * (_factor(target, _area) / _factor(source, _area))


def scale_leakage(value: float, source: Node, target: Node) -> float:
    """The leakage power at ``target`` of a circuit with ``value`` at ``source``, in the same unit.

    The paper has no figures of leakage. This is off-current per transistor width, taken as the same
    in all nodes (roadmaps hold it near 100 nA/um for high-performance transistors), times width
    (with the root of the area), times voltage.
    """
    return value * (_leakage(target) / _leakage(source))


def _leakage(node: Node) -> float:
    return math.sqrt(_factor(node, _area)) * node.vdd


def _energy(row: _Row, vdd: float) -> float:
    return _polynomial(row.energy, vdd)


def _delay(row: _Row, vdd: float) -> float:
    return _polynomial(row.delay, vdd)


def _area(row: _Row, vdd: float) -> float:
    del vdd  # applies to energy and delay only
    return row.area


def _factor(node: Node, of: Callable[[_Row, float], float]) -> float:
    """A factor at a node: from the table, or interpolated between its neighbours."""
    low, high, share = _neighbours(node.nm)
    if low is high:
        return of(low, node.vdd)
    at_low, at_high = (math.log(of(row, node.drive * row.vdd)) for row in (low, high))
    share = math.log(node.nm / low.nm) / math.log(high.nm / low.nm)
    return math.exp(at_low + (at_high - at_low) * share)


def _neighbours(nm: float) -> tuple[_Row, _Row, float]:
    """The rows at or around a node, and its position between them, from 0 to 1."""
    if not is_known_node(nm):
        raise UnknownNodeError(nm)
    index = bisect_left(_NODES, nm)
    high = _TABLE[index]
    if high.nm == nm:
        return high, high, 0.0
    low = _TABLE[index - 1]
    return low, high, (nm - low.nm) / (high.nm - low.nm)


def _polynomial(coefficients: Sequence[float], at: float) -> float:
    total = 0.0
    for coefficient in coefficients:
        total = total * at + coefficient
    return total
