"""Infers the sizes and constant values of the tensors of an ONNX graph, node by node."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, checker, defs, helper, numpy_helper, shape_inference

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.onnx_file import LIBRARY_ERRORS, is_safe_alone
from nestmap.pipeline.frontend.onnx.load.opsets import NEWEST, schema_of, version_of
from nestmap.pipeline.frontend.onnx.load.shapes import (
    Sizes,
    TypedNode,
    Types,
    clear_negative_sizes,
    is_long,
    shape_text,
    stored_type,
    tensor_facts,
    whole_sizes,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.operators.checks import Contradiction
from nestmap.pipeline.frontend.onnx.operators.record import Folding
from nestmap.pipeline.frontend.onnx.operators.registry import operator_of
from nestmap.pipeline.frontend.onnx.resolve.attributes import OWN_ATTRIBUTES
from nestmap.pipeline.frontend.onnx.resolve.statements import Statements, merged_type

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator


# --- folds small constant tensors, such as shapes, axes and conditions ---

Array = npt.NDArray[np.generic]

_NUMERIC = "biuf"


def fold_node(
    proto: onnx.NodeProto, inputs: Sequence[Array | None], version: int
) -> tuple[Array, ...] | None:
    """The outputs of a node; ``None`` if onnx cannot compute them or they are not small arrays.

    Args:
        proto: a node with an operator that folds.
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


# --- the types of the outputs of one node by the onnx library, or why it rejects the node ---

_MOST_SCALES: Final = 32
"""Sizes follow from at most that many floats, such as the scales of a Resize."""

_NOT_NUMBERS: Final = frozenset(
    (TensorProto.STRING, TensorProto.BOOL, TensorProto.COMPLEX64, TensorProto.COMPLEX128)
)
_STAND_INS: Final = (
    ("tensor(float)", TensorProto.FLOAT, np.float32),
    ("tensor(int64)", TensorProto.INT64, np.int64),
)
"""The element types that replace those that the library rejects: sizes do not depend on them."""


@final
@dataclass(frozen=True)
class NodeInference:
    """The inferred types of a node's outputs, and why the library rejects the node, if it does."""

    types: Types = field(default_factory=dict[str, onnx.TypeProto])
    rejection: str = ""


class _Node(NamedTuple):
    """A node with what is known about its inputs."""

    proto: onnx.NodeProto
    types: Types
    values: Mapping[str, Array]
    opsets: Sequence[onnx.OperatorSetIdProto]

    def inferred(self) -> dict[str, onnx.TypeProto]:
        """The types of the outputs; raises what the library raises."""
        schema = schema_of(self.proto, self.opsets)
        if schema is None:
            return {}
        known = {name: self.values[name] for name in self.proto.input if name in self.values}
        values = {
            name: numpy_helper.from_array(value, name)
            for name, value in known.items()
            if value.dtype.kind != "f" or value.size <= _MOST_SCALES
        }
        return shape_inference.infer_node_outputs(
            schema, self.proto, dict(self.types), values, opset_imports=list(self.opsets)
        )


def infer_node(
    proto: onnx.NodeProto,
    types: Types,
    values: Mapping[str, Array],
    opsets: Sequence[onnx.OperatorSetIdProto],
) -> NodeInference:
    """The types of the outputs of a node, without what cannot be inferred.

    Args:
        proto: the node.
        types: the types of all tensors that it and its subgraphs read.
        values: the values of small constant tensors.
        opsets: the versions of the operators.
    """
    # The library makes at least an axis for each element, which exhausts memory for long vectors.
    first = operator_of(proto.op_type).sizes_from
    asks = () if first is None else proto.input[first:]
    long = any(name in types and is_long(types[name]) for name in asks)
    if long or schema_of(proto, opsets) is None or not is_safe_alone(proto):
        return NodeInference()
    node = _Node(_as_known_to_the_library(proto), types, values, opsets)
    try:
        return _checked(node.inferred())
    except checker.ValidationError as error:
        return _read_otherwise(node, _reason(error))
    except shape_inference.InferenceError as error:
        elements = [tensor_facts(types[x]).element for x in proto.input if x in types]
        if 0 in elements:  # only the sizes of some input are known
            return _read_otherwise(node, _reason(error))
        return NodeInference(rejection=_reason(error))
    except LIBRARY_ERRORS:
        return NodeInference()


def _checked(found: dict[str, onnx.TypeProto]) -> NodeInference:
    for name, kind in found.items():
        sizes = [dim.dim_value for dim in kind.tensor_type.shape.dim]
        clear_negative_sizes(kind)
        if any(size < 0 for size in sizes):
            return NodeInference(found, f"output {name!r} would have the sizes {sizes}")
    return NodeInference(found)


def _read_otherwise(node: _Node, reason: str) -> NodeInference:
    """Infers a node that does not fit the schema of its operator.

    Quantized networks are written with operators for floats, and local functions may contain
    operators of another version than the model's.
    """
    for other, has_elements in _readings(node, reason):
        try:
            found = _checked(other.inferred())
        except checker.ValidationError:
            continue
        except shape_inference.InferenceError as error:
            return NodeInference(rejection=_reason(error))
        except LIBRARY_ERRORS:
            return NodeInference()
        for kind in () if has_elements else found.types.values():
            if kind.HasField("tensor_type"):
                kind.tensor_type.ClearField("elem_type")
        return found
    return NodeInference(rejection=reason)


def _readings(node: _Node, reason: str) -> Iterator[tuple[_Node, bool]]:
    """Other readings of a node, and whether the elements of its inputs are those in the model."""
    yield _with_other_elements(node), False
    if "Required attribute" in reason:  # an older version may have a default for it
        return
    domain = node.proto.domain
    for version in _versions(node.proto.op_type, domain):
        opsets = [entry for entry in node.opsets if entry.domain != domain]
        yield node._replace(opsets=(*opsets, helper.make_opsetid(domain, version))), True


@cache
def _versions(operator: str, domain: str) -> tuple[int, ...]:
    """The versions of an operator, newest first."""
    schemas = defs.get_all_schemas_with_history()
    found = {x.since_version for x in schemas if x.name == operator and x.domain == domain}
    return tuple(sorted(found, reverse=True))


def _with_other_elements(node: _Node) -> _Node:
    """The node with inputs of numbers that its operator accepts."""
    schema = schema_of(node.proto, node.opsets)
    types, values = dict(node.types), dict(node.values)
    formal: Sequence[defs.OpSchema.FormalParameter] = () if schema is None else schema.inputs
    for position, name in enumerate(node.proto.input if formal else ()):
        accepted = formal[min(position, len(formal) - 1)].types
        kind = types.get(name)
        element = 0 if kind is None else kind.tensor_type.elem_type
        if kind is None or not kind.HasField("tensor_type") or element in _NOT_NUMBERS:
            continue
        for text, stand_in, dtype in _STAND_INS:
            if text in accepted:
                types[name] = onnx.TypeProto()
                types[name].CopyFrom(kind)
                types[name].tensor_type.elem_type = stand_in
                if name in values:
                    values[name] = values[name].astype(dtype)
                break
    return node._replace(types=types, values=values)


def _as_known_to_the_library(proto: onnx.NodeProto) -> onnx.NodeProto:
    """The node without attributes that only nestmap knows, which the library rejects.

    The library takes another default than the standard for the attribute ``onesided`` of an STFT,
    and adds the padding of outputs to what SAME_* already makes of a ConvTranspose.
    """
    own = any(attribute.name in OWN_ATTRIBUTES for attribute in proto.attribute)
    if not own and proto.op_type not in {"STFT", "ConvTranspose"}:
        return proto
    unknown = {*OWN_ATTRIBUTES, *(("output_padding",) if _is_same_padded(proto) else ())}
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    copy.attribute.extend(a for a in proto.attribute if a.name not in unknown)
    if proto.op_type == "STFT" and not any(a.name == "onesided" for a in proto.attribute):
        copy.attribute.append(helper.make_attribute("onesided", 1))
    return copy


def _is_same_padded(proto: onnx.NodeProto) -> bool:
    """Whether a ConvTranspose makes outputs for every stride, padded or not."""
    padded = [a.s for a in proto.attribute if a.name == "auto_pad"]
    return proto.op_type == "ConvTranspose" and any(x.startswith(b"SAME") for x in padded)


def _reason(error: Exception) -> str:
    """The first line of the library's message, without its kind of error."""
    text = str(error).strip().partition("\n")[0]
    text = text.rpartition("Error] ")[2]
    return "".join(letter if letter.isprintable() else "�" for letter in text)


# --- infers the sizes and constant values of the tensors of an ONNX graph, node by node ---

_NEWEST: Final = (helper.make_opsetid("", NEWEST),)
_NUMBERS: Final = "biuf"
_WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
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
        typed = TypedNode(node.proto, self.types, self.version)  # sees what is learned here
        rejection = self._infer(node, typed)
        inferred = {name: self.types.get(name) for name in node.proto.output if name}
        for name, kind in inferred.items():
            settled = self.stated.settle(name, kind)
            if settled is not None:
                self.types[name] = settled
        if operator_of(node.operator).folds is not None:
            self._fold(node)
        misfits = (check(typed) for check in operator_of(node.operator).checks)
        found = next(filter(None, misfits), None) or rejection or self._false_statement(inferred)
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

    def _false_statement(
        self, inferred: Mapping[str, onnx.TypeProto | None]
    ) -> Contradiction | None:
        """The first contradiction between what is stated of an output and what is inferred."""
        known = ((name, kind) for name, kind in inferred.items() if kind is not None)
        found = (self.stated.contradiction(name, kind) for name, kind in known)
        return next(filter(None, found), None)

    def _infer(self, node: GraphNode, typed: TypedNode) -> Contradiction | None:
        """Infers the types of a node's outputs; returns why the library rejects the node."""
        rejection, operator = None, operator_of(node.operator)
        given = {name: self.types[name] for name in node.reads if name in self.types}
        has_body = node.operator in _WITH_BODIES
        is_done = has_body and self._is_inferred(node)
        if len(given) == len(node.reads) and not is_done:
            found = infer_node(node.proto, given, self.values, self.opsets)
            self._learn(found.types)
            if found.rejection and not (has_body or operator.is_lenient):
                rejection = self._rejected(node, found.rejection)
        if operator.shapes is not None and not self._is_inferred(node):
            for stand_in in operator.shapes(typed):
                types = {**given, **stand_in.types}
                element = operator.element.of(typed)
                if types.keys() >= set(stand_in.proto.input):
                    found = infer_node(stand_in.proto, types, self.values, _NEWEST)
                    given |= found.types
                    for name, kind in found.types.items():
                        self._learn({name: self._of_stand_in(name, kind, element)})
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

    def _of_stand_in(self, name: str, kind: onnx.TypeProto, element: int) -> onnx.TypeProto:
        """An inferred type with the stated or a known element type: a stand-in has only sizes."""
        stated = self.stated.types.get(name)
        of_model = 0 if stated is None else stated.tensor_type.elem_type
        if of_model or element:
            kind.tensor_type.elem_type = of_model or element
        return kind

    def _fold(self, node: GraphNode) -> None:
        outputs = [name for name in node.proto.output if name]
        is_open = operator_of(node.operator).folds is Folding.OPEN
        if not is_open and not all(self._is_small(name) for name in outputs):
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
        if operator_of(node.operator).folds is Folding.SIZES:
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
