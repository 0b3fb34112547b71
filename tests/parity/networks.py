"""Networks of the reference's package: whole in ``make stress``, otherwise their first layers."""

from importlib.resources import files
from pathlib import Path
from typing import Final

import onnx

from tests.sweeps import STRESS

FOLDER: Final = Path(str(files("zigzag") / "inputs" / "workload"))
_FIRST: Final = 12
"""Convolutions that are left: three blocks of MobileNetV2, one of them with a bypass."""


def read_network(name: str) -> onnx.ModelProto:
    """A network of the package, without its weights."""
    model = onnx.load_from_string((FOLDER / f"{name}.onnx").read_bytes())
    return model if STRESS else _beginning(model)


def _beginning(model: onnx.ModelProto) -> onnx.ModelProto:
    """The nodes before a convolution; the last of them makes the output."""
    graph = model.graph
    convolutions = [i for i, node in enumerate(graph.node) if node.op_type == "Conv"]
    del graph.node[convolutions[_FIRST] :]
    last = graph.node[-1].output[0]
    del graph.output[:]
    graph.output.append(next(known for known in graph.value_info if known.name == last))
    return model
