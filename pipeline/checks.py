"""Whether mapping constraints suit a workload and an accelerator, before any search begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nestmap.model import (
    InputError,
    LayerConstraints,
    MappingConstraints,
    NetworkProblem,
    Workload,
)
from nestmap.model.base import replaced
from nestmap.model.dims import ArrayDimension, Dimension


def check_constraints(network: NetworkProblem, where: str) -> None:
    """Checks that there is a layer, and what every entry that some layer uses says of the array.

    Raises:
        InputError: for an unrolling or a hint over something that neither the array nor any of
            the layers has, or over more units than there are; ``where`` names the file.
    """
    check_layers(network.workload)
    dimensions: dict[str, set[Dimension]] = {}
    for layer in network.workload.layers:
        target = network.constraints.of(layer).target
        dimensions.setdefault(target, set()).update(layer.sizes)
    for entry in network.constraints.entries:
        if entry.target in dimensions:
            _check_entry(network, entry, dimensions[entry.target], f"{where}: {entry.target}")


def with_suited_mapping(network: NetworkProblem) -> NetworkProblem:
    """The problem whose spatial mappings unroll nothing that a layer does not have.

    A bundled mapping is made for convolutions: of the pixels that it unrolls a matrix product has
    none, and would leave most of the array idle. For such a layer nothing is unrolled beforehand.
    """
    constraints, layers = network.constraints, network.workload.layers
    free = [
        replaced(constraints.of(layer), {"target": layer.name, "spatial_mapping": None})
        for layer in layers
        if not _unrolled(constraints.of(layer)) <= set(layer.sizes)
    ]
    named = {entry.target for entry in free}
    kept = [entry for entry in constraints.entries if entry.target not in named]
    entries = MappingConstraints(entries=(*kept, *free))
    return replaced(network, {"constraints": entries})


def _unrolled(constraints: LayerConstraints) -> set[Dimension]:
    mapping = constraints.spatial_mapping
    unrollings = mapping.unrollings if mapping else ()
    return {loop.dimension for x in unrollings for loop in x.loops if loop.size > 1}


def check_layers(workload: Workload) -> None:
    """Checks that there is a layer, of which a mapping can be found.

    Raises:
        InputError: where there is none; it names what there is instead.
    """
    if workload.layers:
        return
    kinds = Counter(node.operator for node in workload.vector_nodes)
    only = ", ".join(f"{name} {n}" for name, n in sorted(kinds.items()))
    raise InputError(
        f"workload {workload.name}",
        f"no layer that the array computes{f', only vector operators: {only}' if only else ''}",
        "at least one convolution or matrix product",
    )


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
