"""Checks what the shape inference of the onnx package does not: whether a node's tensors fit.

The package infers the sizes of an output from those inputs that determine them and ignores others.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final, final

import onnx
from onnx import TensorProto

from nestmap.pipeline.frontend.onnx.load.shapes import Shape, shape_text, tensor_facts, whole_sizes
from nestmap.pipeline.frontend.onnx.operators.output_shapes import Types
from nestmap.pipeline.frontend.onnx.resolve.statements import Contradiction, element_text

_FIRST_BROADCAST: Final = 7
"""The first version of the standard operators in which shapes broadcast without attributes."""

_NOT_NUMBERS: Final = frozenset((TensorProto.STRING, TensorProto.BOOL))


@final
@dataclass(frozen=True)
class _Node:
    """A node with the types of its tensors and the version of the standard operators."""

    proto: onnx.NodeProto
    types: Types
    version: int

    def shape(self, position: int) -> Shape | None:
        """The shape of an input; ``None`` if unknown or missing."""
        names = self.proto.input
        return self._shape(names[position]) if position < len(names) else None

    def element(self, position: int) -> int:
        """The element type of an input; 0 if unknown or missing."""
        names = self.proto.input
        kind = self.types.get(names[position]) if position < len(names) else None
        return 0 if kind is None else tensor_facts(kind).element

    def output(self) -> Shape | None:
        """The shape of the first output; ``None`` if unknown."""
        return self._shape(self.proto.output[0]) if self.proto.output else None

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        return next((a.i for a in self.proto.attribute if a.name == name), default)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute with a list of integers; ``None`` if missing."""
        return next((tuple(a.ints) for a in self.proto.attribute if a.name == name), None)

    def _shape(self, name: str) -> Shape | None:
        kind = self.types.get(name) if name else None
        return None if kind is None else tensor_facts(kind).shape


_Rule = Callable[[_Node], Contradiction | None]


def misfit(
    operator: str, proto: onnx.NodeProto, types: Types, version: int
) -> Contradiction | None:
    """The first contradiction between the tensors of a node; unknown sizes contradict nothing.

    Args:
        operator: the operator with its domain: ``com.microsoft.FusedConv``.
        proto: the node.
        types: the types of tensors, those of its outputs included.
        version: the version of the standard operators.
    """
    rules = _RULES.get(operator, ())
    node = _Node(proto, types, version)
    return next((found for rule in rules if (found := rule(node)) is not None), None)


def _reshape(node: _Node) -> Contradiction | None:
    before, after = whole_sizes(node.shape(0)), whole_sizes(node.output())
    if before is None or after is None or prod(before) == prod(after):
        return None
    found = f"{prod(before)} elements of shape {shape_text(before)} in shape {shape_text(after)}"
    return Contradiction(found, f"a shape of {prod(before)} elements")


def _transpose(node: _Node) -> Contradiction | None:
    shape, order = node.shape(0), node.integers("perm")
    if shape is None or order is None or sorted(order) == list(range(len(shape))):
        return None
    found = f"perm {list(order)} for an input of shape {shape_text(shape)}"
    return Contradiction(found, f"each axis from 0 to {len(shape) - 1} once")


def _broadcast(positions: Iterable[int] | None = None) -> _Rule:
    """Inputs (default: all) that broadcast to each other."""

    def rule(node: _Node) -> Contradiction | None:
        if node.version < _FIRST_BROADCAST:
            return None
        places = range(len(node.proto.input)) if positions is None else positions
        shapes = [shape for i in places if (shape := node.shape(i)) is not None]
        columns: dict[int, set[int]] = {}
        for shape in shapes:
            for i, size in enumerate(reversed(shape)):
                if isinstance(size, int) and size != 1:
                    columns.setdefault(i, set()).add(size)
        if all(len(sizes) == 1 for sizes in columns.values()):
            return None
        found = f"inputs of shapes {' and '.join(map(shape_text, shapes))}"
        return Contradiction(found, "shapes that broadcast to each other")

    return rule


def _spreads(position: int, what: str, to: Callable[[_Node], Shape | None]) -> _Rule:
    """An input that broadcasts to a shape without changing it."""

    def rule(node: _Node) -> Contradiction | None:
        own, whole = node.shape(position), to(node)
        if own is None or whole is None or node.version < _FIRST_BROADCAST:
            return None
        pairs = zip(reversed(own), reversed(whole), strict=False)
        if len(own) <= len(whole) and not any(
            isinstance(a, int) and isinstance(b, int) and a not in (1, b) for a, b in pairs
        ):
            return None
        found = f"{what} of shape {shape_text(own)}"
        return Contradiction(found, f"a shape that broadcasts to {shape_text(whole)}")

    return rule


def _vector(position: int, what: str, lengths: Callable[[_Node], Iterable[int | None]]) -> _Rule:
    """An input with one axis of one of the given lengths (``None``: any)."""

    def rule(node: _Node) -> Contradiction | None:
        own, allowed = node.shape(position), list(lengths(node))
        if own is None or not allowed or None in allowed:
            return None
        if len(own) == 1 and (not isinstance(own[0], int) or own[0] in allowed):
            return None
        choices = " or ".join(f"[{length}]" for length in dict.fromkeys(allowed))
        return Contradiction(f"{what} of shape {shape_text(own)}", f"shape {choices}")

    return rule


def _size(shape: Shape | None, axis: int) -> int | None:
    size = shape[axis] if shape is not None and axis < len(shape) else None
    return size if isinstance(size, int) else None


def _kernels(position: int) -> Callable[[_Node], Iterable[int | None]]:
    return lambda node: [_size(node.shape(position), 0)]


def _transposed_kernels(node: _Node) -> Iterable[int | None]:
    size = _size(node.shape(1), 1)
    return [None if size is None else size * node.integer("group", 1)]


def _channels(node: _Node) -> Iterable[int | None]:
    return [_size(node.shape(0), 1)]


def _channels_or_groups(node: _Node) -> Iterable[int | None]:
    return [_size(node.shape(0), 1), node.integer("num_groups", 0)]


def _numbers(*positions: int) -> _Rule:
    """Inputs with elements that can be multiplied."""

    def rule(node: _Node) -> Contradiction | None:
        for position in positions:
            if node.element(position) in _NOT_NUMBERS:
                found = f"elements of type {element_text(node.element(position))}"
                name = node.proto.input[position]
                return Contradiction(f"input {name!r} with {found}", "numbers")
        return None

    return rule


def _first(node: _Node) -> Shape | None:
    return node.shape(0)


def _scalar(position: int, what: str) -> _Rule:
    def rule(node: _Node) -> Contradiction | None:
        sizes = whole_sizes(node.shape(position))
        if sizes is None or prod(sizes) == 1:
            return None
        return Contradiction(f"{what} of shape {shape_text(sizes)}", "one number")

    return rule


_ELEMENTWISE: Final = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Where", "BitShift"),
    *("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
)
_BIAS: Final = "a bias"
_SCALE: Final = "a scale"
_RULES: Final[Mapping[str, tuple[_Rule, ...]]] = {
    **dict.fromkeys(_ELEMENTWISE, (_broadcast(),)),
    **dict.fromkeys(
        ("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"), (_broadcast((0, 3)),)
    ),
    **dict.fromkeys(
        ("Conv", "com.microsoft.FusedConv"), (_numbers(0, 1), _vector(2, _BIAS, _kernels(1)))
    ),
    "ConvInteger": (_numbers(0, 1),),
    "QLinearConv": (_numbers(0, 3), _vector(8, _BIAS, _kernels(3))),
    "ConvTranspose": (_numbers(0, 1), _vector(2, _BIAS, _transposed_kernels)),
    "DeformConv": (_numbers(0, 1), _vector(3, _BIAS, _kernels(1))),
    **dict.fromkeys(
        ("Gemm", "com.microsoft.FusedGemm"), (_numbers(0, 1), _spreads(2, _BIAS, _Node.output))
    ),
    "com.microsoft.QGemm": (_numbers(0, 3), _spreads(6, _BIAS, _Node.output)),
    **dict.fromkeys(("MatMul", "MatMulInteger", "com.microsoft.FusedMatMul"), (_numbers(0, 1),)),
    **dict.fromkeys(
        ("com.microsoft.MatMulIntegerToFloat", "com.microsoft.DynamicQuantizeMatMul"),
        (_numbers(0, 1),),
    ),
    "QLinearMatMul": (_numbers(0, 3),),
    "Reshape": (_reshape,),
    "Transpose": (_transpose,),
    "PRelu": (_spreads(1, "a slope", _first),),
    "LayerNormalization": (_spreads(1, _SCALE, _first), _spreads(2, _BIAS, _first)),
    "RMSNormalization": (_spreads(1, _SCALE, _first),),
    "InstanceNormalization": (_vector(1, _SCALE, _channels), _vector(2, _BIAS, _channels)),
    "GroupNormalization": (
        _vector(1, _SCALE, _channels_or_groups),
        _vector(2, _BIAS, _channels_or_groups),
    ),
    "Clip": (_scalar(1, "a minimum"), _scalar(2, "a maximum")),
}
"""The rules of each operator."""
