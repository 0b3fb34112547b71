"""The energy of the array for a layer, which depends only on the spatial mapping."""

from nestmap.costmodel.imc.layer import array_energies
from nestmap.costmodel.zeros import gated_macs
from nestmap.model import MappingProblem, PartEnergy, SpatialProblem


def computation_energies(spatial: SpatialProblem) -> tuple[PartEnergy, ...]:
    """The energy of each component of an IMC array; empty for other arrays."""
    return array_energies(spatial) if spatial.accelerator.array.imc else ()


def computation_energy(spatial: SpatialProblem) -> float:
    """The energy of all multiply-accumulates of the layer (pJ), for any temporal mapping."""
    parts = computation_energies(spatial)
    if parts:
        return sum(part.energy for part in parts)
    return plain_computation_energy(spatial.problem)


def plain_computation_energy(problem: MappingProblem) -> float:
    """The same for an array that does not compute in memory, whatever the spatial mapping."""
    unit_energy = problem.accelerator.array.unit_energy
    return plain_energy(problem.layer.macs, gated_macs(problem), unit_energy)


def plain_energy(macs: int, gated: float, unit_energy: float) -> float:
    """The same where ``gated`` operations do nothing and all others take ``unit_energy`` pJ."""
    return (float(macs) - gated) * unit_energy
