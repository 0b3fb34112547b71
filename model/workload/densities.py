"""States how many elements of a network's operands are not zero."""

from collections.abc import Callable, Mapping

from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand
from nestmap.model.errors import InputError, suggestion
from nestmap.model.workload.graph import LayerNode, Workload
from nestmap.model.workload.layer import Layer, Operand

DensityOf = Callable[[LayerNode, Operand], float | None]
"""The density of an operand; ``None`` leaves it as it is."""


def with_densities(workload: Workload, densities: Mapping[str, float]) -> Workload:
    """The network with the share of elements that are not zero, by operand.

    A name is that of an operand (``I``: of all layers), or follows that of a layer or of an
    operator type and a dot (``conv1.I``, ``Conv.W``). Of several that apply, a layer's comes first,
    then an operator type's. For an output the density is that of finished elements.

    >>> from nestmap import conv2d, network
    >>> net = network("net", conv2d("a", (1, 3, 16, 16), (8, 3, 3, 3)))
    >>> with_densities(net, {"I": 0.5}).layers[0].operand("I").density
    0.5

    Raises:
        InputError: if a name applies to no operand, or a density is not above 0 and at most 1.
    """
    _check(workload, densities)

    def density_of(node: LayerNode, operand: Operand) -> float | None:
        names = (f"{node.name}.{operand.name}", f"{node.operator}.{operand.name}", operand.name)
        return next((densities[name] for name in names if name in densities), None)

    return set_densities(workload, density_of)


def set_densities(workload: Workload, density_of: DensityOf) -> Workload:
    """The network with the densities that a function says."""
    nodes = [_set(x, density_of) if isinstance(x, LayerNode) else x for x in workload.nodes]
    return copy_with(workload, {"nodes": tuple(nodes)})


def _set(node: LayerNode, density_of: DensityOf) -> LayerNode:
    found = {x.name: density_of(node, x) for x in node.layer.operands}
    known = {name: density for name, density in found.items() if density is not None}
    return copy_with(node, {"layer": set_layer_densities(node.layer, known)}) if known else node


def set_layer_densities(layer: Layer, densities: Mapping[LayerOperand, float]) -> Layer:
    """The layer with the densities of some of its operands."""
    output, *inputs = (
        copy_with(x, {"density": densities.get(x.name, x.density)}) for x in layer.operands
    )
    return copy_with(layer, {"output": output, "inputs": tuple(inputs)})


def _check(workload: Workload, densities: Mapping[str, float]) -> None:
    known = dict.fromkeys(
        name
        for node in workload.nodes
        if isinstance(node, LayerNode)
        for operand in node.layer.operands
        for place in (f"{node.name}.", f"{node.operator}.", "")
        for name in (f"{place}{operand.name}",)
    )
    for name, density in densities.items():
        where = f"density of {name}"
        if name not in known:
            expected = f"an operand of the network: {suggestion(name, sorted(known, key=len))}"
            raise InputError(where, f"no such operand in {workload.name}", expected)
        if not 0 < density <= 1:
            raise InputError(where, f"{density:g}", "a share of elements, above 0 and at most 1")
