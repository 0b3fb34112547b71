"""The table of an exploration: a row for each layer, the totals, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from nestmap.model import Layer, LayerResult, Loop, NetworkEvaluation, SpatialMapping
from nestmap.pipeline.report.columns import (
    Column,
    Line,
    Tone,
    figures,
    header,
    joined,
    printable,
    rule,
    table,
    titles,
    total_width,
    widths_of,
)
from nestmap.pipeline.report.figures import count, cycles, energy, engineering, share

MOST_NOTES: Final = 10
"""How many notes on skipped orders are written out."""

_INDENT: Final = "  "
_NARROWEST: Final = 12

_NAMES: Final = (Column("Layer"), Column("Operator"))
_FIGURES: Final = (
    figures("MACs"),
    figures("Energy"),
    figures("Latency", "cycles"),
    figures("MAC", "util."),
    figures("Evaluated", "mappings"),
)


class _Row(NamedTuple):
    """The cells of a layer."""

    names: tuple[str, str]
    dimensions: str
    spatial: SpatialMapping
    figures: tuple[str, ...]


def layer_table(layers: Sequence[Layer], evaluation: NetworkEvaluation, width: int) -> list[Line]:
    """A row for each layer and one for their sum.

    Where a row is wider than ``width``, dimensions and spatial mapping go to a line of their own,
    so that no figure leaves its column.
    """
    rows = [_row(layer, x) for layer, x in zip(layers, evaluation.layers, strict=True)]
    flat = _flat(rows, _total(evaluation))
    fits = max(len(line.text) for line in flat) <= width
    return flat if fits else _stacked(rows, _total(evaluation), width)


def totals(evaluation: NetworkEvaluation) -> str:
    """The totals in one sentence, with units."""
    edp = engineering(evaluation.energy * 1e-12 * evaluation.latency, "J x cycles")
    return (
        f"Total: energy {energy(evaluation.energy)}, latency {cycles(evaluation.latency)} cycles, "
        f"EDP {edp}, MAC utilization {share(evaluation.utilization)}, "
        f"{count(evaluation.evaluations)} mappings evaluated."
    )


def pruned_note(evaluation: NetworkEvaluation) -> str:
    """How many spatial mappings were left out; empty if none was."""
    pruned = sum(result.statistics.pruned for result in evaluation.layers)
    if not pruned:
        return ""
    return f"{count(pruned)} spatial mappings left out: their lower bounds are above the best."


def skipped_orders(evaluation: NetworkEvaluation) -> list[str]:
    """How many loop orders did not fit, of which layer, and why; the first ten notes in full."""
    notes = [note for result in evaluation.layers for note in _skipped(result)]
    more = len(notes) - MOST_NOTES
    rest = [f"{more} more notes on skipped orders are in the JSON file (--json)."]
    return notes[:MOST_NOTES] + (rest if more > 0 else [])


def no_cost_note(operators: dict[str, int]) -> str:
    """Which operators are kept in the graph and cost nothing; empty if there are none."""
    if not operators:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(operators.items()))
    return f"Operators that cost nothing here: {counted}."


def sizes_text(loops: Sequence[Loop]) -> str:
    """The dimensions of a layer that iterate: ``K 64, C 3``."""
    return ", ".join(str(loop) for loop in loops if loop.size > 1) or str(loops[0])


def spatial_text(mapping: SpatialMapping) -> str:
    """A spatial mapping without unrollings of 1: ``D1: K 32, D2: -``."""
    sides = (unrolling.array_dimension for unrolling in mapping.unrollings)
    parts = zip(sides, _unrolled(mapping), strict=True)
    return ", ".join(f"{side}: {loops}" for side, loops in parts)


def _unrolled(mapping: SpatialMapping) -> list[str]:
    """The loops over each array dimension."""
    return [
        " x ".join(str(loop) for loop in unrolling.loops if loop.size > 1) or "-"
        for unrolling in mapping.unrollings
    ]


def _row(layer: Layer, result: LayerResult) -> _Row:
    cme = result.cme
    return _Row(
        names=(printable(cme.layer), printable(cme.operator)),
        dimensions=sizes_text(layer.loops),
        spatial=cme.spatial_mapping,
        figures=(
            engineering(cme.macs),
            energy(cme.energy),
            cycles(cme.latency),
            share(cme.utilization),
            count(result.statistics.evaluations),
        ),
    )


def _total(evaluation: NetworkEvaluation) -> _Row:
    return _Row(
        names=("total", ""),
        dimensions="",
        spatial=SpatialMapping(),
        figures=(
            engineering(evaluation.macs),
            energy(evaluation.energy),
            cycles(evaluation.latency),
            share(evaluation.utilization),
            count(evaluation.evaluations),
        ),
    )


def _flat(rows: Sequence[_Row], total: _Row) -> list[Line]:
    """A line each."""
    sides = " | ".join(x.array_dimension for x in rows[0].spatial.unrollings)
    columns = (*_NAMES, Column("Dimensions"), Column("Spatial", sides), *_FIGURES)
    cells = [
        (*row.names, row.dimensions, " | ".join(_unrolled(row.spatial)), *row.figures)
        for row in (*rows, total)
    ]
    *lines, last = table(columns, cells)
    return [*lines, rule(widths_of([*titles(columns), *cells])), Line(last.text, Tone.STRONG)]


def _stacked(rows: Sequence[_Row], total: _Row, width: int) -> list[Line]:
    """A line of figures each, and the details below it."""
    columns = (*_NAMES, *_FIGURES)
    widths = widths_of([*titles(columns), *((*x.names, *x.figures) for x in (*rows, total))])
    missing = max(0, total_width(widths) - width)
    widths[0] = max(widths[0] - missing, min(widths[0], _NARROWEST))
    *heads, line = header(columns, widths)
    details = Line(f"{_INDENT}Dimensions; spatial mapping", Tone.STRONG)
    body = [line for row in rows for line in _stack(row, widths, width)]
    last = Line(joined(columns, widths, (*total.names, *total.figures)), Tone.STRONG)
    return [*heads, details, line, *body, line, last]


def _stack(row: _Row, widths: Sequence[int], width: int) -> Iterator[Line]:
    name, *more = wrap(row.names[0], widths[0])
    yield Line(joined((*_NAMES, *_FIGURES), widths, (name, row.names[1], *row.figures)))
    yield from (Line(part) for part in more)
    details = wrap(
        f"{row.dimensions}; {spatial_text(row.spatial)}",
        max(width, total_width(widths)) - len(_INDENT),
    )
    yield from (Line(_INDENT + part, Tone.FAINT) for part in details)


def _skipped(result: LayerResult) -> Iterator[str]:
    failed = result.statistics.infeasible
    orders = result.statistics.evaluations + sum(reason.count for reason in failed)
    for reason in failed:
        yield (
            f"{count(reason.count)} of {count(orders)} orders of layer "
            f"{printable(result.cme.layer)} skipped: {reason.reason}."
        )
