"""The models of single operators that the onnx package makes, with inputs and outputs of a run.

The package computes the outputs in Python loops (5 CPU s). They are kept in a file of the virtual
environment, for these versions of the packages and of this module.
"""

import os
import pickle
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import cast, final

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


@final
@dataclass(frozen=True)
class NodeCase:
    """A model, and the inputs and outputs that are tensors of numbers, by name."""

    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]

    @property
    def operators(self) -> frozenset[str]:
        """The operators in it."""
        return frozenset(node.op_type for node in self.model.graph.node)

    def unstated(self, stored: Iterable[str] = ()) -> onnx.ModelProto:
        """The model without the shapes of its outputs, some inputs stored in it."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.ir_version = max(model.ir_version, 4)  # before, what was stored was an input too
        graph = model.graph
        for value in graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        kept = [value for value in graph.input if value.name not in set(stored)]
        del graph.input[:]
        graph.input.extend(kept)
        graph.initializer.extend(numpy_helper.from_array(self.inputs[x], x) for x in stored)
        return model


@cache
def node_cases() -> Mapping[str, NodeCase]:
    """The models by name."""
    code = sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    folder = Path(sys.prefix) / "nestmap-tests"
    file = folder / f"node_cases-{onnx.__version__}-{np.__version__}-{code}.pickle"
    with suppress(OSError):
        found: Mapping[str, NodeCase] = pickle.loads(file.read_bytes())
        return found
    made = _node_cases()
    with suppress(OSError):  # where the environment cannot be written, they are made each time
        folder.mkdir(exist_ok=True)
        written = file.with_name(f"{file.name}.{os.getpid()}")
        written.write_bytes(pickle.dumps(made))
        written.replace(file)  # another process may write it, too
    return made


def _node_cases() -> Mapping[str, NodeCase]:
    # imported where nothing is kept yet: the package reads all of its cases
    from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reference results overflow and divide by zero
        found = collect_testcases(None)
    return {case.name: _node_case(case) for case in found}


def _node_case(case: TestCase) -> NodeCase:
    assert case.model is not None
    assert case.data_sets
    graph, (inputs, outputs) = case.model.graph, case.data_sets[0]
    given, made = _arrays(graph.input, inputs), _arrays(graph.output, outputs)
    return NodeCase(case.name, case.model, given, made)


def _arrays(values: Iterable[onnx.ValueInfoProto], given: Iterable[object]) -> dict[str, Array]:
    """The arrays among the given things: no sequences, optional and text tensors."""
    named = zip(values, given, strict=False)
    arrays = {value.name: _array(thing) for value, thing in named}
    return {name: array for name, array in arrays.items() if array is not None}


def _array(thing: object) -> Array | None:
    if isinstance(thing, onnx.TensorProto):
        thing = numpy_helper.to_array(thing)
    if not isinstance(thing, np.ndarray | np.generic):
        return None
    array: Array = np.asarray(cast(Array, thing))
    return None if array.dtype.kind in "OUS" else array
