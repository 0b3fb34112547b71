"""The tables of a split network: layers, largest tensors, nodes that do not fit."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.cn_layer import TensorUse
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.pipeline.analysis.schedule.names import tiles_text
from nestmap.pipeline.analysis.schedule.split_summary import (
    LargeTensor,
    LayerSummary,
    Span,
    TooLarge,
)
from nestmap.pipeline.format.numbers import capacity, printable
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell, Column, Room, Table, number_column, table

_LAYERS: Final = (
    Column("Layer"),
    Column("Operator"),
    number_column("Nodes"),
    number_column("Groups"),
    number_column("Constants"),
    number_column("Inputs"),
    number_column("Output"),
    number_column("Edges"),
    number_column("Sent"),
    Column("Tiles", room=Room.LINE),
)
_TENSORS: Final = (
    Column("Largest tensors"),
    Column("Operand"),
    number_column("Of a node"),
    number_column("Of the layer"),
)
_TOO_LARGE: Final = (
    Column("Too large"),
    Column("Cores"),
    Column("Memory"),
    number_column("Size"),
    Column("A node needs"),
    Column("No room for"),
)


def split_table(rows: Sequence[LayerSummary], split: CnWorkload) -> Table:
    """A row for each layer, and one for the sum."""
    total = (
        *cells.texts("total", ""),
        cells.count(len(split)),
        cells.count(sum(row.groups for row in rows)),
        *cells.texts("", "", ""),
        cells.count(sum(row.edges for row in rows)),
        cells.capacity(sum(row.bits for row in rows)),
        Cell(""),
    )
    return table(_LAYERS, map(_layer, rows), total=total)


def _layer(row: LayerSummary) -> tuple[Cell, ...]:
    nest = row.layer.nest
    return (
        Cell(nest.name),
        Cell(nest.operator),
        cells.count(row.nodes),
        cells.count(row.groups),
        *(_span(x) for x in (row.constants, row.inputs, row.output)),
        cells.count(row.edges),
        cells.capacity(row.bits if row.edges else None),
        Cell(tiles_text(row.layer)),
    )


def _span(span: Span) -> Cell:
    if not span.high:
        return Cell(cells.NONE)
    low, high = capacity(span.low), capacity(span.high)
    return Cell(high if low == high else f"{low} to {high}", repr(span.high))


def tensor_table(rows: Sequence[LargeTensor]) -> Table:
    """The largest tensors, one per row."""
    tensors = [
        (
            Cell(row.layer.nest.name),
            Cell(row.use.operand + (" (constant)" if row.use.constant else "")),
            cells.capacity(row.bits),
            cells.capacity(_whole_bits(row.use)),
        )
        for row in rows
    ]
    return table(_TENSORS, tensors)


def _whole_bits(use: TensorUse) -> int:
    """The bits of a whole tensor."""
    elements = 1
    for axis in use.axes:
        elements *= axis.size
    return elements * use.precision


def too_large_table(rows: Sequence[TooLarge]) -> Table:
    """The nodes that do not fit, one per row."""
    nodes = [
        (
            Cell(row.layer.nest.name),
            Cell(cores_text(row.cores)),
            Cell(row.memory.name),
            cells.capacity(row.memory.size),
            Cell(" + ".join(f"{operand} {capacity(bits)}" for operand, bits in row.needs)),
            Cell(", ".join(row.left_out)),
        )
        for row in rows
    ]
    return table(_TOO_LARGE, nodes)


def cores_text(cores: Sequence[ComputeCore]) -> str:
    """Cores by name and number: ``tpu_like 0-3; simd 5``."""
    named = groupby(cores, key=lambda core: core.name)
    return "; ".join(
        f"{printable(name)} {_numbers_text([core.id for core in some])}" for name, some in named
    )


def _numbers_text(numbers: Sequence[int]) -> str:
    """Consecutive numbers as ranges."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(f"{x[0]}-{x[-1]}" if len(x) > 1 else str(x[0]) for x in rows)
