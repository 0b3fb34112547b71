"""Fixes the values of a network's inputs that decide what runs: conditions, numbers of steps."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

from nestmap.model import InputError
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.onnx.load.shapes import tensor_facts, whole_sizes
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL, Skeleton
from nestmap.pipeline.frontend.onnx_bytes import InputValue


def set_values(small: Skeleton, values: Mapping[str, InputValue], where: str) -> Skeleton:
    """The model, changed in place, with these inputs as constants.

    Args:
        small: the model with its constants.
        values: the value of each input, in all its elements.
        where: the model, for messages.

    Raises:
        InputError: if the model has no such input, or one of unknown size, or of more than
            ``SMALL`` elements.
    """
    graph = small.model.graph
    inputs = {x.name: x for x in graph.input if x.name not in small.constants}
    for name, value in values.items():
        if name not in inputs:
            raise InputError(where, f"no input {name!r}", suggestion(name, tuple(inputs)))
        graph.initializer.append(_constant(inputs[name], value, where))
        graph.input.remove(inputs[name])
    return replace(small, constants=small.constants | values.keys())


def _constant(given: onnx.ValueInfoProto, value: InputValue, where: str) -> onnx.TensorProto:
    facts = tensor_facts(given.type)
    sizes = whole_sizes(facts.shape)
    if sizes is None or prod(sizes) > SMALL:
        found = f"input {given.name!r} of unknown size or more than {SMALL} elements"
        raise InputError(where, found, "an input of few numbers, with its sizes")
    kind = np.dtype(helper.tensor_dtype_to_np_dtype(facts.element or onnx.TensorProto.FLOAT))
    suits = kind.kind == "f" or (kind.kind in "biu" and _has(kind.name, value))
    if not suits:
        raise InputError(where, f"value {value} for input {given.name!r}", f"one of type {kind}")
    return numpy_helper.from_array(np.full(sizes, value, kind), given.name)


def _has(kind: str, value: InputValue) -> bool:
    """Whether a type of whole numbers or truth values has that value."""
    if kind == "bool":
        return value in (0, 1)
    limits = np.iinfo(kind)
    return value == int(value) and limits.min <= value <= limits.max
