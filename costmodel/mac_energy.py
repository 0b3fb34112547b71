"""The energy of the array for a layer, which depends only on the spatial mapping."""

from __future__ import annotations

from nestmap.costmodel.imc.layer import array_energies
from nestmap.model import PartEnergy, SpatialProblem


def computation_energies(spatial: SpatialProblem) -> tuple[PartEnergy, ...]:
    """The energy of each component of an IMC array; empty for other arrays."""
    return array_energies(spatial) if spatial.accelerator.array.imc else ()


def computation_energy(spatial: SpatialProblem) -> float:
    """The energy of all multiply-accumulates of the layer (pJ), for any temporal mapping."""
    parts = computation_energies(spatial)
    if parts:
        return sum(part.energy for part in parts)
    return plain_energy(spatial.problem.layer.macs, spatial.accelerator.array.unit_energy)


def plain_energy(macs: int, unit_energy: float) -> float:
    """The same for an array whose units take ``unit_energy`` pJ per multiply-accumulate."""
    return float(macs) * unit_energy
