"""Whether mapping constraints suit a workload and an accelerator, before any search begins."""

from __future__ import annotations

from nestmap.model import InputError, LayerConstraints, NetworkProblem
from nestmap.model.dims import Dimension


def check_constraints(network: NetworkProblem, where: str) -> None:
    """Checks that there is a layer, and the spatial mapping of every entry that some layer uses.

    Raises:
        InputError: for an unrolling over something that neither the array nor any of the layers
            has, or over more units than there are; ``where`` names the file.
    """
    if not network.workload.layers:
        raise InputError(
            f"workload {network.workload.name}",
            "no layer that the array computes",
            "at least one convolution or matrix product",
        )
    dimensions: dict[str, set[Dimension]] = {}
    for layer in network.workload.layers:
        target = network.constraints.of(layer).target
        dimensions.setdefault(target, set()).update(layer.sizes)
    for entry in network.constraints.entries:
        if entry.target in dimensions:
            _check_entry(network, entry, dimensions[entry.target], f"{where}: {entry.target}")


def _check_entry(
    network: NetworkProblem, entry: LayerConstraints, dimensions: set[Dimension], where: str
) -> None:
    sizes = network.accelerator.array.sizes
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        here = f"{where}: spatial_mapping.{unrolling.array_dimension}"
        if unrolling.array_dimension not in sizes:
            raise InputError(
                here,
                f"array dimension {unrolling.array_dimension}",
                f"one of {', '.join(sizes)}, the array of {network.accelerator.name}",
            )
        if unrolling.factor > sizes[unrolling.array_dimension]:
            raise InputError(
                here,
                f"{unrolling}, {unrolling.factor} units",
                f"at most the {sizes[unrolling.array_dimension]} units of the array",
            )
        for loop in unrolling.loops:
            if loop.size > 1 and loop.dimension not in dimensions:
                raise InputError(
                    here,
                    f"loop dimension {loop.dimension}",
                    f"a dimension of some layer it is for: {', '.join(sorted(dimensions))}",
                )
