"""Shows workloads and layers as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model.workload.graph import Workload
from nestmap.model.workload.layer import Layer, Operand
from nestmap.pipeline.format.mappings import bits_text, precisions_text, sizes_text
from nestmap.pipeline.format.numbers import capacity, count, engineering
from nestmap.pipeline.render.notebook.markup import MOST_ROWS, container, cut_note, paragraph, table
from nestmap.pipeline.render.tables.columns import Column, number_column

_LAYERS: Final = (
    Column("Layer"),
    Column("Operator"),
    Column("Sizes"),
    Column("Bits of an element"),
    number_column("MACs"),
)
_OPERANDS: Final = (
    Column("Operand"),
    Column("Element"),
    number_column("Elements"),
    number_column("Bits", "an element"),
    number_column("Size"),
    Column("From"),
)


def workload_html(workload: Workload) -> str:
    """A row for each layer, the sum, and the other operators."""
    layers = workload.layers
    total = (f"{count(len(layers))} layers", "", "", "", engineering(workload.macs))
    return container(
        table(
            f"Workload {workload.name}",
            _LAYERS,
            [_layer(layer) for layer in layers[:MOST_ROWS]],
            total,
            cut_note(len(layers), "layers"),
        ),
        *(paragraph(note) for note in _others(workload)),
    )


def layer_html(layer: Layer) -> str:
    """The loops and a row for each operand."""
    sizes = ", ".join(str(loop) for loop in layer.loops)
    return container(
        table(
            f"Layer {layer.name} ({layer.operator}): {layer.equation}",
            _OPERANDS,
            [_operand(layer, operand) for operand in layer.operands],
        ),
        paragraph(f"Loops: {sizes}; {engineering(layer.macs)} MACs."),
    )


def _layer(layer: Layer) -> tuple[str, ...]:
    sizes, bits = sizes_text(layer.loops), precisions_text(layer)
    return layer.name, layer.operator, sizes, bits, engineering(layer.macs)


def _others(workload: Workload) -> list[str]:
    """Sentences on the operators that are not layers."""
    vector = workload.vector_nodes
    operations = engineering(sum(node.total_operations for node in vector))
    counts = workload.no_cost_operators
    notes: list[str] = []
    if vector:
        counted = _counted([node.operator for node in vector])
        notes.append(f"Vector operators: {counted}; {operations} operations.")
    if counts:
        named = ", ".join(f"{name} {count(n)}" for name, n in sorted(counts.items()))
        notes.append(f"At no cost: {named}.")
    return notes


def _counted(operators: Sequence[str]) -> str:
    return ", ".join(f"{name} {count(operators.count(name))}" for name in sorted(set(operators)))


def _operand(layer: Layer, operand: Operand) -> tuple[str, ...]:
    elements = layer.elements(operand.name)
    return (
        operand.name,
        operand.name + "".join(f"[{index}]" for index in operand.indices),
        count(elements),
        bits_text(operand),
        capacity(elements * operand.precision),
        _origin(layer, operand),
    )


def _origin(layer: Layer, operand: Operand) -> str:
    if operand is layer.output:
        return f"this layer; partial sums of {layer.output.partial_precision} bit"
    read = next(entry for entry in layer.inputs if entry is operand)
    return "weights" if read.constant else read.source or "outside"
