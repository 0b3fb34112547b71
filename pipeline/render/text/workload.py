"""Reports a workload: a row for each distinct layer, totals, and all other operators."""

from collections.abc import Sequence
from typing import Final

from nestmap.model import Workload
from nestmap.model.workload.sum_bits import ASSUMED_SUMS
from nestmap.pipeline.analysis.network.workload_summary import (
    LayerGroup,
    activation_bits,
    intensity,
    known_no_cost,
    vector_summaries,
    weight_bits,
)
from nestmap.pipeline.format.mappings import precisions_text, sizes_text
from nestmap.pipeline.format.numbers import capacity, count, engineering
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.render.text.wrapping_table import Row, RowColumns, rows_table
from nestmap.pipeline.util.atomic_files import Json

DEFINITIONS: Final = (
    "Times: how many layers have the same content; the figures of a row are those of one. "
    "Weights: operands that are known before the network runs; activations: all others. "
    "MACs per byte (arithmetic intensity): multiply-accumulates per byte of weights and "
    "activations, each read or written once."
)

_NAMES: Final = (Column("Layer"), Column("Operator"))
_DETAILS: Final = (Column("Dimensions"), Column("Bits of an element"))
_FIGURES: Final = (
    number_column("MACs"),
    number_column("Weights"),
    number_column("Activations"),
    number_column("MACs", "per byte"),
    number_column("Times"),
)
_VECTOR: Final = (
    Column("Vector operator"),
    number_column("Nodes"),
    number_column("Operations"),
    number_column("Read"),
    number_column("Written"),
)


def group_table(groups: Sequence[LayerGroup], width: int) -> list[Line]:
    """A row for each group of layers and one for the sum of all layers.

    If a row is wider than ``width``, dimensions and precisions go to a line of their own, so that
    all numbers stay in their columns.
    """
    if not groups:
        return [Line("No layer that the array computes.")]
    columns = RowColumns(_NAMES, _DETAILS, "Dimensions; bits of an element", _FIGURES)
    return rows_table(columns, [*map(_row, groups), _total(groups)], width)


def vector_table(workload: Workload) -> list[Line]:
    """A row for each type of vector operator; empty if there is none."""
    rows = [
        (
            printable(x.operator),
            count(x.nodes),
            engineering(x.operations),
            size_text(x.bits_read),
            size_text(x.bits_written),
        )
        for x in vector_summaries(workload)
    ]
    return table_lines(table(_VECTOR, rows)) if rows else []


def workload_totals(workload: Workload, groups: Sequence[LayerGroup]) -> str:
    """The totals in one sentence; ``groups`` are those of identical layers."""
    vectors = vector_summaries(workload)
    read, written = sum(x.bits_read for x in vectors), sum(x.bits_written for x in vectors)
    uncounted = workload.uncounted_operators
    without = ", ".join(f"{printable(name)} ({n})" for name, n in uncounted.items())
    return (
        f"Total{without and f' without {without}'}: layers {count(len(workload.layers))}, "
        f"different ones {count(len(groups))}, "
        f"MACs {engineering(workload.macs)}, "
        f"weights {size_text(sum(group.weight_bits for group in groups))}; "
        f"vector operators {count(len(workload.vector_nodes))}, "
        f"their operations {engineering(sum(x.operations for x in vectors))}, "
        f"read {size_text(read)}, written {size_text(written)}."
    )


def operator_notes(workload: Workload) -> list[str]:
    """The operators at no cost, with the unrecognized ones among them."""
    notes = no_cost_note(known_no_cost(workload)), _unknown(workload), _narrowed_sums(workload)
    return [note for note in notes if note]


def _narrowed_sums(workload: Workload) -> str:
    """How wide sums are where the network assumes wider ones; empty if there are none."""
    assumed = [layer.output for layer in workload.layers if layer.output.assumes_sums]
    widths = sorted({x.partial_precision for x in assumed if x.partial_precision < ASSUMED_SUMS})
    if not widths:
        return ""
    return (
        f"Partial sums have {' or '.join(map(str, widths))} bit, as much as the innermost memory "
        f"holds: the network does not state their width, usually {ASSUMED_SUMS} (--sum-bits)."
    )


def workload_json(workload: Workload, groups: Sequence[LayerGroup]) -> Json:
    """The whole report, sizes in bits; ``groups`` are the rows."""
    vectors = vector_summaries(workload)
    no_cost: dict[str, Json] = dict(known_no_cost(workload))
    unknown: dict[str, Json] = dict(workload.unknown_operators)
    return {
        "workload": workload.name,
        "total": {
            "nodes": len(workload.nodes),
            "layers": len(workload.layers),
            "different_layers": len({layer.anonymous for layer in workload.layers}),
            "macs": workload.macs,
            "weight_bits": sum(group.weight_bits for group in groups),
            "vector_operators": len(workload.vector_nodes),
            "vector_operations": sum(x.operations for x in vectors),
            "vector_bits_read": sum(x.bits_read for x in vectors),
            "vector_bits_written": sum(x.bits_written for x in vectors),
        },
        "layers": [_group_json(group) for group in groups],
        "vector_operators": [
            {
                "operator": x.operator,
                "nodes": x.nodes,
                "operations": x.operations,
                "bits_read": x.bits_read,
                "bits_written": x.bits_written,
            }
            for x in vectors
        ],
        "no_cost_operators": no_cost,
        "unknown_operators": unknown,
    }


def size_text(bits: int) -> str:
    """A data size in whole bytes; ``-`` for none."""
    return capacity(-(-bits // 8) * 8) if bits else "-"


def _group_json(group: LayerGroup) -> Json:
    layer, names = group.layer, group.names
    sizes: dict[str, Json] = dict(layer.sizes)
    precisions: dict[str, Json] = {x.name: x.precision for x in layer.operands}
    densities: dict[str, Json] = {x.name: x.density for x in layer.operands}
    weights, activations = weight_bits(layer), activation_bits(layer)
    return {
        "name": layer.name,
        "operator": layer.operator,
        "equation": layer.equation,
        "sizes": sizes,
        "precision": precisions,
        "density": densities,
        "macs": layer.macs,
        "weight_bits": weights,
        "activation_bits": activations,
        "macs_per_byte": intensity(layer.macs, weights + activations),
        "times": group.times,
        "names": [*names],
    }


def no_cost_note(operators: dict[str, int]) -> str:
    """The operators that stay in the graph at no cost; empty if there are none."""
    if not operators:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(operators.items()))
    return f"Operators that cost nothing here: {counted}."


def _unknown(workload: Workload) -> str:
    unknown = sorted(workload.unknown_operators.items())
    if not unknown:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in unknown)
    return f"Unrecognized operators, kept in the graph at no cost: {counted}."


def _row(group: LayerGroup) -> Row:
    layer = group.layer
    weights, activations = weight_bits(layer), activation_bits(layer)
    details = (sizes_text(layer.loops), precisions_text(layer))
    return Row(
        names=(printable(layer.name), printable(layer.operator)),
        details=details,
        below="; ".join(details),
        figures=(
            engineering(layer.macs),
            size_text(weights),
            size_text(activations),
            _ratio(intensity(layer.macs, weights + activations)),
            count(group.times),
        ),
    )


def _total(groups: Sequence[LayerGroup]) -> Row:
    macs = sum(group.macs for group in groups)
    weights = sum(group.weight_bits for group in groups)
    bits = sum(group.operand_bits for group in groups)
    return Row(
        names=("total", ""),
        details=("", ""),
        below="",
        figures=(
            engineering(macs),
            size_text(weights),
            size_text(bits - weights),
            _ratio(intensity(macs, bits)),
            count(sum(group.times for group in groups)),
        ),
    )


def _ratio(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
