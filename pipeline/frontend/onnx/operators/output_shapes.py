"""Maps operators without shape inference to standard operators with outputs of the same sizes.

The onnx package infers no shapes for operators of other domains and for a few of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, final

import onnx
from onnx import defs, helper

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.load.shapes import Shape, tensor_facts

Types = Mapping[str, onnx.TypeProto]
_FLOAT: Final = onnx.TensorProto.FLOAT


@final
@dataclass(frozen=True)
class ShapeSurrogate:
    """A node of the standard domain, and the types of inputs that only it reads."""

    proto: onnx.NodeProto
    types: Types = field(default_factory=dict[str, onnx.TypeProto])


def shape_surrogates(node: GraphNode, types: Types) -> Iterator[ShapeSurrogate]:
    """The standard nodes whose outputs have the sizes of the given node's outputs.

    Args:
        node: the node.
        types: the known types of tensors.
    """
    if node.operator in _ALIKE:
        operator, positions = _ALIKE[node.operator]
        yield from _joined(node.proto, operator, positions)
    elif node.operator in _SAME:
        for position in _SAME[node.operator]:
            yield from _identity(node.proto, position)
    elif node.operator in _GRADIENTS:
        for position, like in enumerate(_GRADIENTS[node.operator]):
            yield from _identity(node.proto, position, like)
    elif node.operator in _PRODUCTS:
        yield from _PRODUCTS[node.operator](node.proto, types)


_Rule = Callable[[onnx.NodeProto, Types], Iterator[ShapeSurrogate]]

_FIRST: Final = (0,)
_SAME: Final[Mapping[str, tuple[int, ...]]] = {
    **dict.fromkeys(("GroupNormalization", "MeanVarianceNormalization"), _FIRST),
    "SimplifiedLayerNormalization": _FIRST,
    **dict.fromkeys(
        (
            f"com.microsoft.{operator}"
            for operator in (
                *("Gelu", "FastGelu", "BiasGelu", "QuickGelu", "BiasAdd", "BiasSoftmax"),
                *("GroupNorm", "RotaryEmbedding", "SimplifiedLayerNormalization", "Trilu"),
                *("MoE", "QMoE"),
                *("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "BitmaskDropout"),
            )
        ),
        _FIRST,
    ),
    # output 3 is the sum with the skip connection
    "com.microsoft.SkipLayerNormalization": (0, 3),
    "com.microsoft.SkipSimplifiedLayerNormalization": (0, 3),
}
"""The outputs with the sizes of the first input."""

_GRADIENTS: Final[Mapping[str, tuple[int, ...]]] = {
    f"com.microsoft.{operator}Grad{form}": like
    for operators, forms, like in (
        (("Relu", "Sigmoid", "Tanh", "Gelu", "FastGelu", "QuickGelu", "LeakyRelu"), ("",), (0,)),
        (("Softmax", "LogSoftmax"), ("", "_13"), (0,)),
        (("Dropout", "BitmaskDropout"), ("",), (0,)),
        (("BiasGelu", "BiasFastGelu"), ("_dX",), (0,)),
        (("SoftmaxCrossEntropy", "SoftmaxCrossEntropyLoss"), ("",), (1,)),
        (("SoftmaxCrossEntropyLossInternal",), ("",), (1,)),
        (("LayerNormalization", "InvertibleLayerNormalization"), ("",), (1, 2, 2)),
        (("SimplifiedLayerNormalization",), ("",), (1, 2)),
        (("BatchNormalization",), ("",), (1, 2, 2)),
        (("Conv",), ("",), (1, 2)),
    )
    for operator in operators
    for form in forms
}
"""The input with the sizes of each output of an operator of training graphs."""

_ALIKE: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    "com.microsoft.QuantizeLinear": ("QuantizeLinear", (0, 1, 2)),
    "com.microsoft.DequantizeLinear": ("DequantizeLinear", (0, 1, 2)),
    "com.microsoft.GridSample": ("GridSample", (0, 1)),
    "com.microsoft.GatherND": ("GatherND", (0, 1)),
    "com.microsoft.Pad": ("Pad", (0, 1, 2, 3)),
    "com.microsoft.QLinearAdd": ("Add", (0, 3)),
    "com.microsoft.QLinearMul": ("Mul", (0, 3)),
    "com.microsoft.QLinearWhere": ("Where", (0, 1, 4)),
    "com.microsoft.FusedConv": ("Conv", (0, 1)),
    "com.microsoft.FusedGemm": ("Gemm", (0, 1)),
    "com.microsoft.GemmFastGelu": ("MatMul", (0, 1)),
    "com.microsoft.QGemm": ("Gemm", (0, 3)),
    "com.microsoft.DynamicQuantizeMatMul": ("MatMul", (0, 1)),
    "com.microsoft.MatMulIntegerToFloat": ("MatMul", (0, 1)),
}
"""The standard operator, and the inputs of the node that it reads."""


def _joined(
    proto: onnx.NodeProto, operator: str, positions: tuple[int, ...]
) -> Iterator[ShapeSurrogate]:
    names = [proto.input[i] for i in positions if i < len(proto.input)]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(operator, names, proto.output[:1])
    known = defs.get_schema(operator).attributes
    node.attribute.extend(a for a in proto.attribute if a.name in known)
    if all(names):
        yield ShapeSurrogate(node)


def _identity(proto: onnx.NodeProto, position: int, like: int = 0) -> Iterator[ShapeSurrogate]:
    """An output with the sizes of an input, if the node has both."""
    read, made = list(proto.input[like : like + 1]), list(proto.output[position : position + 1])
    if any(read) and any(made):
        yield ShapeSurrogate(helper.make_node("Identity", read, made))


def _concat(proto: onnx.NodeProto, _: Types) -> Iterator[ShapeSurrogate]:
    # Scale and zero point of the output, then each tensor with its own scale and zero point.
    names = proto.input[2::3]
    axis = _integer(proto, "axis", 1)
    yield ShapeSurrogate(helper.make_node("Concat", names, proto.output[:1], axis=axis))


def _fused_matmul(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    given: dict[str, onnx.TypeProto] = {}
    for position, which in enumerate("AB"):
        shape = _shape(proto, position, types)
        if len(shape) < 2:
            return
        if _integer(proto, f"transBatch{which}", 0):
            shape = (*shape[1:-1], shape[0], shape[-1])
        *stack, rows, columns = shape
        element = types[proto.input[position]].tensor_type.elem_type
        last = (columns, rows) if _integer(proto, f"trans{which}", 0) else (rows, columns)
        given[f"operand {position}"] = helper.make_tensor_type_proto(element, (*stack, *last))
    yield ShapeSurrogate(helper.make_node("MatMul", list(given), proto.output[:1]), given)


def _matmul_nbits(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    yield from _times(proto, types, (_integer(proto, "K", 0), _integer(proto, "N", 0)))


def _reorder_output(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    """The channels that are not padding, on the second or on the last axis."""
    shape, channels = _shape(proto, 0, types), _integer(proto, "channels", 0)
    if len(shape) == 4 and channels > 0:
        batch, _, *axes = shape
        is_last = _integer(proto, "channels_last", 0)
        made = (batch, *axes, channels) if is_last else (batch, channels, *axes)
        yield from _shaped(proto, types, made)


def _conv(weight: int) -> _Rule:
    """A convolution; ``weight`` is the position of the weights."""

    def rule(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
        kernels = _shape(proto, weight, types)
        matches = 2 < len(kernels) == len(_shape(proto, 0, types))
        if matches and isinstance(kernels[1], int):
            channels = kernels[1] * _integer(proto, "group", 1)
            yield from _on_image(proto, types, "Conv", (channels, kernels))

    return rule


def _pool(operator: str) -> _Rule:
    return lambda proto, types: _on_image(proto, types, operator)


def _on_image(
    proto: onnx.NodeProto, types: Types, operator: str, weights: tuple[int, Shape] | None = None
) -> Iterator[ShapeSurrogate]:
    """An operator on an image, which is transposed where its channels are last.

    ``weights`` are the channels that they fit and their shape. In blocks there may be more channels
    than in the image.
    """
    image = _shape(proto, 0, types)
    if len(image) < 3:
        return
    is_last = proto.domain == CHANNELS_LAST or proto.op_type.startswith("Nhwc")
    if is_last or _integer(proto, "channels_last", 0):
        image, order = (image[0], image[-1], *image[1:-1]), [0, *range(2, len(image)), 1]
    else:
        order = []
    if weights is not None and proto.domain == BLOCKED:
        image = (image[0], weights[0], *image[2:])
    given = {f"image of {proto.output[0]}": helper.make_tensor_type_proto(_FLOAT, image)}
    if weights is not None:
        kernels = helper.make_tensor_type_proto(_FLOAT, weights[1])
        given[f"weights of {proto.output[0]}"] = kernels
    made = f"{proto.output[0]} before its transposition" if order else proto.output[0]
    node = helper.make_node(operator, list(given), [made])
    known = defs.get_schema(operator).attributes
    node.attribute.extend(a for a in proto.attribute if a.name in known)
    yield ShapeSurrogate(node, given)
    if order:
        yield ShapeSurrogate(helper.make_node("Transpose", [made], proto.output[:1], perm=order))


def _reorder_input(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    """The axes of an image with its channels second; how many fill its last block is not known."""
    shape = _shape(proto, 0, types)
    if _integer(proto, "channels_last", 0) and len(shape) > 2:
        shape = (shape[0], shape[-1], *shape[1:-1])
    if shape:
        yield from _shaped(proto, types, shape)


def _reduce_mean(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    shape = _shape(proto, 0, types)
    stated = next((a.ints for a in proto.attribute if a.name == "axes"), range(len(shape)))
    axes = {axis % len(shape) for axis in stated if -len(shape) <= axis < len(shape)}
    keeps = _integer(proto, "keepdims", 1)
    made = (1 if i in axes else n for i, n in enumerate(shape) if keeps or i not in axes)
    if shape and len(axes) == len(stated):
        yield from _shaped(proto, types, tuple(made))


def _projected_attention(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    """One product gives query, key and value; the output is as wide as the value."""
    weights = _shape(proto, 1, types)
    stated = next((a.ints for a in proto.attribute if a.name == "qkv_hidden_sizes"), ())
    if len(weights) == 2 and isinstance(weights[1], int) and len(stated) in (0, 3):
        wide = stated[2] if stated else weights[1] // 3
        yield from _times(proto, types, (weights[0], wide))


def _multi_head_attention(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    if len(_shape(proto, 0, types)) == len(_shape(proto, 2, types)) == 3:
        names = [proto.input[0], proto.input[2]]
        yield ShapeSurrogate(
            helper.make_node("Einsum", names, proto.output[:1], equation="bsd,blv->bsv")
        )


def _group_query_attention(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    """Without a key input, the first input packs queries, keys and values."""
    if len(proto.input) > 1 and proto.input[1]:
        yield from _identity(proto, 0)
        return
    packed, heads = _shape(proto, 0, types), _integer(proto, "num_heads", 0)
    total = heads + 2 * _integer(proto, "kv_num_heads", 0)
    if len(packed) in (2, 3) and isinstance(packed[-1], int) and total > 0:
        yield from _times(proto, types, (packed[-1], packed[-1] // total * heads))


def _decoder_attention(proto: onnx.NodeProto, types: Types) -> Iterator[ShapeSurrogate]:
    """As wide as the value; one input packs query, key and value of equal widths."""
    if len(proto.input) > 2 and proto.input[2]:
        if len(_shape(proto, 2, types)) == 3:
            yield from _multi_head_attention(proto, types)
        else:
            yield from _identity(proto, 0)
        return
    packed = _shape(proto, 0, types)
    if len(packed) == 3 and isinstance(packed[2], int):
        yield from _times(proto, types, (packed[2], packed[2] // 3))


_PRODUCTS: Final[Mapping[str, _Rule]] = {
    f"{BLOCKED}.ReorderOutput": _reorder_output,
    f"{BLOCKED}.ReorderInput": _reorder_input,
    **dict.fromkeys((f"{BLOCKED}.Conv", f"{CHANNELS_LAST}.Conv"), _conv(1)),
    "com.microsoft.NhwcFusedConv": _conv(1),
    **dict.fromkeys((f"{CHANNELS_LAST}.QLinearConv", "com.microsoft.QLinearConv"), _conv(3)),
    **{
        f"{domain}.{operator}": _pool(operator)
        for domain in (BLOCKED, CHANNELS_LAST)
        for operator in ("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")
    },
    "com.microsoft.NhwcMaxPool": _pool("MaxPool"),
    "com.microsoft.QLinearAveragePool": _pool("AveragePool"),
    "com.microsoft.QLinearGlobalAveragePool": _pool("GlobalAveragePool"),
    "com.microsoft.QLinearReduceMean": _reduce_mean,
    "com.microsoft.QLinearConcat": _concat,
    "com.microsoft.FusedMatMul": _fused_matmul,
    **dict.fromkeys(("com.microsoft.MatMulNBits", "com.microsoft.MatMulBnb4"), _matmul_nbits),
    **dict.fromkeys(("com.microsoft.Attention", "com.microsoft.QAttention"), _projected_attention),
    "com.microsoft.MultiHeadAttention": _multi_head_attention,
    "com.microsoft.DecoderMaskedMultiHeadAttention": _decoder_attention,
    **{
        f"com.microsoft.{kind}Attention": _group_query_attention
        for kind in ("GroupQuery", "Sparse", "Paged")
    },
}

SURROGATE_OPERATORS: Final = frozenset((*_SAME, *_GRADIENTS, *_ALIKE, *_PRODUCTS))
"""The operators that have a surrogate."""


_TYPES: Final[Mapping[str, tuple[int, int]]] = {
    "com.microsoft.QLinearConcat": (1, 0),
    **dict.fromkeys(("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"), (7, 0)),
    "com.microsoft.QLinearWhere": (8, 0),
    **{
        f"com.microsoft.QLinear{operator}": (4, 0)
        for operator in (
            *("Sigmoid", "LeakyRelu", "Softmax", "AveragePool", "GlobalAveragePool"),
            "ReduceMean",
        )
    },
    **{
        f"{domain}.{operator}": (0, 0)
        for domain in (BLOCKED, CHANNELS_LAST)
        for operator in ("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")
    },
    "com.microsoft.NhwcMaxPool": (0, 0),
    "com.microsoft.QGemm": (8, _FLOAT),
    "com.microsoft.QAttention": (3, _FLOAT),
    **dict.fromkeys(
        (f"{domain}.QLinearConv" for domain in ("com.microsoft", CHANNELS_LAST)), (7, 0)
    ),
    **dict.fromkeys(
        ("com.microsoft.MatMulIntegerToFloat", "com.microsoft.DynamicQuantizeMatMul"), (2, _FLOAT)
    ),
}
"""The input whose element type the output has, such as a zero point, and the type without it."""


def element_of_output(node: GraphNode, types: Types) -> int:
    """The element type of the output of a node that has a surrogate; 0 if it is not known."""
    position, usual = _TYPES.get(node.operator, (0, 0))
    names = node.proto.input
    name = names[position] if position < len(names) else ""
    return types[name].tensor_type.elem_type if name in types else usual


def _shaped(proto: onnx.NodeProto, types: Types, shape: Shape) -> Iterator[ShapeSurrogate]:
    """An output of that shape with the elements of the first input."""
    element, name = types[proto.input[0]].tensor_type.elem_type, f"shape of {proto.output[0]}"
    given = {name: helper.make_tensor_type_proto(element, shape)}
    yield ShapeSurrogate(helper.make_node("Identity", [name], proto.output[:1]), given)


def _times(proto: onnx.NodeProto, types: Types, matrix: Shape) -> Iterator[ShapeSurrogate]:
    """The first input times a matrix of the given sizes."""
    if proto.input and proto.input[0] in types and proto.output:
        element = types[proto.input[0]].tensor_type.elem_type
        given = helper.make_tensor_type_proto(element, matrix)
        names = [proto.input[0], f"{proto.input[0]} is multiplied with"]
        node = helper.make_node("MatMul", names, proto.output[:1])
        yield ShapeSurrogate(node, {names[1]: given})


def _shape(proto: onnx.NodeProto, position: int, types: Types) -> Shape:
    """The shape of an input; empty if unknown."""
    name = proto.input[position] if position < len(proto.input) else ""
    return (tensor_facts(types[name]).shape or ()) if name in types else ()


def _integer(proto: onnx.NodeProto, name: str, default: int) -> int:
    return next((a.i for a in proto.attribute if a.name == name), default)
