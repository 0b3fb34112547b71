"""Builds the ONNX graph of a network for images; each call returns the map that it computes.

What becomes of each operator, and the ranges of its inputs that an output needs, are thereby the
same as for a file that a framework exported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, final

from nestmap.model.workload.builders import Precision
from nestmap.model.workload.graph import Node

if TYPE_CHECKING:
    import onnx

_OPSET: Final = 24  # the first with Swish
_IR_VERSION: Final = 10

Sizes = tuple[int, ...]
_Value = int | float | Sequence[int]


@final
class Map(NamedTuple):
    """A tensor of the network, by the name of the node that computes it."""

    name: str
    sizes: Sizes

    @property
    def channels(self) -> int:
        """The size of axis 1: images are [batch, channels, height, width]."""
        return self.sizes[1]


@final
@dataclass(frozen=True)
class Window:
    """A window of ``size`` x ``size`` elements that moves by ``stride``.

    ``padding``: elements added on each side; by default as many as keep the size at stride 1.
    """

    size: int
    stride: int = 1
    padding: int | None = None

    @property
    def margin(self) -> int:
        """The elements added on each side."""
        return self.size // 2 if self.padding is None else self.padding

    def moved_over(self, sizes: Sizes) -> Sizes:
        """The height and width of the output for an input of these sizes."""
        return tuple((x + 2 * self.margin - self.size) // self.stride + 1 for x in sizes[2:])

    def attributes(self) -> dict[str, _Value]:
        """As ONNX states it."""
        return {
            "kernel_shape": [self.size] * 2,
            "strides": [self.stride] * 2,
            "pads": [self.margin] * 4,
        }


POINT: Final = Window(1)
"""A convolution across channels only."""


class _Operation(NamedTuple):
    operator: str
    output: Map
    inputs: Sequence[str]
    attributes: Mapping[str, _Value]

    def node(self) -> onnx.NodeProto:
        from onnx import helper  # noqa: PLC0415

        name = self.output.name
        made = helper.make_node(self.operator, self.inputs, [name], name)
        made.attribute.extend(helper.make_attribute(*x) for x in self.attributes.items())
        return made


@final
class ImageGraph:
    """The nodes of a network in topological order; the output of a node has the node's name.

    Weights have ``precision.weight`` bits, all other tensors ``precision.activation``. Batch
    normalizations are part of the convolutions before them, as in a network that is deployed.
    """

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._inputs: list[Map] = []
        self._operations: list[_Operation] = []
        self._weights: list[Map] = []
        self._integers: dict[str, Sequence[int]] = {}

    def given(self, name: str, sizes: Sizes) -> Map:
        """An input of the network."""
        self._inputs.append(Map(name, sizes))
        return self._inputs[-1]

    def constant(self, name: str, *sizes: int) -> Map:
        """A tensor that is known before the network runs."""
        self._weights.append(Map(name, sizes))
        return self._weights[-1]

    def conv(
        self,
        name: str,
        x: Map,
        features: int,
        window: Window = POINT,
        *,
        groups: int = 1,
        then: str | None = None,
    ) -> Map:
        """A convolution with bias, and the activation after it."""
        weights = self.constant(
            f"{name}.weight", features, x.channels // groups, *[window.size] * 2
        )
        bias = self.constant(f"{name}.bias", features)
        sizes = (x.sizes[0], features, *window.moved_over(x.sizes))
        attributes = {**window.attributes(), "group": groups, **self._bits(self._precision.weight)}
        y = self._add("Conv", name, sizes, (x, weights, bias), attributes)
        return self.activation(then, y) if then else y

    def upconv(self, name: str, x: Map, features: int) -> Map:
        """A transposed convolution with bias that doubles height and width."""
        weights = self.constant(f"{name}.weight", x.channels, features, 2, 2)
        bias = self.constant(f"{name}.bias", features)
        sizes = (x.sizes[0], features, *(2 * size for size in x.sizes[2:]))
        attributes = {"strides": [2, 2], **self._bits(self._precision.weight)}
        return self._add("ConvTranspose", name, sizes, (x, weights, bias), attributes)

    def linear(self, name: str, x: Map, features: int) -> Map:
        """A fully connected layer along the last axis; of vectors with, of tokens without bias."""
        weights = self.constant(f"{name}.weight", x.sizes[-1], features)
        sizes, bits = (*x.sizes[:-1], features), self._bits(self._precision.weight)
        if len(sizes) > 2:
            return self._add("MatMul", name, sizes, (x, weights), bits)
        bias = self.constant(f"{name}.bias", features)
        return self._add("Gemm", name, sizes, (x, weights, bias), bits)

    def product(self, name: str, x: Map, y: Map) -> Map:
        """The products of two stacks of matrices."""
        sizes = (*x.sizes[:-1], y.sizes[-1])
        return self._add("MatMul", name, sizes, (x, y), self._bits(self._precision.activation))

    def activation(self, operator: str, x: Map) -> Map:
        """A function of each element, named after the node before it; ``Relu6`` is a Clip."""
        name = f"{x.name}/{operator.lower()}"
        if operator == "Relu6":
            limits = (self.constant(f"{name}.least"), self.constant(f"{name}.most"))
            return self._add("Clip", name, x.sizes, (x, *limits))
        return self._add(operator, name, x.sizes, (x,))

    def vector(self, operator: str, name: str, x: Map, *others: Map) -> Map:
        """A vector operator whose output has the sizes of ``x``."""
        return self._add(operator, name, x.sizes, (x, *others))

    def normalized(self, name: str, x: Map) -> Map:
        """A LayerNormalization along the last axis."""
        parts = (self.constant(f"{name}.{part}", x.sizes[-1]) for part in ("scale", "bias"))
        return self._add("LayerNormalization", name, x.sizes, (x, *parts), {"axis": -1})

    def pool(self, operator: str, name: str, x: Map, window: Window) -> Map:
        """A MaxPool or an AveragePool."""
        sizes = (*x.sizes[:2], *window.moved_over(x.sizes))
        return self._add(operator, name, sizes, (x,), window.attributes())

    def mean(self, name: str, x: Map) -> Map:
        """The mean of each channel."""
        return self._add("GlobalAveragePool", name, (*x.sizes[:2], 1, 1), (x,))

    def resized(self, name: str, x: Map, height: int, width: int) -> Map:
        """The map with another height and width, by its nearest elements."""
        sizes = (*x.sizes[:2], height, width)
        parts = (x.name, "", "", self._vector(f"{name}.sizes", sizes))
        return self._append("Resize", name, sizes, parts)

    def concat(self, name: str, axis: int, *inputs: Map) -> Map:
        """The inputs, one after the other along an axis."""
        sizes = list(inputs[0].sizes)
        sizes[axis] = sum(x.sizes[axis] for x in inputs)
        return self._add("Concat", name, tuple(sizes), inputs, {"axis": axis})

    def sliced(self, name: str, x: Map, axis: int, start: int, end: int) -> Map:
        """The elements from ``start`` to before ``end`` along an axis."""
        sizes = (*x.sizes[:axis], end - start, *x.sizes[axis + 1 :])
        ranges = {"starts": start, "ends": end, "axes": axis}
        parts = (self._vector(f"{name}.{key}", (value,)) for key, value in ranges.items())
        return self._append("Slice", name, sizes, (x.name, *parts))

    def padded(self, name: str, x: Map, sizes: Sizes) -> Map:
        """The tensor with zeros after its elements."""
        ends = [new - old for new, old in zip(sizes, x.sizes, strict=True)]
        pads = self._vector(f"{name}.pads", [0] * len(ends) + ends)
        return self._append("Pad", name, sizes, (x.name, pads))

    def reshaped(self, name: str, x: Map, *sizes: int) -> Map:
        """The same elements with other sizes."""
        shape = self._vector(f"{name}.shape", sizes)
        return self._append("Reshape", name, sizes, (x.name, shape))

    def permuted(self, name: str, x: Map, *axes: int) -> Map:
        """The tensor with its axes in another order."""
        sizes = tuple(x.sizes[axis] for axis in axes)
        return self._add("Transpose", name, sizes, (x,), {"perm": list(axes)})

    def classified(self, x: Map, classes: int) -> Map:
        """The scores of classes from a map: the mean of each channel and a linear layer."""
        mean = self.mean("pool", x)
        return self.linear("classes", self.reshaped("flat", mean, *mean.sizes[:2]), classes)

    def nodes(self, where: str) -> tuple[Node, ...]:
        """The nodes, as they are read from an ONNX file.

        Raises:
            InputError: if a layer is too large; ``where`` is the network in its message.
        """
        # onnx is slow to import; only networks that are made pay for it
        from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415

        bits = self._precision.activation
        return parse_onnx(self._model(), float_bits=bits, where=where).nodes

    def _model(self) -> onnx.ModelProto:
        from onnx import TensorProto, helper  # noqa: PLC0415

        made = [x.node() for x in self._operations]
        # shapes are all that is read of weights
        stored = [
            TensorProto(name=x.name, data_type=TensorProto.FLOAT, dims=x.sizes)
            for x in self._weights
        ] + [
            helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
            for name, values in self._integers.items()
        ]
        read = {x for operation in self._operations for x in operation.inputs}
        results = [x.output for x in self._operations if x.output.name not in read]
        inputs, outputs = (
            [helper.make_tensor_value_info(x.name, TensorProto.FLOAT, x.sizes) for x in values]
            for values in (self._inputs, results)
        )
        graph = helper.make_graph(made, "network", inputs, outputs, stored)
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _bits(self, of_weights: int) -> dict[str, _Value]:
        """The attributes that state the bits of a layer's operands."""
        bits = self._precision
        return {
            "weight_size": of_weights,
            "act_size": bits.activation,
            "output_size": bits.partial_sum_bits,
        }

    def _vector(self, name: str, values: Sequence[int]) -> str:
        self._integers[name] = values
        return name

    def _add(
        self,
        operator: str,
        name: str,
        sizes: Sizes,
        inputs: Sequence[Map],
        attributes: Mapping[str, _Value] | None = None,
    ) -> Map:
        return self._append(operator, name, sizes, [x.name for x in inputs], attributes)

    def _append(
        self,
        operator: str,
        name: str,
        sizes: Sizes,
        inputs: Sequence[str],
        attributes: Mapping[str, _Value] | None = None,
    ) -> Map:
        made = Map(name, sizes)
        self._operations.append(_Operation(operator, made, inputs, attributes or {}))
        return made
