"""Builds the graph of a transformer node by node; each call returns the node's output tensor."""

from dataclasses import dataclass
from typing import Final, final

from nestmap.model import Layer, LayerNode, NoCostNode, Tensor, VectorNode
from nestmap.model.workload.access import AccessRoute, Permute, Reshape, Shift, VectorNest
from nestmap.model.workload.builders import Precision, attention, conv2d, linear
from nestmap.model.workload.builders.matrix_products import elementwise_nest
from nestmap.model.workload.graph import Node
from nestmap.model.workload.operation_counts import OPERATIONS

Sizes = tuple[int, ...]

_ELEMENTWISE: Final = frozenset({"Add", "Mul", "Gelu", "Swish", "Tanh"})
"""Elementwise operators; all others work on whole rows of the last axis."""

_HEADS: Final = Permute(axes=(0, 2, 1, 3))
"""Swaps the axes of tokens and heads."""


@final
@dataclass(frozen=True)
class Value:
    """A tensor of the network, its sizes, and the node that computes it (``None``: an input)."""

    tensor: Tensor
    sizes: Sizes
    node: str | None = None


@final
class Graph:
    """Nodes in topological order; the output tensor of a node has the node's name.

    Weights of layers have ``precision.weight`` bits, all other tensors ``precision.activation``
    bits: embedding tables, scales and biases of normalizations are not quantized with the weights.
    """

    def __init__(self, precision: Precision) -> None:
        self.nodes: list[Node] = []
        self.precision = precision

    def given(self, name: str, sizes: Sizes) -> Value:
        """An input tensor of the network."""
        return self._value(name, sizes, None)

    def constant(self, name: str, sizes: Sizes) -> Value:
        """A tensor that is known before the network runs."""
        bits = self.precision.activation
        return Value(Tensor(name=name, sizes=sizes, precision=bits, constant=True), sizes)

    def linear(self, name: str, x: Value, features: int) -> Value:
        """A fully connected layer without bias."""
        layer = linear(name, x.sizes, features, source=x.node, precision=self.precision)
        return self._layer(layer, x, (x.sizes[-1], features), (*x.sizes[:-1], features))

    def patches(self, name: str, image: Value, features: int, size: int) -> Value:
        """A convolution over the square patches of an image, without bias."""
        batch, channels, height, width = image.sizes
        weights = (features, channels, size, size)
        layer = conv2d(
            name, image.sizes, weights, stride=size, source=image.node, precision=self.precision
        )
        return self._layer(layer, image, weights, (batch, features, height // size, width // size))

    def attention(self, name: str, queries: Value, keys: Value, values: Value) -> Value:
        """Attention: scores, Softmax and the product with the values."""
        self.nodes += attention(
            name,
            queries.sizes,
            keys.sizes,
            values.sizes,
            sources=(queries.node, keys.node, values.node),
            precision=self.precision,
        )
        return self._value(name, (*queries.sizes[:-1], values.sizes[-1]), name)

    def vector(self, operator: str, name: str, x: Value, *others: Value) -> Value:
        """A vector operator whose output has the sizes of ``x``."""
        inputs = (x, *others)
        rows = operator not in _ELEMENTWISE
        nest = elementwise_nest(x.sizes, [value.sizes for value in inputs], rows=rows)
        return self._vector(operator, name, inputs, x.sizes, nest)

    def total(self, name: str, x: Value) -> Value:
        """The sums along the second-to-last axis."""
        return self._vector("ReduceSum", name, (x,), (*x.sizes[:-2], x.sizes[-1]))

    def best(self, name: str, x: Value, count: int) -> Value:
        """The ``count`` largest elements along the last axis (TopK)."""
        return self._vector("TopK", name, (x,), (*x.sizes[:-1], count))

    def normalized(self, operator: str, name: str, x: Value) -> Value:
        """A normalization along the last axis, with a scale and, in LayerNormalization, a bias."""
        parts = ("scale", "bias") if operator == "LayerNormalization" else ("scale",)
        scales = (self.constant(f"{name}.{part}", x.sizes[-1:]) for part in parts)
        return self.vector(operator, name, x, *scales)

    def move(self, operator: str, name: str, sizes: Sizes, *inputs: Value) -> Value:
        """An operator that only moves data."""
        return self._move(operator, name, (sizes,), inputs)[0]

    def split(self, name: str, x: Value, count: int) -> tuple[Value, ...]:
        """Equal parts along the last axis."""
        *outer, whole = x.sizes
        size, last = whole // count, len(outer)
        routes = (
            AccessRoute(output=i, steps=(Shift(axis=last, start=i * size, size=whole),))
            for i in range(count)
        )
        return self._move("Split", name, ((*outer, size),) * count, (x,), tuple(routes))

    def _move(
        self,
        operator: str,
        name: str,
        parts: tuple[Sizes, ...],
        inputs: tuple[Value, ...],
        routes: tuple[AccessRoute, ...] | None = None,
    ) -> tuple[Value, ...]:
        """An operator that only moves data, with one or several output tensors."""
        names = (name, *(f"{name}.{i}" for i in range(1, len(parts))))
        made = tuple(self._value(x, sizes, name) for x, sizes in zip(names, parts, strict=True))
        node = NoCostNode(
            name=name,
            operator=operator,
            sources=_sources(inputs),
            inputs=tuple(x.tensor for x in inputs),
            outputs=tuple(x.tensor for x in made),
            routes=routes,
        )
        self.nodes.append(node)
        return made

    def embedding(self, name: str, tokens: Value, rows: int, features: int) -> Value:
        """A row of a table for each token."""
        table = self.constant(f"{name}.table", (rows, features))
        return self.move("Gather", name, (*tokens.sizes, features), table, tokens)

    def heads(self, name: str, x: Value, count: int) -> Value:
        """Splits heads: ``[batch, tokens, features]`` to ``[batch, heads, tokens, size]``."""
        batch, tokens, features = x.sizes
        back = AccessRoute(steps=(_HEADS, Reshape(sizes=x.sizes)))
        sizes = (batch, count, tokens, features // count)
        return self._move("Transpose", name, (sizes,), (x,), (back,))[0]

    def merged(self, name: str, x: Value) -> Value:
        """Merges heads: ``[batch, heads, tokens, size]`` to ``[batch, tokens, features]``."""
        batch, heads, tokens, features = x.sizes
        back = AccessRoute(steps=(Reshape(sizes=(batch, tokens, heads, features)), _HEADS))
        return self._move("Transpose", name, ((batch, tokens, heads * features),), (x,), (back,))[0]

    def one_token(self, name: str, x: Value) -> Value:
        """One token of each sequence, such as the first or the last."""
        batch, _, features = x.sizes
        return self.move("Slice", name, (batch, 1, features), x)

    def _layer(self, layer: Layer, x: Value, weights: Sizes, sizes: Sizes) -> Value:
        bits, name = self.precision.weight, f"{layer.name}.weight"
        weight = Tensor(name=name, sizes=weights, precision=bits, constant=True)
        made = self._value(layer.name, sizes, layer.name)
        node = LayerNode(layer=layer, inputs=(x.tensor, weight), outputs=(made.tensor,))
        self.nodes.append(node)
        return made

    def _vector(
        self,
        operator: str,
        name: str,
        inputs: tuple[Value, ...],
        sizes: Sizes,
        nest: VectorNest | None = None,
    ) -> Value:
        made = self._value(name, sizes, name)
        node = VectorNode(
            name=name,
            operator=operator,
            sources=_sources(inputs),
            iterations=inputs[0].sizes,
            operations=OPERATIONS[operator],
            inputs=tuple(x.tensor for x in inputs),
            outputs=(made.tensor,),
            nest=nest,
        )
        self.nodes.append(node)
        return made

    def _value(self, name: str, sizes: Sizes, node: str | None) -> Value:
        bits = self.precision.activation
        return Value(Tensor(name=name, sizes=sizes, precision=bits), sizes, node)


def _sources(inputs: tuple[Value, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(x.node for x in inputs if x.node is not None))
