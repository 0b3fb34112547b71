"""Inlines the local functions of an ONNX model."""

from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Final

import onnx
from onnx import inliner, shape_inference

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.onnx_file import (
    LIBRARY_ERRORS,
    is_safe_alone,
    locate_errors,
)
from nestmap.pipeline.frontend.onnx.load.shapes import stored_type
from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes

MOST_NODES: Final = 1_000_000
"""The largest number of nodes after inlining."""

_Key = tuple[str, str, str]


def inline_functions(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """The model with its local functions inlined.

    Raises:
        InputError: if functions call each other in a cycle, or inlining gives too many nodes.
    """
    if not model.functions:
        return model
    _check_size(model, where)
    with locate_errors(where, "inlining local functions"):
        if not _agree(model):
            converted = _converted(model)
            if converted is not None:
                return converted
        # The inliner skips functions of other operator set versions, and their layers would be
        # missed. Layers are the same in all versions, so each function gets the model's version.
        for function in model.functions:
            del function.opset_import[:]
            function.opset_import.extend(model.opset_import)
        return inliner.inline_local_functions(model)


def _agree(model: onnx.ModelProto) -> bool:
    """Whether all functions use the operator set versions of the model."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    entries = (entry for function in model.functions for entry in function.opset_import)
    return all(versions.get(entry.domain) == entry.version for entry in entries)


def _converted(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """The model with functions converted to its versions and inlined; ``None`` if impossible."""
    nodes = chain(all_nodes(model.graph), *map(all_nodes, model.functions))
    if not all(map(is_safe_alone, nodes)):
        return None  # the library infers all shapes before it converts
    typed = onnx.ModelProto()
    typed.CopyFrom(model)
    for tensor in model.graph.initializer:  # the library does not look there for types
        typed.graph.value_info.add(name=tensor.name, type=stored_type(tensor))
    try:
        typed = shape_inference.infer_shapes(typed)
        opened = inliner.inline_local_functions(typed, convert_version=True)
    except LIBRARY_ERRORS:
        return None
    keys = {_key(function) for function in model.functions}
    made = [name for node in opened.graph.node for name in node.output if name]
    # The library may give the same new names to two calls of a function.
    is_whole = len(made) == len(set(made))
    left = any(_called(node) in keys for node in all_nodes(opened.graph))
    return opened if is_whole and not left else None


def _check_size(model: onnx.ModelProto, where: str) -> None:
    """Rejects functions whose inlining would take too much memory."""
    functions = {_key(function): function for function in model.functions}
    calls = {
        key: [name for name in map(_called, all_nodes(function)) if name in functions]
        for key, function in functions.items()
    }
    sizes: dict[_Key, int] = {}
    try:
        for key in TopologicalSorter(calls).static_order():
            plain = sum(1 for _ in all_nodes(functions[key])) - len(calls[key])
            sizes[key] = plain + sum(sizes[name] for name in calls[key])
    except CycleError as error:
        circle: list[_Key] = error.args[1]
        text = " -> ".join(repr(name) for _, name, _ in reversed(circle))
        found = f"functions that call each other: {text}"
        raise InputError(where, found, "functions without a cycle") from None
    total = sum(sizes.get(_called(node), 1) for node in all_nodes(model.graph))
    if total > MOST_NODES:
        raise InputError(
            where, f"functions with {total} nodes after inlining", f"at most {MOST_NODES}"
        )


def _key(function: onnx.FunctionProto) -> _Key:
    return function.domain, function.name, function.overload


def _called(node: onnx.NodeProto) -> _Key:
    return node.domain, node.op_type, node.overload
