"""Whether mapping constraints suit a workload and an accelerator, before any search begins."""

from __future__ import annotations

from collections.abc import Iterable

from nestmap.model import InputError, LayerConstraints, NetworkProblem
from nestmap.model.dims import ArrayDimension, Dimension


def check_constraints(network: NetworkProblem, where: str) -> None:
    """Checks that there is a layer, and what every entry that some layer uses says of the array.

    Raises:
        InputError: for an unrolling or a hint over something that neither the array nor any of
            the layers has, or over more units than there are; ``where`` names the file.
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
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        here = f"{where}: spatial_mapping.{unrolling.array_dimension}"
        units = _units(network, unrolling.array_dimension, here)
        if unrolling.factor > units:
            raise InputError(
                here,
                f"{unrolling}, {unrolling.factor} units",
                f"at most the {units} units of the array",
            )
        unrolled = [loop.dimension for loop in unrolling.loops if loop.size > 1]
        _check_dimensions(unrolled, dimensions, here)
    for hint in entry.spatial_hints:
        here = f"{where}: spatial_mapping_hint.{hint.array_dimension}"
        _units(network, hint.array_dimension, here)
        _check_dimensions(hint.dimensions, dimensions, here)


def _units(network: NetworkProblem, array_dimension: ArrayDimension, where: str) -> int:
    sizes = network.accelerator.array.sizes
    if array_dimension not in sizes:
        raise InputError(
            where,
            f"array dimension {array_dimension}",
            f"one of {', '.join(sizes)}, the array of {network.accelerator.name}",
        )
    return sizes[array_dimension]


def _check_dimensions(used: Iterable[Dimension], known: set[Dimension], where: str) -> None:
    for dimension in used:
        if dimension not in known:
            raise InputError(
                where,
                f"loop dimension {dimension}",
                f"a dimension of some layer it is for: {', '.join(sorted(known))}",
            )
