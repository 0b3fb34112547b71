"""Converts LSTM, GRU and RNN nodes to two layers, with the gates as vector work.

Both products compute all gates together (``K``). Inputs times ``W`` for all steps at once:
``O[b][d][k] += I[d][c] * W[b][c][k]`` with directions ``B`` and steps x batch rows ``D``. Hidden
states times ``R``, step by step: ``O[b][h][d][k] += I[b][h][d][c] * W[b][c][k]`` with steps ``H``
and batch rows ``D``; for one direction, ``B`` are the steps and ``W`` is not indexed by it.
Dependences between steps are not modelled: to a mapping, steps are ordinary iterations. The product
with an initial state of zeros is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import matrix_product
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

_INITIAL_H: Final = 5


@final
@dataclass(frozen=True)
class Cell:
    """A recurrent cell: its gates, and its operations per hidden element besides the products."""

    gates: int
    operations: int


_CELLS: Final[Mapping[str, Cell]] = {
    # Each gate: sum of the products, activation. Cell state: two products and a sum.
    # Hidden state: activation, product.
    "LSTM": Cell(4, 4 * 2 + 3 + 2),
    # Each gate as above; reset times a product; 1 - z, two products, a sum.
    "GRU": Cell(3, 3 * 2 + 1 + 4),
    "RNN": Cell(1, 2),
}


@final
@dataclass(frozen=True)
class Sequences:
    """The sizes of a recurrent network."""

    steps: int
    batch: int
    inputs: int
    directions: int
    hidden: int


def _recurrent(node: NodeReader) -> tuple[Node, ...]:
    """Converts an LSTM, GRU or RNN node with one or two directions, in any layout."""
    cell = _CELLS[node.node.operator]
    found = _sequences(node, cell, node.sizes(1), node.sizes(2))
    return _nodes(node, cell, found, expansion.value(node, 0))


def _dynamic_quantize_lstm(node: NodeReader) -> tuple[Node, ...]:
    """Converts a DynamicQuantizeLSTM node: 8-bit inputs and states, transposed weights."""
    cell = _CELLS["LSTM"]
    kernel, state = ((*sizes[:1], *sizes[:0:-1]) for sizes in (node.sizes(1), node.sizes(2)))
    found = _sequences(node, cell, kernel, state)
    return _nodes(node, cell, found, expansion.value(node, 0).of_bits(8))


def _sequences(node: NodeReader, cell: Cell, kernel: Sizes, state: Sizes) -> Sequences:
    image = node.sizes(0)
    directions = 2 if node.text("direction", "forward") == "bidirectional" else 1
    if len(image) != 3:
        raise node.error(f"an input of shape {shape_text(image)}", "steps, batch and inputs")
    hidden = state[-1] if state else 0
    wanted = (directions, cell.gates * hidden, image[2]), (directions, cell.gates * hidden, hidden)
    if (kernel, state) != wanted:
        raise node.error(
            f"weights {shape_text(kernel)} and {shape_text(state)} of {directions} directions",
            f"{shape_text(wanted[0])} and {shape_text(wanted[1])}",
        )
    if node.integer("hidden_size", hidden) != hidden:
        raise node.error(f"hidden_size {node.integer('hidden_size', hidden)}", f"{hidden}, as in R")
    steps, batch = image[1::-1] if node.flag("layout") else image[:2]
    return Sequences(steps, batch, image[2], directions, hidden)


def _nodes(
    node: NodeReader, cell: Cell, found: Sequences, image: expansion.Value
) -> tuple[Node, ...]:
    wide = cell.gates * found.hidden
    bits = node.tensor(0).precision
    whole = (found.directions, found.steps, found.batch, wide)
    made = expansion.intermediate(node, "input", whole, bits)
    added = expansion.intermediate(node, "recurrent", whole, bits)
    rows = {"C": found.inputs, "D": found.steps * found.batch, "K": wide}
    directions = (found.directions,) if found.directions > 1 else ()
    forward = matrix_product(rows, (), directions)
    square = {"C": found.hidden, "D": found.batch, "K": wide}
    back = matrix_product(square, (*directions, found.steps), (*directions, 1))
    states = _states(node, found, image)
    peepholes = 6 * (cell is _CELLS["LSTM"] and node.has(7))
    bias = cell.gates * node.has(3)
    work = (found.directions, found.steps, found.batch, found.hidden)
    gates = cell.operations + peepholes + bias
    return (
        expansion.layer_node(node, forward, {"I": image, "W": expansion.value(node, 1)}, made),
        expansion.layer_node(node, back, {"I": states, "W": expansion.value(node, 2)}, added),
        expansion.vector_part(node, "Gates", (work, gates), (made, added)),
    )


def _states(node: NodeReader, found: Sequences, image: expansion.Value) -> expansion.Value:
    """The hidden states before each step; only the initial one has a source in the graph."""
    source = node.source(_INITIAL_H) if node.has(_INITIAL_H) else None
    sizes = (found.directions, found.steps, found.batch, found.hidden)
    states = expansion.intermediate(node, "states", sizes, image.tensor.precision)
    return expansion.Value(states.tensor, source, image.quantized)


RECURRENT: Final[Mapping[str, Operator]] = {
    **dict.fromkeys(_CELLS, Operator(Layers(_recurrent))),
    f"{MICROSOFT}.DynamicQuantizeLSTM": Operator(Layers(_dynamic_quantize_lstm)),
}
"""The recurrent networks."""
