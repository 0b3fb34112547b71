"""Infers the sizes and constant values of the tensors of an ONNX graph, node by node."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Final, final

import onnx
from onnx import helper, numpy_helper, shape_inference

from nestmap.pipeline.frontend.onnx.load.crashing_nodes import is_safe_alone
from nestmap.pipeline.frontend.onnx.load.errors import LIBRARY_ERRORS
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.opsets import NEWEST, schema_of, version_of
from nestmap.pipeline.frontend.onnx.load.shapes import (
    Sizes,
    shape_text,
    stored_type,
    tensor_facts,
    whole_sizes,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.resolve.consistency import misfit
from nestmap.pipeline.frontend.onnx.resolve.folding import (
    FOLDED,
    SHAPE_OPERATORS,
    UNSIZED,
    Array,
    fold_node,
    shape_placeholder,
)
from nestmap.pipeline.frontend.onnx.resolve.node_inference import infer_node
from nestmap.pipeline.frontend.onnx.resolve.shape_surrogates import (
    SURROGATE_OPERATORS,
    Types,
    shape_surrogates,
)
from nestmap.pipeline.frontend.onnx.resolve.statements import Contradiction, Statements, merged_type

_NEWEST: Final = (helper.make_opsetid("", NEWEST),)
_NUMBERS: Final = "biuf"
_WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_LENIENT: Final = _WITH_BODIES | {"Range", "Einsum"}
"""Operators that the library rejects although runtimes do not (a Range between vectors of one
number, an Einsum whose dots stand for different numbers of axes), and those with bodies."""
_ACCEPTED: Final = "inputs and attributes that fit the operator and each other"
_SHOWN: Final = 8
_AXES: Final = 32  # limits of NumPy arrays,
_ELEMENTS: Final = 2**60  # which hold even for arrays without memory


@final
@dataclass
class TensorKnowledge:
    """The types of tensors, and the values of small constant ones.

    ``stated`` is what the model states of its tensors; ``contradictions`` is what is wrong with
    nodes, by name.
    """

    opsets: tuple[onnx.OperatorSetIdProto, ...]
    types: dict[str, onnx.TypeProto]
    stated: Statements
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    contradictions: dict[str, Contradiction] = field(default_factory=dict[str, Contradiction])

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
        """Infers the types and values of a node's outputs from its inputs.

        What cannot be inferred is as the model states it.
        """
        rejection = self._infer(node)
        for name in filter(None, node.proto.output):
            if name in self.stated.types:
                self.types[name] = merged_type(self.types.get(name), self.stated.types[name])
        if node.operator in FOLDED:
            self._fold(node)
        misfits = misfit(node.operator, node.proto, self.types, self.version)
        found = misfits or rejection or self._false_statement(node)
        if found is not None and not node.synthetic:
            self.contradictions[node.name] = found

    def sizes(self, name: str) -> Sizes | None:
        """The sizes of a tensor, possibly 0; ``None`` if one is unknown."""
        kind = self.types.get(name)
        return None if kind is None else whole_sizes(tensor_facts(kind).shape)

    def set_value(self, name: str, value: Array) -> None:
        """Records the value of a tensor."""
        self.values[name] = value
        if self.sizes(name) != value.shape:
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

    def _false_statement(self, node: GraphNode) -> Contradiction | None:
        """The first contradiction between what is stated of an output and what is inferred."""
        names = [name for name in node.proto.output if name in self.types]
        found = (self.stated.contradiction(name, self.types[name]) for name in names)
        return next(filter(None, found), None)

    def _infer(self, node: GraphNode) -> Contradiction | None:
        """Infers the types of a node's outputs; returns why the library rejects the node."""
        rejection = None
        given = {name: self.types[name] for name in node.reads if name in self.types}
        is_done = node.operator in _WITH_BODIES and self._is_inferred(node)
        if len(given) == len(node.reads) and not is_done:
            found = infer_node(node.proto, given, self.values, self.opsets)
            self._learn(found.types)
            if found.rejection and node.operator not in _LENIENT:
                rejection = self._rejected(node, found.rejection)
        if node.operator in SURROGATE_OPERATORS and not self._is_inferred(node):
            for stand_in in shape_surrogates(node, self.types):
                types = {**given, **stand_in.types}
                if types.keys() >= set(stand_in.proto.input):
                    found = infer_node(stand_in.proto, types, self.values, _NEWEST)
                    self._learn({x: self._of_stand_in(x, kind) for x, kind in found.types.items()})
        return rejection

    def _is_inferred(self, node: GraphNode) -> bool:
        return all(self.is_known(name) for name in node.proto.output if name)

    def _rejected(self, node: GraphNode, reason: str) -> Contradiction:
        given = ", ".join(self._shown(name) for name in node.proto.input if name)
        what = f"inputs {given}" if given else "attributes"
        return Contradiction(f"{what} that the operator rejects ({reason})", _ACCEPTED)

    def _shown(self, name: str) -> str:
        """Shape and, of a short vector of integers, values of a tensor."""
        shape, value = tensor_facts(self.types[name]).shape, self.values.get(name)
        text = "?" if shape is None else shape_text(shape)
        if value is None or value.dtype.kind != "i" or not 1 <= value.size <= _SHOWN:
            return text
        return f"{text} with the values {value.ravel().tolist()}"

    def _learn(self, types: Types) -> None:
        for name, kind in types.items():
            old = self.types.get(name)
            self.types[name] = kind if old is None else merged_type(kind, old)

    def _of_stand_in(self, name: str, kind: onnx.TypeProto) -> onnx.TypeProto:
        """An inferred type with the stated element type: a stand-in has only the same sizes."""
        stated = self.stated.types.get(name)
        if stated is not None and stated.tensor_type.elem_type:
            kind.tensor_type.elem_type = stated.tensor_type.elem_type
        return kind

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
