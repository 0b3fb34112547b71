"""The embedded cost model of SRAM and register files: a fit to CACTI 7.

From 64 B up, at 22 to 65 nm, figures are the fitted terms of ``sram_fit`` (CACTI's high-performance
transistors at 360 K, one bank, no error correction). The same terms extrapolate
sizes and widths beyond CACTI's grid.

Memories with few wide words, which CACTI does not support, use flip-flops if these take less
energy: an access then accesses every flip-flop, and the area is theirs.

CACTI does not support memories below 64 B either. There, energies fall linearly with the size, from
those of 64 B with the same width and ports to one flip-flop access for each bit accessed; the area
is that of the flip-flops, limited to that of 64 B, and leakage is the same share of that of 64 B.

The flip-flop is that of Aladdin's power model (Y. S. Shao et al., "Aladdin", ISCA 2014;
``power_func.h``: a register bit in a commercial 40 nm process at 1 ns).

Other nodes are scaled from 22 or 65 nm by ``costmodel.technology``, at nominal voltages.
"""

from typing import Final

from nestmap.costmodel.memory_cost import sram_fit
from nestmap.costmodel.memory_cost.terms import (
    FITTED_NODES,
    Factors,
    port_factors,
    size_factors,
    total,
    width_factors,
)
from nestmap.costmodel.technology import Node, nominal_node, scale_area, scale_energy, scale_leakage
from nestmap.model import MemoryCost, MemoryMacro

SMALLEST_SRAM: Final = 512
"""Bits of the smallest memory that CACTI supports."""

FLIP_FLOP_NODE: Final = 40.0
"""The node in nm of the flip-flop's figures."""

FLIP_FLOP_ACCESS: Final = 8.999495e-3
"""Energy in pJ of a read or write of one bit in a flip-flop at ``FLIP_FLOP_NODE``."""

FLIP_FLOP_AREA: Final = 5.981433e-6
"""Area in mm2 of a flip-flop at ``FLIP_FLOP_NODE``."""


def fitted_cost(macro: MemoryMacro) -> MemoryCost:
    """The cost of a memory: pJ per access of its full width, mm2, mW.

    Energies, area and leakage never decrease with size, width, ports or node.

    Raises:
        UnknownNodeError: for a node outside 7 to 180 nm.
    """
    target = nominal_node(macro.technology)
    fitted = min(max(macro.technology, FITTED_NODES[0]), FITTED_NODES[-1])
    at_fitted = _registers if macro.size < SMALLEST_SRAM else _sram
    return _scaled(at_fitted(macro, fitted), nominal_node(fitted), target)


def _sram(macro: MemoryMacro, node: float) -> MemoryCost:
    """At least 64 B at a node between the fitted ones: the fitted terms, or flip-flops."""
    ports = _ports(macro)
    size = max(macro.size, SMALLEST_SRAM)
    at = Factors(size_factors(size), width_factors(macro.width), port_factors(ports), node)
    access, area = size * _flip_flop_access(node), size * _flip_flop_area(node, ports)
    return MemoryCost(
        read_energy=min(total(sram_fit.READ_ENERGY, at), access),
        write_energy=min(total(sram_fit.WRITE_ENERGY, at), access),
        area=min(total(sram_fit.AREA, at), area),
        leakage=total(sram_fit.LEAKAGE, at),
    )


def _registers(macro: MemoryMacro, node: float) -> MemoryCost:
    """Below 64 B: between flip-flops and the 64 B of the same width and ports."""
    sram = _sram(macro, node)
    bit = _flip_flop_access(node)
    share = macro.size / SMALLEST_SRAM
    return MemoryCost(
        read_energy=min(_between(macro.width * bit, sram.read_energy, share), macro.size * bit),
        write_energy=min(_between(macro.width * bit, sram.write_energy, share), macro.size * bit),
        area=min(macro.size * _flip_flop_area(node, _ports(macro)), sram.area),
        leakage=sram.leakage * share,
    )


def _between(least: float, most: float, share: float) -> float:
    """From ``least``, but at most ``most``, at share 0 to ``most`` at share 1."""
    if least >= most:
        return most
    return least * (1 - share) + most * share


def _flip_flop_access(node: float) -> float:
    return scale_energy(FLIP_FLOP_ACCESS, nominal_node(FLIP_FLOP_NODE), nominal_node(node))


def _flip_flop_area(node: float, ports: int) -> float:
    """The area of a bit: like an SRAM cell, it grows with the ports in both directions."""
    return (
        ports * ports * scale_area(FLIP_FLOP_AREA, nominal_node(FLIP_FLOP_NODE), nominal_node(node))
    )


def _ports(macro: MemoryMacro) -> int:
    return macro.read_ports + macro.write_ports + macro.read_write_ports


def _scaled(cost: MemoryCost, source: Node, target: Node) -> MemoryCost:
    if source == target:
        return cost
    return MemoryCost(
        read_energy=scale_energy(cost.read_energy, source, target),
        write_energy=scale_energy(cost.write_energy, source, target),
        area=scale_area(cost.area, source, target),
        leakage=scale_leakage(cost.leakage, source, target),
    )
