"""Infers the sizes and constant values of the tensors of an ONNX graph, node by node."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Final, final

import onnx
from onnx import helper, numpy_helper, shape_inference

from nestmap.pipeline.frontend.onnx.load.errors import LIBRARY_ERRORS
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.opsets import NEWEST, schema_of, version_of
from nestmap.pipeline.frontend.onnx.load.shapes import (
    Sizes,
    clear_negative_sizes,
    is_long,
    stored_type,
    tensor_facts,
    whole_sizes,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.resolve.crash_guards import is_safe_alone
from nestmap.pipeline.frontend.onnx.resolve.folding import (
    FOLDED,
    SHAPE_OPERATORS,
    UNSIZED,
    Array,
    fold_node,
    shape_placeholder,
)
from nestmap.pipeline.frontend.onnx.resolve.shape_surrogates import Types, shape_surrogates

_NEWEST: Final = (helper.make_opsetid("", NEWEST),)
_NUMBERS: Final = "biuf"
_BY_SHAPE: Final = {
    **dict.fromkeys(("ConstantOfShape",), 0),
    **dict.fromkeys(("Expand", "Reshape", "Tile", "Pad", "Resize", "Upsample", "AffineGrid"), 1),
    **dict.fromkeys(("Slice", "Split", "Squeeze", "Unsqueeze", "CenterCropPad"), 1),
}
"""Operators whose inputs from that position on hold sizes. The library creates at least an axis for
each element, which exhausts memory for long vectors."""
_AXES: Final = 32  # limits of NumPy arrays,
_ELEMENTS: Final = 2**60  # which hold even for arrays without memory


@final
@dataclass
class TensorKnowledge:
    """The types of tensors, and the values of small constant ones."""

    opsets: tuple[onnx.OperatorSetIdProto, ...]
    types: dict[str, onnx.TypeProto]
    values: dict[str, Array] = field(default_factory=dict[str, Array])

    @cached_property
    def version(self) -> int:
        """The version of the standard operators."""
        return version_of("", self.opsets)

    def store(self, tensor: onnx.TensorProto, name: str) -> None:
        """Records a stored tensor under a name."""
        self.types[name] = stored_type(tensor)
        value = _value(tensor)
        if value is not None:
            self.values[name] = value

    def infer(self, node: GraphNode) -> None:
        """Infers the types and values of a node's outputs from its inputs, as far as possible."""
        if not all(self.sizes(name) is not None for name in node.proto.output if name):
            self._infer(node)
        if node.operator in FOLDED:
            self._fold(node)

    def sizes(self, name: str) -> Sizes | None:
        """The sizes of a tensor, possibly 0; ``None`` if one is unknown."""
        kind = self.types.get(name)
        return None if kind is None else whole_sizes(tensor_facts(kind).shape)

    def set_value(self, name: str, value: Array) -> None:
        """Records the value of a tensor."""
        self.values[name] = value
        if self.sizes(name) is None:
            element = helper.np_dtype_to_tensor_dtype(value.dtype)
            self.types[name] = helper.make_tensor_type_proto(element, value.shape)

    def is_known(self, name: str) -> bool:
        """Whether all sizes of a tensor are known, or it is not a tensor."""
        kind = self.types.get(name)
        return kind is not None and (
            kind.WhichOneof("value") not in (None, "tensor_type") or self.sizes(name) is not None
        )

    def is_valid(self, node: GraphNode) -> bool:
        """Whether a node has the inputs and attributes that ONNX requires of its operator."""
        schema = schema_of(node.proto, self.opsets)
        given = {name: self.types.get(name, onnx.TypeProto()) for name in node.reads}
        try:
            if schema is not None and is_safe_alone(node.proto):
                shape_inference.infer_node_outputs(
                    schema, node.proto, given, opset_imports=list(self.opsets)
                )
        except LIBRARY_ERRORS as error:
            return isinstance(error, shape_inference.InferenceError)
        return schema is not None

    def _infer(self, node: GraphNode) -> None:
        given = {name: self.types[name] for name in node.reads if name in self.types}
        if len(given) == len(node.reads):
            self._infer_as(node.proto, given, self.opsets)
        if not all(self.is_known(name) for name in node.proto.output if name):
            for stand_in in shape_surrogates(node, self.types):
                types = {**given, **stand_in.types}
                if types.keys() >= set(stand_in.proto.input):
                    self._infer_as(stand_in.proto, types, _NEWEST)

    def _infer_as(
        self, proto: onnx.NodeProto, given: Types, opsets: tuple[onnx.OperatorSetIdProto, ...]
    ) -> None:
        schema = schema_of(proto, opsets)
        asks = proto.input[_BY_SHAPE.get(proto.op_type, len(proto.input)) :]
        if schema is None or not is_safe_alone(proto):
            return
        if any(name in given and is_long(given[name]) for name in asks):
            return
        values = {
            name: numpy_helper.from_array(self.values[name], name)
            for name in proto.input
            if name in self.values
        }
        try:
            found = shape_inference.infer_node_outputs(
                schema, proto, dict(given), values, opset_imports=list(opsets)
            )
        except LIBRARY_ERRORS:
            return  # sizes do not fit; the converter that needs them reports it
        for name, kind in found.items():
            clear_negative_sizes(kind)
            self.types[name] = _merged(self.types.get(name), kind)

    def _fold(self, node: GraphNode) -> None:
        outputs = [name for name in node.proto.output if name]
        if node.operator not in UNSIZED and not all(self._is_small(name) for name in outputs):
            return
        inputs = [self._input(node, name) for name in node.proto.input]
        if any(
            value is None and name for value, name in zip(inputs, node.proto.input, strict=True)
        ):
            return
        results = fold_node(node.proto, inputs, self.version)
        if results is not None and len(results) == len(outputs):
            for name, value in zip(outputs, results, strict=True):
                self.set_value(name, value)

    def _is_small(self, name: str) -> bool:
        sizes = self.sizes(name)
        return sizes is not None and prod(sizes) <= SMALL

    def _input(self, node: GraphNode, name: str) -> Array | None:
        if node.operator in SHAPE_OPERATORS:
            sizes = self.sizes(name)
            fits = sizes is not None and len(sizes) <= _AXES and prod(sizes) < _ELEMENTS
            return shape_placeholder(sizes) if sizes is not None and fits else None
        return self.values.get(name)


def _value(tensor: onnx.TensorProto) -> Array | None:
    """The values of a stored tensor; ``None`` if the model does not contain them."""
    try:
        value = numpy_helper.to_array(tensor)
    except LIBRARY_ERRORS:
        return None
    return value if value.dtype.kind in _NUMBERS else None


def _merged(old: onnx.TypeProto | None, new: onnx.TypeProto) -> onnx.TypeProto:
    """The union of two types; if they differ, the first one wins."""
    if old is None or not old.tensor_type.HasField("shape"):
        return new if new.WhichOneof("value") or old is None else old
    merged = onnx.TypeProto()
    merged.CopyFrom(old)
    if not merged.tensor_type.elem_type:
        merged.tensor_type.elem_type = new.tensor_type.elem_type
    dims, others = merged.tensor_type.shape.dim, new.tensor_type.shape.dim
    if len(dims) == len(others):
        for dim, other in zip(dims, others, strict=True):
            if not dim.HasField("dim_value") and other.HasField("dim_value"):
                dim.dim_value = other.dim_value
    return merged
