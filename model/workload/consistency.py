"""Checks that layers made in Python suit their loops and their sources."""

from nestmap.model.errors import InputError, warn_of_input
from nestmap.model.workload.graph import LayerNode, Workload
from nestmap.model.workload.layer import InputOperand, Layer
from nestmap.model.workload.link import precision_contradiction, shape_contradiction
from nestmap.model.workload.stated_axis import axis_contradiction

EXPECTED_SHAPE = "the same sizes, less the padding"
EXPECTED_PRECISION = "the same precision"


def check_workload(workload: Workload) -> None:
    """Checks the layers of a workload whose tensors have no names, as those of files have.

    Another precision than that of the source is a warning.

    Raises:
        InputError: where a layer reads another shape than its source writes, or its stated axes
            contradict its loops.
    """
    made = (node for node in workload.nodes if isinstance(node, LayerNode) and not node.inputs)
    layers = {node.name: node.layer for node in made}
    for layer in layers.values():
        where = f"workload {workload.name}: layer {layer.name!r}"
        _check_axes(layer, where)
        for operand in layer.inputs:
            if operand.source in layers:
                _check_link(layers[operand.source], layer, operand, f"{where}: {operand.name}")


def _check_axes(layer: Layer, where: str) -> None:
    for operand in layer.operands:
        for index in operand.indices:
            wrong = axis_contradiction(index, layer.sizes)
            if wrong is not None:
                raise InputError(f"{where}: {operand.name}", *wrong)


def _check_link(producer: Layer, consumer: Layer, operand: InputOperand, where: str) -> None:
    shape = shape_contradiction(producer, consumer, operand)
    if shape is not None:
        raise InputError(where, shape, EXPECTED_SHAPE)
    bits = precision_contradiction(producer, consumer, operand)
    if bits is not None:
        warn_of_input(where, bits, EXPECTED_PRECISION)
