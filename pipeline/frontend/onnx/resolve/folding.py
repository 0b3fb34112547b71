"""Folds small constant tensors, such as shapes, axes and conditions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[np.generic]

FOLDED: Final = frozenset(
    {
        *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "NonZero", "OneHot", "EyeLike"),
        *(
            "Identity",
            "Cast",
            "CastLike",
            "Reshape",
            "Flatten",
            "Squeeze",
            "Unsqueeze",
            "Transpose",
        ),
        *("Concat", "Split", "Slice", "Gather", "GatherElements", "GatherND", "Expand", "Tile"),
        *("Pad", "ScatterElements", "ScatterND", "Trilu", "Where", "Compress", "Unique", "TopK"),
        *("Add", "Sub", "Mul", "Div", "Mod", "Pow", "Neg", "Abs", "Sign", "Sqrt", "Reciprocal"),
        *("Floor", "Ceil", "Round", "Exp", "Log", "Min", "Max", "Clip", "BitShift", "CumSum"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf"),
        *("And", "Or", "Xor", "Not", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
        *("ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax", "ReduceMean", "ArgMin", "ArgMax"),
    }
)
"""Deterministic standard operators with which exporters compute shapes."""

SHAPE_OPERATORS: Final = frozenset({"Shape", "Size"})
"""The folded operators that read only the sizes of their input."""

UNSIZED: Final = frozenset({"NonZero", "Compress", "Unique"})
"""The folded operators whose output sizes depend on values. An output has at most the elements of
the input times its axes."""

_NUMERIC = "biuf"


def fold_node(
    proto: onnx.NodeProto, inputs: Sequence[Array | None], version: int
) -> tuple[Array, ...] | None:
    """The outputs of a node; ``None`` if onnx cannot compute them or they are not small arrays.

    Args:
        proto: a node with an operator in :data:`FOLDED`.
        inputs: the values of its inputs; ``None`` for a missing optional input.
        version: the version of the standard operators.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            is_fill = proto.op_type == "ConstantOfShape"
            outputs = [_filled(proto, *inputs)] if is_fill else _run(proto, version, inputs)
        except Exception:  # onnx.reference may raise anything; the tensor stays unknown
            return None
    arrays = tuple(np.asarray(output) for output in outputs)
    if any(x.dtype.kind not in _NUMERIC or x.size > SMALL for x in arrays):
        return None
    return arrays


def shape_placeholder(shape: Sequence[int]) -> Array:
    """An array of that shape without memory, for operators that do not read values."""
    return np.broadcast_to(np.zeros((), np.float32), shape)


def _filled(proto: onnx.NodeProto, shape: Array | None) -> Array:
    """The output of ConstantOfShape; its shape is a small tensor.

    The weights of light models are such nodes, and importing onnx.reference for them would take a
    tenth of the time in which a network is read.
    """
    if shape is None or shape.ndim != 1:
        raise ValueError(shape)
    value = numpy_helper.to_array(proto.attribute[0].t) if proto.attribute else np.zeros(1, "f4")
    return np.full([int(size) for size in shape], value.item(), value.dtype)


def _canonical(proto: onnx.NodeProto) -> bytes:
    """The node with canonical tensor names, equal for all nodes with the same function."""
    node = onnx.NodeProto(op_type=proto.op_type, attribute=proto.attribute)
    node.input.extend(f"i{k}" if name else "" for k, name in enumerate(proto.input))
    node.output.extend(f"o{k}" if name else "" for k, name in enumerate(proto.output))
    return node.SerializeToString(deterministic=True)


def _run(proto: onnx.NodeProto, version: int, inputs: Sequence[Array | None]) -> Sequence[object]:
    evaluator = _evaluator(_canonical(proto), version)
    feeds = {f"i{k}": value for k, value in enumerate(inputs) if value is not None}
    names = [name for name in evaluator.output_names if name]
    return list(evaluator.run(names, feeds, attributes={}))  # pyright: ignore[reportUnknownMemberType]


@lru_cache(maxsize=1024)
def _evaluator(data: bytes, version: int) -> ReferenceEvaluator:
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 (takes 50 ms)

    node = onnx.NodeProto.FromString(data)
    names = [name for name in node.input if name], [name for name in node.output if name]
    opsets = [helper.make_opsetid("", version)]
    return ReferenceEvaluator(helper.make_function("nestmap", "node", *names, [node], opsets))
