"""The form of the fitted SRAM model: sums of terms that rise with size, width, ports and node.

A figure is the sum of non-negative coefficients, each times one factor of the size, one of the
width and one of the ports. No factor decreases, and no coefficient decreases from a node to the
next larger one, so the figure is monotonic, between the points of the fit and beyond them.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

FITTED_NODES: Final = (22.0, 32.0, 45.0, 65.0)
"""The technology nodes in nm for which a term has a coefficient."""

KNEES: Final = tuple(2.0**power for power in range(9, 29, 2))
"""Sizes in bits at which a factor is half its final value: 64 B, 256 B, ... 16 MiB.

CACTI divides a memory of more than such a size into more banks and mats, whose wires do not grow.
"""

SIZE_UNIT: Final = 2.0**18
"""32 KiB in bits: sizes are counted in it, so that coefficients are of similar magnitude."""

WIDTH_UNIT: Final = 64.0
"""Bits of an access that widths are counted in."""

WIDTH_KNEES: Final = (16.0, 64.0, 256.0)
"""Widths in bits at which a factor is half its final value."""


class Term(NamedTuple):
    """One term: which factors it multiplies, and its coefficient at each of ``FITTED_NODES``."""

    size: int
    width: int
    ports: int
    coefficients: tuple[float, float, float, float]


def size_factors(size: float) -> tuple[float, ...]:
    """The factors of a size in bits: 1, its root, itself, then one saturating factor per knee."""
    scaled = size / SIZE_UNIT
    return (1.0, math.sqrt(scaled), scaled, *(_levelling(size, knee) for knee in KNEES))


def width_factors(width: float) -> tuple[float, ...]:
    """The factors of a width in bits per access: 1, itself, its square, one per knee."""
    scaled = width / WIDTH_UNIT
    return (1.0, scaled, scaled * scaled, *(_levelling(width, knee) for knee in WIDTH_KNEES))


def _levelling(value: float, knee: float) -> float:
    """Rises with the square of the value from 0 to 1/2 at the knee, then saturates at 1.

    Written such that it is also monotonic in floating point, where each operation rounds.
    """
    return 1.0 - knee * knee / (value * value + knee * knee)


def port_factors(ports: int) -> tuple[float, ...]:
    """The factors of a number of ports: 1, those beyond the first, the square of these.

    Each port beyond the first adds a word line and bit lines to every cell: to its height and to
    its width, so to its area in the square.
    """
    more = float(ports - 1)
    return (1.0, more, more * more)


def between_nodes(coefficients: Sequence[float], node: float) -> float:
    """A coefficient at a node from 22 to 65 nm: linear in the logarithm of the node."""
    for index, high in enumerate(FITTED_NODES):
        if node == high:
            return coefficients[index]
        if node < high:
            low = FITTED_NODES[index - 1]
            share = math.log(node / low) / math.log(high / low)
            least, most = coefficients[index - 1], coefficients[index]
            return min(most, least + (most - least) * share)
    raise ValueError(f"node {node} nm; expected one up to {FITTED_NODES[-1]:g} nm")


class Factors(NamedTuple):
    """All factors of a memory at a node in nm, at which terms are evaluated."""

    size: tuple[float, ...]
    width: tuple[float, ...]
    ports: tuple[float, ...]
    node: float


def total(terms: Sequence[Term], at: Factors) -> float:
    """The sum of the terms, in the unit of their coefficients."""
    return sum(
        between_nodes(term.coefficients, at.node)
        * at.size[term.size]
        * at.width[term.width]
        * at.ports[term.ports]
        for term in terms
    )
