"""The tables of a network before it is mapped: layers, their operands, vector operators."""

from collections.abc import Sequence
from typing import Final

from nestmap.model import Layer, Workload
from nestmap.model.workload.layer import Operand
from nestmap.pipeline.analysis.network.workload_summary import (
    LayerGroup,
    activation_bits,
    intensity,
    operand_bits,
    vector_summaries,
    weight_bits,
)
from nestmap.pipeline.format.mappings import bits_text, precisions_text, sizes_text
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell, Column, Room, Table, number_column, table

_LAYERS: Final = (
    Column("Layer"),
    Column("Operator"),
    number_column("MACs"),
    number_column("Weights"),
    number_column("Activations"),
    number_column("MACs", "per byte"),
    number_column("Times"),
    Column("Dimensions", room=Room.LINE),
    Column("Bits of an element", room=Room.LINE),
)
_VECTOR: Final = (
    Column("Vector operator"),
    number_column("Nodes"),
    number_column("Operations"),
    number_column("Read"),
    number_column("Written"),
)
_OPERANDS: Final = (
    Column("Operand"),
    Column("Element"),
    number_column("Elements"),
    number_column("Bits", "an element"),
    number_column("Size"),
    Column("From"),
)


def group_table(groups: Sequence[LayerGroup], caption: str = "") -> Table:
    """A row for each group of layers and one for the sum of all layers."""
    weights = sum(group.weight_bits for group in groups)
    bits = sum(group.operand_bits for group in groups)
    macs = sum(group.macs for group in groups)
    total = (
        *cells.texts("total", ""),
        *_figures(macs, weights, bits - weights),
        cells.count(sum(group.times for group in groups)),
        *cells.texts("", ""),
    )
    return table(_LAYERS, map(_group, groups), caption=caption, total=total)


def _group(group: LayerGroup) -> tuple[Cell, ...]:
    layer = group.layer
    return (
        *cells.texts(layer.name, layer.operator),
        *_figures(layer.macs, weight_bits(layer), activation_bits(layer)),
        cells.count(group.times),
        *cells.texts(sizes_text(layer.loops), precisions_text(layer)),
    )


def _figures(macs: int, weights: int, activations: int) -> tuple[Cell, ...]:
    """Multiply-accumulates, sizes, and multiply-accumulates per byte."""
    ratio = intensity(macs, weights + activations)
    return (
        cells.engineering(macs),
        cells.size(weights),
        cells.size(activations),
        Cell(cells.NONE) if ratio is None else Cell(_ratio_text(ratio), repr(ratio)),
    )


def _ratio_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def vector_table(workload: Workload) -> Table:
    """A row for each type of vector operator."""
    rows = [
        (
            Cell(x.operator),
            cells.count(x.nodes),
            cells.engineering(x.operations),
            cells.size(x.bits_read),
            cells.size(x.bits_written),
        )
        for x in vector_summaries(workload)
    ]
    return table(_VECTOR, rows)


def operand_table(layer: Layer) -> Table:
    """A row for each operand of a layer."""
    rows = [_operand(layer, operand) for operand in layer.operands]
    caption = f"Layer {layer.name} ({layer.operator}): {layer.equation}"
    return table(_OPERANDS, rows, caption=caption)


def _operand(layer: Layer, operand: Operand) -> tuple[Cell, ...]:
    return (
        Cell(operand.name),
        Cell(operand.name + "".join(f"[{index}]" for index in operand.indices)),
        cells.count(layer.elements(operand.name)),
        Cell(bits_text(operand)),
        cells.capacity(operand_bits(layer, operand.name)),
        Cell(_origin(layer, operand)),
    )


def _origin(layer: Layer, operand: Operand) -> str:
    if operand is layer.output:
        return f"this layer; partial sums of {layer.output.partial_precision} bit"
    read = next(entry for entry in layer.inputs if entry is operand)
    return "weights" if read.constant else read.source or "outside"
