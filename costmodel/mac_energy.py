"""The energy of the array for a layer: known with the spatial mapping."""

from __future__ import annotations

from nestmap.costmodel.imc.layer import array_energies
from nestmap.model import PartEnergy, SpatialProblem


def computation_energies(spatial: SpatialProblem) -> tuple[PartEnergy, ...]:
    """What each part of an IMC array spends; nothing for any other array, which has no parts."""
    return array_energies(spatial) if spatial.accelerator.array.imc else ()


def computation_energy(spatial: SpatialProblem) -> float:
    """All multiply-accumulates of the layer (pJ), whatever its temporal mapping."""
    parts = computation_energies(spatial)
    if parts:
        return sum(part.energy for part in parts)
    return plain_energy(spatial.problem.layer.macs, spatial.accelerator.array.unit_energy)


def plain_energy(macs: int, unit_energy: float) -> float:
    """The same of an array whose units take ``unit_energy`` pJ for each of them."""
    return float(macs) * unit_energy
