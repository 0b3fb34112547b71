"""Gives the nodes of one step the iterations of all equal steps of a Loop or Scan.

Tensors that differ from step to step have an axis for the steps in front; others, such as weights,
are the same in all. To a mapping, steps are ordinary iterations, as in recurrent networks.
"""

import itertools
from collections.abc import Mapping, MutableMapping, Sequence

from nestmap.model import Layer, LayerNode, NoCostNode, Tensor, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension, Loop
from nestmap.model.workload.graph import Node
from nestmap.model.workload.layer import AnyOperand
from nestmap.model.workload.loop_nests import plain_indices
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader


def with_steps(
    reader: NodeReader, parts: Sequence[Node], steps: MutableMapping[str, Sizes]
) -> tuple[Node, ...]:
    """The parts of an ONNX node with all steps of the loops around it.

    Args:
        reader: the ONNX node.
        parts: what one step of it becomes.
        steps: the steps in which each tensor differs, to which the outputs of the node are added.

    Raises:
        InputError: if a layer has more than 2**53 multiply-accumulates in all steps.
    """
    own = reader.node.steps
    made: list[Node] = []
    for part in parts:
        read = {x.name: steps[x.name] for x in part.inputs if x.name in steps}
        varies = reader.node.synthetic or not isinstance(part, NoCostNode) or bool(read)
        if own and varies:
            steps.update((x.name, own) for x in part.outputs if x.name not in reader.graph.values)
        made.append(_stepped(part, own, steps) if own or read else part)
    return tuple(made)


def _stepped(part: Node, own: Sizes, steps: Mapping[str, Sizes]) -> Node:
    changes: dict[str, object] = {
        "inputs": _tensors(part.inputs, steps),
        "outputs": _tensors(part.outputs, steps),
    }
    match part:
        case LayerNode():
            changes["layer"] = _layer(part, own, steps)
        case VectorNode():
            changes |= {"iterations": (*own, *part.iterations), "nest": None}
        case NoCostNode():
            changes["routes"] = None
    return copy_with(part, changes)


def _tensors(tensors: Sequence[Tensor], steps: Mapping[str, Sizes]) -> tuple[Tensor, ...]:
    return tuple(
        x if x.sizes is None else copy_with(x, {"sizes": (*steps.get(x.name, ()), *x.sizes)})
        for x in tensors
    )


def _layer(part: LayerNode, own: Sizes, steps: Mapping[str, Sizes]) -> Layer:
    """The layer with a loop for the steps of each loop around it, outermost first."""
    layer = part.layer
    names = _free_names(layer, len(own))
    places = part.positions or range(len(layer.inputs))
    read = [len(steps.get(part.inputs[place].name, ())) for place in places]
    added = tuple(Loop(dimension=name, size=size) for name, size in zip(names, own, strict=True))
    inputs = (
        _indexed(operand, names[:count]) for operand, count in zip(layer.inputs, read, strict=True)
    )
    return copy_with(
        layer,
        {
            "loops": (*added, *layer.loops),
            "output": _indexed(layer.output, names),
            "inputs": tuple(inputs),
        },
    )


def _indexed(operand: AnyOperand, names: Sequence[Dimension]) -> AnyOperand:
    return copy_with(operand, {"indices": (*plain_indices(*names), *operand.indices)})


def _free_names(layer: Layer, count: int) -> list[Dimension]:
    """Dimensions for steps that the layer does not have: ``S``, ``S2``."""
    taken, names = set(layer.sizes), ("S" if n == 1 else f"S{n}" for n in itertools.count(1))
    return list(itertools.islice((name for name in names if name not in taken), count))
