"""Reports a split network: layers, largest tensors, tensors that do not fit; also as JSON."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

import numpy as np

from nestmap.model import VectorNode, Workload
from nestmap.model.arrays import Ints
from nestmap.model.dims import Dimension
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.cn_layer import CnLayer, TensorUse
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.pipeline.analysis.schedule.split_summary import (
    LargeTensor,
    LayerSummary,
    Span,
    TooLarge,
)
from nestmap.pipeline.format.numbers import capacity, count
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.render.text.wrapping_table import Row, RowColumns, rows_table
from nestmap.pipeline.util.atomic_files import Json

DEFINITIONS: Final = (
    "Nodes: parts of a layer that run one after the other; those of a group use the same constants "
    "and run on one core. Constants, inputs, output: what one node needs, from the least to the "
    "most. Edges: nodes of other layers whose output a node waits for, with the bits they send."
)

_NAMES: Final = (Column("Layer"), Column("Operator"))
_DETAILS: Final = (Column("Tiles"),)
_FIGURES: Final = (
    number_column("Nodes"),
    number_column("Groups"),
    number_column("Constants"),
    number_column("Inputs"),
    number_column("Output"),
    number_column("Edges"),
    number_column("Sent"),
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


def split_table(rows: Sequence[LayerSummary], split: CnWorkload, width: int) -> list[Line]:
    """A row for each layer, and one for the sum."""
    columns = RowColumns(_NAMES, _DETAILS, "Tiles", _FIGURES)
    return rows_table(columns, [*map(_row, rows), _total(rows, split)], width)


def split_totals(split: CnWorkload) -> str:
    """The totals in one sentence."""
    brings = split.edges.read >= 0
    sent = int(split.edges.bits[brings].sum())
    return (
        f"Total: {count(len(split))} nodes of {count(len(split.layers))} layers, "
        f"{count(len(split.edges))} edges: {count(int(brings.sum()))} bring {capacity(sent)}, "
        f"{count(int((~brings).sum()))} keep the order within a group."
    )


def passing_note(workload: Workload, split: CnWorkload) -> str:
    """The vector operators that no core runs and that are not split; empty if there are none."""
    made = {layer.nest.name for layer in split.layers}
    passing = Counter(
        node.operator
        for node in workload.nodes
        if isinstance(node, VectorNode) and node.name not in made
    )
    if not passing:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(passing.items()))
    return f"Operators that no core runs pass their data on at no cost: {counted}."


def tensor_table(rows: Sequence[LargeTensor]) -> list[Line]:
    """The largest tensors, one per row."""
    cells = [
        (
            printable(row.layer.nest.name),
            row.use.operand + (" (constant)" if row.use.constant else ""),
            capacity(row.bits),
            capacity(whole_bits(row.use)),
        )
        for row in rows
    ]
    return table_lines(table(_TENSORS, cells))


def too_large_table(rows: Sequence[TooLarge], most: int) -> list[Line]:
    """The nodes that do not fit, one per row, at most ``most`` rows."""
    cells = [
        (
            printable(row.layer.nest.name),
            cores_text(row.cores),
            printable(row.memory.name),
            capacity(row.memory.size),
            " + ".join(f"{operand} {capacity(bits)}" for operand, bits in row.needs),
            ", ".join(row.left_out),
        )
        for row in rows[:most]
    ]
    more = len(rows) - len(cells)
    rest = [Line(f"{count(more)} more rows like these are in the JSON file (--json).")]
    return [*table_lines(table(_TOO_LARGE, cells)), *(rest if more else [])]


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


def tiles_text(layer: CnLayer) -> str:
    """The tiling of a layer, innermost loop first: ``OY 4 of 14, last 11; K 2 of 32``."""
    cut = dict.fromkeys(loop.dimension for loop in layer.outer)
    return "; ".join(_tiles(layer, d) for d in cut if layer.tiling.tiles[d] > 1) or "whole"


def _tiles(layer: CnLayer, dimension: Dimension) -> str:
    tiling, real = layer.tiling, layer.nest.sizes[dimension]
    size, count_, whole = (x[dimension] for x in (tiling.tile_size, tiling.tiles, tiling.sizes))
    last = whole - (count_ - 1) * size
    text = f"{dimension} {count_:,} of {size:,}"
    if last < size:
        text += f", last {last:,}"
    return text + (f", padded from {real:,}" if whole > real else "")


def whole_bits(use: TensorUse) -> int:
    """The bits of a whole tensor."""
    elements = 1
    for axis in use.axes:
        elements *= axis.size
    return elements * use.precision


def _row(row: LayerSummary) -> Row:
    nest, tiles = row.layer.nest, tiles_text(row.layer)
    return Row(
        names=(printable(nest.name), printable(nest.operator)),
        details=(tiles,),
        below=tiles,
        figures=(
            count(row.nodes),
            count(row.groups),
            *(_span(x) for x in (row.constants, row.inputs, row.output)),
            count(row.edges),
            capacity(row.bits) if row.edges else "-",
        ),
    )


def _total(rows: Sequence[LayerSummary], split: CnWorkload) -> Row:
    return Row(
        names=("total", ""),
        details=("",),
        below="",
        figures=(
            count(len(split)),
            count(sum(row.groups for row in rows)),
            *("", "", ""),
            count(sum(row.edges for row in rows)),
            capacity(sum(row.bits for row in rows)),
        ),
    )


def _span(span: Span) -> str:
    if not span.high:
        return "-"
    low, high = capacity(span.low), capacity(span.high)
    return high if low == high else f"{low} to {high}"


def split_json(split: CnWorkload, rows: Sequence[LayerSummary], unfit: Sequence[TooLarge]) -> Json:
    """The whole report, sizes in bits; nodes and edges as columns. Edges count nodes from 0."""
    edges = split.edges
    layers: list[Json] = [_layer_json(split, row) for row in rows]
    return {
        "name": split.name,
        "counting": split.counting.value,
        "nodes": len(split),
        "layers": layers,
        "edges": {
            "producer": _numbers(edges.producer),
            "consumer": _numbers(edges.consumer),
            "operand": [_operand(split, row) for row in range(len(edges))],
            "bits": _numbers(edges.bits),
        },
        "too_large": [_too_large_json(row) for row in unfit],
    }


def _operand(split: CnWorkload, row: int) -> str | None:
    read = int(split.edges.read[row])
    if read < 0:
        return None
    layer, _ = split.layer_of(int(split.edges.consumer[row]))
    return layer.nest.inputs[read].operand


def _layer_json(split: CnWorkload, row: LayerSummary) -> Json:
    layer, tiling = row.layer, row.layer.tiling
    uses = (layer.nest.output, *layer.nest.inputs)
    ranges: dict[str, Json] = {
        d: [
            list(pair)
            for pair in zip(tiling.starts(d).tolist(), tiling.ends(d).tolist(), strict=True)
        ]
        for d in tiling.sizes
    }
    bits: dict[str, Json] = {
        use.operand: _numbers(layer.bits_of(use, split.counting)) for use in uses
    }
    return {
        "number": layer.nest.number,
        "name": layer.nest.name,
        "operator": layer.nest.operator,
        "outer_loops": [[loop.dimension, loop.size] for loop in layer.outer],
        "nodes": row.nodes,
        "groups": row.groups,
        "edges_in": row.edges,
        "bits_in": row.bits,
        "node": {
            "group": _numbers(layer.groups),
            "final": [bool(x) for x in layer.is_final.tolist()],
            "ranges": ranges,
            "bits": bits,
        },
    }


def _too_large_json(row: TooLarge) -> Json:
    needs: dict[str, Json] = dict(row.needs)
    return {
        "layer": row.layer.nest.name,
        "cores": [core.id for core in row.cores],
        "memory": row.memory.name,
        "size": row.memory.size,
        "needs": needs,
        "no_room_for": list(row.left_out),
    }


def _numbers(values: Ints) -> Json:
    return [int(x) for x in np.asarray(values).tolist()]
