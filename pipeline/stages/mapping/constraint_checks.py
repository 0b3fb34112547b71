"""Checks that mapping constraints suit a workload and an accelerator, before the search begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from nestmap.model import InputError, Layer, LayerConstraints, MappingConstraints, NetworkProblem
from nestmap.model.base import copy_with
from nestmap.model.dims import ArrayDimension, Dimension
from nestmap.model.errors import nearest, suggestion, warn_of_input
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.model.workload.operator_types import is_operator_type
from nestmap.pipeline.stages.mapping.imc_skipped import counted, mapped_layers


def check_constraints(network: NetworkProblem, where: str) -> None:
    """Checks that there is a layer, and that every entry in use suits the array.

    Entries that match nothing, and hints over dimensions that the array lacks, are warnings: no
    search can follow them.

    Raises:
        InputError: for an unrolling over a dimension that the array lacks, or over more units than
            it has, for an unrolling or a hint over a dimension that every layer of the entry lacks,
            or for a link of an operand that no layer or no memory has; ``where`` names the file.
    """
    check_layers(network)
    _warn_of_unmatched(network, where)
    _warn_of_unused_hints(network, where)
    layers: dict[str, list[Layer]] = {}
    for layer in mapped_layers(network):
        layers.setdefault(network.constraints.of(layer).target, []).append(layer)
    for entry in network.constraints.entries:
        if entry.target in layers:
            sizes = {d for x in layers[entry.target] for d in x.sizes}
            _check_entry(network, entry, sizes, where)
            _check_links(network, entry, layers[entry.target], where)
            _warn_of_repeated_unrollings(entry, layers[entry.target], where)


def _place(entry: LayerConstraints, field: str, where: str) -> str:
    """File, line and path of a field of an entry."""
    return f"{entry.places.of(field, where)}: {entry.target}: {field}"


def _warn_of_unmatched(network: NetworkProblem, where: str) -> None:
    """Warns of entries for neither a layer of the network nor an operator type."""
    nodes = network.workload.nodes
    known = (DEFAULT_TARGET, *dict.fromkeys(node.operator for node in nodes))
    names = (*known, *(node.name for node in nodes))
    for entry in network.constraints.entries:
        if entry.target not in names and not is_operator_type(entry.target):
            found = "neither a layer of the network nor an operator type"
            expected = f"one of {', '.join(known)}, or the name of a layer"
            here = f"{entry.places.of('name', where)}: name {entry.target!r}"
            warn_of_input(here, found, nearest(entry.target, names) or expected)


def _warn_of_unused_hints(network: NetworkProblem, where: str) -> None:
    sizes = network.accelerator.array.sizes
    for entry in network.constraints.entries:
        for hint in entry.spatial_hints:
            if hint.array_dimension not in sizes:
                warn_of_input(
                    f"{_place(entry, 'spatial_mapping_hint', where)}.{hint.array_dimension}",
                    f"array dimension {hint.array_dimension}, which has no effect",
                    f"one of {', '.join(sizes)}, the array of {network.accelerator.name}",
                )


def with_suited_mapping(network: NetworkProblem) -> NetworkProblem:
    """The problem with spatial mappings and hints over existing dimensions of each layer only.

    A bundled mapping is made for convolutions: a matrix product lacks the pixel dimensions that it
    unrolls, so most of the array would be idle. Such a layer gets no fixed spatial mapping, and
    its hints keep the dimensions that it has.
    """
    constraints = network.constraints
    pairs = [(x, constraints.of(x)) for x in network.workload.layers]
    own = [
        copy_with(suited, {"target": layer.name})
        for layer, entry in pairs
        if (suited := _suited(entry, layer)) != entry
    ]
    named = {entry.target for entry in own}
    kept = [entry for entry in constraints.entries if entry.target not in named]
    return copy_with(network, {"constraints": MappingConstraints(entries=(*kept, *own))})


def _suited(constraints: LayerConstraints, layer: Layer) -> LayerConstraints:
    """The constraints, without dimensions that the layer lacks."""
    known = set(layer.sizes)
    fixed = constraints.spatial_mapping if _unrolled(constraints) <= known else None
    hints = tuple(
        copy_with(hint, {"dimensions": left})
        for hint in constraints.spatial_hints
        if (left := tuple(x for x in hint.dimensions if x in known))
    )
    return copy_with(constraints, {"spatial_mapping": fixed, "spatial_hints": hints})


def _unrolled(constraints: LayerConstraints) -> set[Dimension]:
    mapping = constraints.spatial_mapping
    unrollings = mapping.unrollings if mapping else ()
    return {loop.dimension for x in unrollings for loop in x.loops if loop.size > 1}


def check_layers(network: NetworkProblem) -> None:
    """Checks that there is a layer to map.

    Raises:
        InputError: where there is none; it lists the operators of the workload instead.
    """
    if mapped_layers(network):
        return
    workload = network.workload
    only = {
        "vector operators": counted(node.operator for node in workload.vector_nodes),
        "layers that an IMC array skips": counted(layer.operator for layer in workload.layers),
    }
    told = " and ".join(f"{what}: {names}" for what, names in only.items() if names)
    raise InputError(
        f"workload {workload.name}",
        f"no layer that the array computes{f', only {told}' if told else ''}",
        "at least one convolution or matrix product",
    )


def _check_entry(
    network: NetworkProblem, entry: LayerConstraints, dimensions: set[Dimension], where: str
) -> None:
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        here = f"{_place(entry, 'spatial_mapping', where)}.{unrolling.array_dimension}"
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
        here = f"{_place(entry, 'spatial_mapping_hint', where)}.{hint.array_dimension}"
        _check_dimensions(hint.dimensions, dimensions, here)


def _check_links(
    network: NetworkProblem, entry: LayerConstraints, layers: Sequence[Layer], where: str
) -> None:
    operands = dict.fromkeys(operand.name for layer in layers for operand in layer.operands)
    carriers = dict.fromkeys(x for level in network.accelerator.memories for x in level.operands)
    for link in entry.links:
        here = f"{_place(entry, 'memory_operand_links', where)}.{link.operand}"
        if link.operand not in operands:
            expected = f"an operand of some layer it is for: {suggestion(link.operand, operands)}"
            raise InputError(here, f"operand {link.operand}", expected)
        if link.memory_operand not in carriers:
            expected = f"one of {', '.join(carriers)}, those of {network.accelerator.name}"
            raise InputError(here, f"memory operand {link.memory_operand}", expected)


def _warn_of_repeated_unrollings(
    entry: LayerConstraints, layers: Sequence[Layer], where: str
) -> None:
    """Warns of dimensions unrolled over several array dimensions, more often than they iterate.

    An unrolling may round up: 27 iterations are unrolled 2 x 14 times.
    """
    factors: dict[Dimension, list[int]] = {}
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        for loop in unrolling.loops:
            factors.setdefault(loop.dimension, []).append(loop.size)
    for dimension, sizes in factors.items():
        most = max(layer.sizes.get(dimension, 1) for layer in layers)
        if len(sizes) > 1 and max(sizes[1:]) > -(-most * max(sizes[1:]) // prod(sizes)):
            warn_of_input(
                _place(entry, "spatial_mapping", where),
                f"{dimension} unrolled {' x '.join(map(str, sizes))} times",
                f"at most the {most} iterations that layers have; the last unrollings are reduced",
            )


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
