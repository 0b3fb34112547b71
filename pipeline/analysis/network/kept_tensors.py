"""Where the tensors of a network stay if it keeps data on chip, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator

from nestmap.model import Frozen, Layer, MappingProblem, NetworkProblem, TopLevel
from nestmap.model.dims import LayerOperand, MemoryOperand


class KeptTensor(Frozen, frozen=True):
    """The output, the weights or an external input of a layer, and the memory in which it stays.

    ``moves_once``: it also moves once between that memory and the outermost one. ``reason`` says
    why ``memory`` is the outermost one, where it is.
    """

    layer: str
    operand: LayerOperand
    memory: str
    moves_once: bool = False
    reason: str | None = None


def kept_tensors(network: NetworkProblem) -> tuple[KeptTensor, ...]:
    """The tensors of all layers, in order; empty if the network does not keep data on chip.

    An input that another layer computes is the output of that layer.
    """
    leaving = {
        (entry.layer, x.operand): x.reason for entry in network.top_levels for x in entry.leaving
    }
    tops = {entry.layer: {x.operand: x for x in entry.top_levels} for entry in network.top_levels}
    return tuple(
        tensor
        for layer in network.workload.layers
        if layer.name in tops
        for tensor in _tensors(network, layer, tops[layer.name], leaving)
    )


def _tensors(
    network: NetworkProblem,
    layer: Layer,
    tops: dict[MemoryOperand, TopLevel],
    leaving: dict[tuple[str, MemoryOperand], str],
) -> Iterator[KeptTensor]:
    constraints = network.constraints.of(layer)
    problem = MappingProblem(layer=layer, accelerator=network.accelerator, constraints=constraints)
    weights = [operand for operand in layer.inputs if operand.constant]
    for operand in layer.operands:
        top = tops.get(problem.links[operand.name])
        if top is None:
            continue
        reason = leaving.get((layer.name, top.operand))
        is_named = operand == layer.output or operand in weights
        if is_named or reason is not None or top.moves_once:
            yield KeptTensor(
                layer=layer.name,
                operand=operand.name,
                memory=top.memory,
                moves_once=top.moves_once,
                reason=reason,
            )
