"""Converts mixtures of experts (MoE, QMoE): each token goes through the best ``k`` of all experts.

Which experts a token takes depends on the data. The layers count the products of all tokens, with
tokens spread evenly over as many experts as that allows: ``O[b][d][k] += I[b][d][c] * W[b][c][k]``
with experts ``B`` and ``D`` tokens for each. Their weights are read once.
"""

from collections.abc import Mapping
from math import prod
from typing import Final, NamedTuple

from nestmap.model.base import copy_with
from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import matrix_product
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

_QUANTIZED: Final = f"{MICROSOFT}.QMoE"
_ACTIVATION: Final = 4  # an exponential, a sum, a division, a product
_BYTE: Final = 8


class _Experts(NamedTuple):
    """The tokens that some experts compute: ``tokens`` each, of ``hidden`` elements."""

    experts: int
    tokens: int
    hidden: int


def _mixture_of_experts(node: NodeReader) -> tuple[Node, ...]:
    """Converts a MoE or QMoE node: two products with an activation between, or three if gated."""
    quantized = node.node.operator == _QUANTIZED
    first, second, third = (2, 5, 8) if quantized else (2, 4, 6)
    image, weights = node.sizes(0), node.sizes(first)
    if len(image) < 2 or len(weights) != 3:
        found = f"input {shape_text(image)} and weights {shape_text(weights)}"
        raise node.error(found, "[tokens, hidden] and a matrix for each expert")
    experts = _experts(node, weights[0])
    wide, inner = _width(node, first, image[-1]), _width(node, second, image[-1])
    chosen = (experts.experts, experts.tokens, experts.hidden)
    tokens = expansion.intermediate(node, "tokens", chosen, node.tensor(0).precision)
    gather = expansion.movement_part(node, "Gather", (expansion.value(node, 0),), tokens)
    made, up = _product(node, "fc1", experts, (first, image[-1], wide), tokens)
    gates, more = [made], [up]
    if node.has(third):
        gate, also = _product(node, "fc3", experts, (third, image[-1], inner), tokens)
        gates.append(gate)
        more.append(also)
    between = (experts.experts, experts.tokens, inner)
    active = expansion.intermediate(node, "active", between, tokens.tensor.precision)
    operations = _ACTIVATION + (wide > inner or len(gates) > 1)
    activate = expansion.vector_part(node, "Activation", (between, operations), gates, active)
    back, down = _product(node, "fc2", experts, (second, inner, image[-1]), active)
    node.check_output(image)
    weigh = expansion.vector_part(node, "Combine", (chosen, 2), (back,))
    return (gather, *more, activate, down, weigh)


def _experts(node: NodeReader, available: int) -> _Experts:
    """As many experts as share all tokens evenly."""
    *outer, hidden = node.sizes(0)
    each = node.integer("k", 1)
    if each > available:
        raise node.error(f"k {each} of {available} experts", "at most as many as there are")
    tokens = prod(outer) * each
    count = next(n for n in range(min(available, tokens), 0, -1) if tokens % n == 0)
    return _Experts(count, tokens // count, hidden)


def _bits(node: NodeReader, position: int) -> int:
    """The bits of a weight; a byte of a QMoE node holds several of fewer bits."""
    if node.node.operator == _QUANTIZED:
        return node.integer("expert_weight_bits", 4)
    return node.tensor(position).precision


def _width(node: NodeReader, position: int, hidden: int) -> int:
    """The columns of the weights of an expert, in any order of their axes."""
    sizes = node.sizes(position)
    packed = _BYTE // _bits(node, position) if node.node.operator == _QUANTIZED else 1
    elements = prod(sizes[1:]) * packed
    if len(sizes) != 3 or elements % hidden or not elements:
        found = f"weights {shape_text(sizes)} for tokens of {hidden} elements"
        raise node.error(found, "a stack of matrices, one for each expert")
    return elements // hidden


def _product(
    node: NodeReader,
    suffix: str,
    experts: _Experts,
    matrix: tuple[int, int, int],
    read: expansion.Value,
) -> tuple[expansion.Value, Node]:
    """The products of the tokens with the weights at a position: inner elements, columns."""
    position, inner, columns = matrix
    weight = expansion.value(node, position)
    if node.node.operator == _QUANTIZED:
        weight = weight.of_bits(_bits(node, position))
    sizes = (experts.experts, inner, columns)
    used = copy_with(weight.tensor, {"name": node.part(f"{suffix}_used"), "sizes": sizes})
    stack = (experts.experts,)
    nest = matrix_product({"C": inner, "D": experts.tokens, "K": columns}, stack, stack)
    made = expansion.intermediate(
        node, suffix, (*stack, experts.tokens, columns), read.tensor.precision
    )
    weights = expansion.Value(used, weight.source, weight.quantized)
    return made, expansion.layer_node(node, nest, {"I": read, "W": weights}, made)


EXPERTS: Final[Mapping[str, Operator]] = dict.fromkeys(
    (f"{MICROSOFT}.MoE", _QUANTIZED), Operator(Layers(_mixture_of_experts), shapes.as_inputs(0))
)
"""The mixtures of experts."""
