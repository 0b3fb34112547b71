"""The tables of a network: its layers with their costs, and its vector operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from nestmap.pipeline.format.mappings import sizes_text, unrolled_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Room,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)

if TYPE_CHECKING:
    from nestmap.model.evaluation.cme import CostModelEvaluation
    from nestmap.model.evaluation.result import NetworkEvaluation
    from nestmap.model.hardware.vector_unit import VectorEvaluation
    from nestmap.model.workload.layer import Layer
    from nestmap.pipeline.analysis.network.stacked_bars import Bars

TIMES: Final = number_column("Times", hint="how many layers have the same content and mapping")
"""The number of layers that share a row."""

_GAP: Final = number_column(
    "Gap",
    "at most",
    hint="the optimum of the space searched may be lower by this share of the result",
)
_VECTOR: Final = (
    number_column("Operations"),
    number_column("Read"),
    number_column("Written"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
)


class _Line(NamedTuple):
    """What is known of a layer, of all vector operators, or of the whole network."""

    position: int
    name: str
    operator: str = ""
    times: int | None = None
    macs: int | None = None
    energy: float | None = None
    latency: float | None = None
    utilization: float | None = None
    edp: float | None = None
    waits: str = ""
    evaluations: int | None = None
    gap: float | None = None
    dimensions: str = ""
    spatial: str = ""
    repeats: str = ""
    link: str = ""


def layer_table(
    evaluation: NetworkEvaluation,
    layers: Sequence[Layer] = (),
    caption: str = "",
    link: Callable[[str], str] = lambda _: "",
) -> Table:
    """A row for each layer, one for vector operators if totals include them, one for the sum.

    Layers without a mapping come after the others; the name of the sum says that it leaves them
    out. The figures are those of one layer; a column counts the layers that repeat it. ``layers``
    are those of the network, with their dimensions; ``link`` gives the address of what is known of
    a layer.
    """
    by_name = {layer.name: layer for layer in layers}
    lines = [
        *_mapped(evaluation, by_name, link),
        *_infeasible(evaluation, by_name),
        *_vector(evaluation),
    ]
    columns, sums = [*_columns(evaluation, bool(layers))], _total(evaluation)
    rows = [
        Row(
            tuple(cell(line) for _, cell in columns),
            group=line.operator,
            repeats=bool(line.repeats),
        )
        for line in lines
    ]
    total = [cell(sums) for _, cell in columns]
    return table([column for column, _ in columns], rows, caption=caption, total=total, head=1)


def _total_name(evaluation: NetworkEvaluation) -> str:
    """The name of the row of totals, which says how many layers it leaves out."""
    left_out = len(evaluation.infeasible)
    layers = len(evaluation.layers) + left_out
    return f"total without {count(left_out)} of {count(layers)}" if left_out else "total"


def binding_port(cme: CostModelEvaluation) -> str:
    """The port or the links with the largest stall; empty if there are none."""
    if cme.stall > 0 and any(hop.stall == cme.stall for hop in cme.hop_stalls):
        return "links between units"
    worst = max(cme.port_stalls, key=lambda port: port.stall, default=None)
    if worst is None or worst.stall <= 0:
        return ""
    return f"{worst.memory} {worst.port}"


def _columns(
    evaluation: NetworkEvaluation, has_dimensions: bool
) -> Iterator[tuple[Column, Callable[[_Line], Cell]]]:
    """The columns, with the cell of a row in each."""
    mapped = evaluation.layers
    energy = _Shares(evaluation.energy, max(x.cme.energy for x in mapped))
    latency = _Shares(evaluation.latency, max(x.cme.latency for x in mapped))
    page, long = Room.PAGE, Room.LINE
    yield number_column("#", "", "position in the network", page), lambda x: cells.count(x.position)
    yield Column("Layer"), lambda x: Cell(x.name, link=x.link)
    yield Column("Operator"), lambda x: Cell(x.operator)
    if any(x.repeats for x in mapped) or any(x.repeats for x in evaluation.infeasible):
        yield TIMES, lambda x: cells.count(x.times)
    yield number_column("MACs"), lambda x: cells.engineering(x.macs)
    yield number_column("Energy"), lambda x: cells.energy(x.energy)
    yield number_column("Share", room=page), lambda x: energy.of(x.energy)
    yield number_column("Latency", "cycles"), lambda x: cells.cycles(x.latency)
    yield number_column("Share", room=page), lambda x: latency.of(x.latency)
    yield (
        number_column("MAC", "util.", "ideal cycles over latency"),
        lambda x: cells.share(x.utilization),
    )
    yield (
        number_column("EDP", EDP_UNIT, "energy-delay product of the layer", page),
        lambda x: cells.edp(x.edp),
    )
    port = "memory and port that make the array wait longest"
    yield Column("Waits for", hint=port, room=page), lambda x: Cell(x.waits)
    yield number_column("Evaluated", "mappings"), lambda x: cells.count(x.evaluations)
    if any(result.bound is not None for result in mapped):
        yield _GAP, lambda x: cells.gap(x.gap)
    if has_dimensions:
        yield Column("Dimensions", room=long), lambda x: Cell(x.dimensions)
    sides = " | ".join(x.array_dimension for x in mapped[0].cme.spatial_mapping.unrollings)
    unrolled = "loops unrolled over each array dimension"
    yield Column("Spatial", sides, hint=unrolled, room=long), lambda x: Cell(x.spatial)
    same = "an earlier layer with the same content, mapping and cost"
    yield Column("Same as", hint=same, room=page), lambda x: Cell(x.repeats)


class _Shares(NamedTuple):
    """The total for shares; the largest share has the longest bar."""

    total: float
    largest: float

    def of(self, part: float | None) -> Cell:
        """A share with its bar."""
        if part is None or not self.total:
            return cells.share(None)
        bar = cells.bar(0.0, min(part, self.largest), self.largest, SERIES).bar
        return replace(cells.share(part, self.total), bar=bar)


def _mapped(
    evaluation: NetworkEvaluation, layers: Mapping[str, Layer], link: Callable[[str], str]
) -> Iterator[_Line]:
    times = Counter(result.repeats or result.cme.layer for result in evaluation.layers)
    for position, result in enumerate(evaluation.layers, start=1):
        cme, layer = result.cme, layers.get(result.cme.layer)
        yield _Line(
            position=position,
            name=cme.layer,
            operator=cme.operator,
            times=times[result.repeats or cme.layer],
            macs=cme.macs,
            energy=cme.energy,
            latency=cme.latency,
            utilization=cme.utilization,
            edp=cme.energy * cme.latency,
            waits=binding_port(cme) or cells.NONE,
            evaluations=result.statistics.evaluations,
            gap=result.gap,
            dimensions=sizes_text(layer.loops) if layer else "",
            spatial=" | ".join(map(unrolled_text, cme.spatial_mapping.unrollings)),
            repeats=result.repeats or "",
            link=link(cme.layer),
        )


def _infeasible(evaluation: NetworkEvaluation, layers: Mapping[str, Layer]) -> Iterator[_Line]:
    """The layers without a mapping."""
    times = Counter(entry.repeats or entry.layer for entry in evaluation.infeasible)
    for position, entry in enumerate(evaluation.infeasible, start=len(evaluation.layers) + 1):
        layer = layers.get(entry.layer)
        yield _Line(
            position=position,
            name=entry.layer,
            operator=entry.operator,
            times=times[entry.repeats or entry.layer],
            macs=layer.macs if layer else None,
            dimensions=sizes_text(layer.loops) if layer else "",
            spatial="no mapping fits",
            repeats=entry.repeats or "",
        )


def _vector(evaluation: NetworkEvaluation) -> Iterator[_Line]:
    """All vector operators, where the total includes them."""
    if evaluation.vector and evaluation.vector_counted:
        yield _Line(
            position=len(evaluation.layers) + len(evaluation.infeasible) + 1,
            name="vector operators",
            times=len(evaluation.vector),
            energy=evaluation.vector_energy,
            latency=evaluation.vector_latency,
        )


def _total(evaluation: NetworkEvaluation) -> _Line:
    layers = len(evaluation.layers) + len(evaluation.infeasible)
    return _Line(
        position=layers,
        name=_total_name(evaluation),
        times=layers,
        macs=evaluation.macs,
        energy=evaluation.energy,
        latency=evaluation.latency,
        utilization=evaluation.utilization,
        edp=evaluation.edp,
        evaluations=evaluation.evaluations,
        gap=evaluation.gap,
    )


# --- vector operators: by type, and each ---


def operator_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each type of vector operator, and the sum."""
    by_type: dict[str, list[VectorEvaluation]] = {}
    for entry in evaluation.vector:
        by_type.setdefault(entry.operator, []).append(entry)
    rows = [
        (Cell(name), cells.count(len(by_type[name])), *_vector_cells(by_type[name]))
        for name in sorted(by_type)
    ]
    where = "counted" if evaluation.vector_counted else "not counted"
    every = evaluation.vector
    return table(
        (Column("Operator"), number_column("Nodes"), *_VECTOR),
        rows,
        caption=f"Vector operators by type, {where} in the totals",
        total=(Cell("all"), cells.count(len(every)), *_vector_cells(every)),
    )


def node_table(evaluation: NetworkEvaluation) -> Table:
    """A row for each vector operator."""
    return table(
        (Column("Node"), Column("Operator"), *_VECTOR),
        [(Cell(x.node), Cell(x.operator), *_vector_cells([x])) for x in evaluation.vector],
        caption="All vector operators",
    )


def _vector_cells(entries: Sequence[VectorEvaluation]) -> tuple[Cell, ...]:
    return (
        cells.engineering(sum(entry.operations for entry in entries)),
        cells.capacity(sum(entry.bits_read for entry in entries)),
        cells.capacity(sum(entry.bits_written for entry in entries)),
        cells.energy(sum((entry.energy for entry in entries), 0.0)),
        cells.cycles(sum(entry.latency for entry in entries)),
    )


# --- the parts of a whole, as in stacked bars ---

_SHARES: Final = (number_column("Share"), bar_column("Share of all"))


def parts_table(caption: str, title: str, bars: Bars, cell: Callable[[float], Cell]) -> Table:
    """The components of all bars together: values, shares, consecutive bars, and the sum."""
    sums = [(part, sum(part.values)) for part in bars.parts]
    total, end = sum(value for _, value in sums), 0.0
    rows = list[tuple[Cell, ...]]()
    for part, value in sums:
        begin, end = end, end + value
        bar = cells.bar(begin, end, total, part.look.color)
        rows.append((Cell(part.label), cell(value), cells.share(value, total), bar))
    whole = (Cell("total"), cell(total), cells.share(total, total), cells.bar(0.0, total, total))
    columns = (Column("Part"), number_column(title), *_SHARES)
    return table(columns, rows, caption=caption, total=whole)
