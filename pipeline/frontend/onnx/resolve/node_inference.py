"""Infers the types of the outputs of one node with the onnx library, or why it rejects the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, final

import numpy as np
import onnx
from onnx import TensorProto, checker, defs, helper, numpy_helper, shape_inference

from nestmap.pipeline.frontend.onnx.load.crashing_nodes import is_safe_alone
from nestmap.pipeline.frontend.onnx.load.errors import LIBRARY_ERRORS
from nestmap.pipeline.frontend.onnx.load.opsets import schema_of
from nestmap.pipeline.frontend.onnx.load.shapes import clear_negative_sizes, is_long
from nestmap.pipeline.frontend.onnx.resolve.attributes import OWN_ATTRIBUTES
from nestmap.pipeline.frontend.onnx.resolve.folding import Array
from nestmap.pipeline.frontend.onnx.resolve.shape_surrogates import Types

_BY_SHAPE: Final = {
    **dict.fromkeys(("ConstantOfShape",), 0),
    **dict.fromkeys(("Expand", "Reshape", "Tile", "Pad", "Resize", "Upsample", "AffineGrid"), 1),
    **dict.fromkeys(("Slice", "Split", "Squeeze", "Unsqueeze", "CenterCropPad"), 1),
}
"""Operators whose inputs from that position on hold sizes. The library creates at least an axis for
each element, which exhausts memory for long vectors."""

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
    asks = proto.input[_BY_SHAPE.get(proto.op_type, len(proto.input)) :]
    long = any(name in types and is_long(types[name]) for name in asks)
    if long or schema_of(proto, opsets) is None or not is_safe_alone(proto):
        return NodeInference()
    node = _Node(_as_known_to_the_library(proto), types, values, opsets)
    try:
        return _checked(node.inferred())
    except checker.ValidationError as error:
        return _read_otherwise(node, _reason(error))
    except shape_inference.InferenceError as error:
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

    The library takes another default than the standard for the attribute ``onesided`` of an STFT.
    """
    own = any(attribute.name in OWN_ATTRIBUTES for attribute in proto.attribute)
    if not own and proto.op_type != "STFT":
        return proto
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    copy.attribute.extend(a for a in proto.attribute if a.name not in OWN_ATTRIBUTES)
    if proto.op_type == "STFT" and not any(a.name == "onesided" for a in proto.attribute):
        copy.attribute.append(helper.make_attribute("onesided", 1))
    return copy


def _reason(error: Exception) -> str:
    """The first line of the library's message, without its kind of error."""
    text = str(error).strip().partition("\n")[0]
    text = text.rpartition("Error] ")[2]
    return "".join(letter if letter.isprintable() else "�" for letter in text)
