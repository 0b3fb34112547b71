"""Shows the explained mapping of a layer: sentences, loop nest and tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, final

from nestmap.model import CostModelEvaluation, LayerFront, LayerResult, LevelEvaluation
from nestmap.pipeline.analysis.mapping.explanation import EnergyKind, EnergyPart, PortTraffic, Tile
from nestmap.pipeline.analysis.network.stacked_bars import latency_parts
from nestmap.pipeline.explore.explanation import Explanation
from nestmap.pipeline.format.mappings import sizes_text, spatial_text
from nestmap.pipeline.format.numbers import MINUS, count, engineering, with_micro
from nestmap.pipeline.format.palette import SERIES, Look, grey_look
from nestmap.pipeline.pages.report.summary import EDP_UNIT, Fact, edp, gap_fact
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)
from nestmap.pipeline.render.text.explanation_reasons import described, notable, unchanged
from nestmap.pipeline.render.text.explanation_tables import array_text, nest_lines
from nestmap.pipeline.render.text.gap import front_gap_note
from nestmap.pipeline.render.text.network import skipped_of
from nestmap.pipeline.render.text.plain_table import Tone

INSIDE: Final = "\u203a"
"""The indent of a subcomponent."""

_PARTS: Final = (
    Column("Part"),
    number_column("Energy"),
    number_column("Share"),
    bar_column("Share of all"),
)
_STEPS: Final = (
    Column("Cause"),
    number_column("Cycles"),
    number_column("Share"),
    bar_column("From 0 to all"),
)
_PORTS: Final = (
    Column("Port"),
    Column("Memory"),
    number_column("Width", "bit/cycle"),
    number_column(
        "Stall", "cycles", hint="what the array would wait for this port alone; less: slack"
    ),
    number_column("Busy", "cycles", hint="how long the port moves data"),
    Column("Carries", hint="operand and movement"),
)
_LEVELS: Final = (
    Column("Memory"),
    Column("Operand"),
    number_column("Tile", "bit", hint="what one instance holds"),
    number_column("of memory"),
    number_column("Tiles", hint="how many an instance holds one after the other"),
    number_column("To below"),
    number_column("From below"),
    number_column("To above"),
    number_column("From above"),
    number_column("Energy"),
    number_column("Share"),
)
_FRONT: Final = (
    number_column("#"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
    number_column("EDP", EDP_UNIT),
    number_column("MAC util."),
    Column("Spatial mapping"),
    Column("Loops", "innermost first"),
)
_ANSWERS: Final = (
    Column("If"),
    number_column("Latency", "cycles"),
    number_column("Change"),
    number_column("Energy"),
    number_column("Change"),
)


@final
@dataclass(frozen=True, slots=True)
class NestLine:
    """A line of the loop nest; ``word`` is its leading keyword, if any."""

    indent: str
    word: str
    text: str
    faint: bool


@final
@dataclass(frozen=True, slots=True)
class ExplainedLayer:
    """The explanation of a layer that does not repeat another one."""

    subtitle: str
    array: str
    statement: str
    facts: tuple[Fact, ...]
    why: tuple[str, ...]
    nest: tuple[NestLine, ...]
    latency: Table
    energy: Table
    ports: Table
    accesses: Table
    what_if: Table
    unchanged: str
    skipped: tuple[str, ...]


def explained_layer(
    result: LayerResult, explanation: Explanation, looks: dict[str, Look]
) -> ExplainedLayer:
    """The tables and sentences of an explanation; ``looks`` are those of the memories."""
    cme = result.cme
    name = cme.layer
    return ExplainedLayer(
        subtitle=f"{cme.operator}, {sizes_text(explanation.sizes)}: {engineering(cme.macs)} MACs",
        array=array_text(explanation.nest.parallel),
        statement=explanation.nest.statement,
        facts=tuple(_facts(result)),
        why=tuple(map(with_micro, explanation.why())),
        nest=tuple(_nest(explanation)),
        latency=_latency(name, explanation),
        energy=_energy(name, explanation, looks),
        ports=table(
            _PORTS, _ports(explanation), caption=f"Ports that {name} uses, largest stall first"
        ),
        accesses=_accesses(name, explanation),
        what_if=table(
            _ANSWERS,
            _answers(explanation),
            caption=f"What if: {name} on changed accelerators, each evaluated",
        ),
        unchanged=unchanged(cme, explanation.binding, explanation.what_ifs),
        skipped=tuple(skipped_of(result)),
    )


def _facts(result: LayerResult) -> Iterator[Fact]:
    cme = result.cme
    yield Fact("Latency", cells.cycles(cme.latency), "cycles")
    yield Fact("Energy", cells.energy(cme.energy))
    yield Fact("EDP", edp(cme.energy * cme.latency), EDP_UNIT)
    yield Fact("MAC utilization", cells.share(cme.utilization))
    yield Fact("Spatial", cells.share(cme.spatial_utilization), "of the array in use")
    yield Fact("Stall", cells.cycles(cme.stall), "cycles")
    if cme.static_energies:
        yield Fact("Leakage", cells.energy(cme.static_energy))
    yield Fact("Mappings", cells.count(result.statistics.evaluations), "evaluated")
    if result.gap is not None:
        yield gap_fact(result.gap)


def _nest(explanation: Explanation) -> Iterator[NestLine]:
    for line in nest_lines(explanation.nest):
        text = line.text.lstrip(" ")
        indent = " " * (len(line.text) - len(text))
        first, space, rest = text.partition(" ")
        word = first + space if first in ("for", "parfor") else ""
        yield NestLine(indent, word, rest if word else text, line.tone is Tone.FAINT)


def _latency(name: str, explanation: Explanation) -> Table:
    whole = explanation.latency.total
    colors = {part.label: part.look.color for part in latency_parts([explanation.cme])}
    rows = [
        (
            Cell(step.part.value),
            cells.cycles(step.cycles),
            cells.share(step.cycles, whole),
            cells.bar(step.end - step.cycles, step.end, whole, colors.get(step.part.value, SERIES)),
        )
        for step in explanation.latency.steps
    ]
    total = (Cell("latency"), cells.cycles(whole), cells.share(whole, whole), Cell(""))
    return Table(
        f"Latency of {name}: from ideal to real", _STEPS, tuple(map(Row, rows)), Row(total)
    )


def _energy(name: str, explanation: Explanation, looks: dict[str, Look]) -> Table:
    breakdown, end = explanation.energy, 0.0
    whole = breakdown.total
    rows: list[Row] = []
    for part in breakdown.parts:
        begin, end = end, end + part.energy
        bar = cells.bar(begin, end, whole, _look(part, looks).color)
        rows.append(Row((Cell(part.name), *_spent(part.energy, whole), bar)))
        for name_of, spent in _details(part, explanation):
            rows.append(Row((Cell(f"{INSIDE} {name_of}"), *_spent(spent, whole), Cell(""))))
    total = (Cell("energy"), *_spent(whole, whole), Cell(""))
    return Table(f"Energy of {name} by part", _PARTS, tuple(rows), Row(total))


def _look(part: EnergyPart, looks: dict[str, Look]) -> Look:
    match part.kind:
        case EnergyKind.ARRAY:
            return grey_look(1)
        case EnergyKind.LEAKAGE:
            return grey_look(4)
        case EnergyKind.MEMORY:
            return looks[part.name]


def _details(part: EnergyPart, explanation: Explanation) -> list[tuple[str, float]]:
    """The components of array and leakage energy, if known."""
    match part.kind:
        case EnergyKind.ARRAY:
            return [(x.part.value, x.energy) for x in explanation.energy.array_parts]
        case EnergyKind.LEAKAGE:
            return [(x.part, x.energy) for x in explanation.energy.leaking]
        case EnergyKind.MEMORY:
            return []


def _spent(some: float, whole: float) -> tuple[Cell, Cell]:
    return cells.energy(some), cells.share(some, whole)


def _ports(explanation: Explanation) -> list[tuple[Cell, ...]]:
    used = [port for port in explanation.ports if port.transfers]
    return [_port(port) for port in sorted(used, key=lambda port: -port.stall)]


def _port(port: PortTraffic) -> tuple[Cell, ...]:
    pairs = groupby(port.transfers, key=lambda transfer: transfer.operand)
    carried = (f"{x} {'+'.join(t.movement.value for t in some)}" for x, some in pairs)
    return (
        Cell(port.name.port),
        Cell(port.name.memory),
        cells.count(port.width_max),
        Cell(count(port.stall).replace("-", MINUS), repr(port.stall)),
        cells.count(port.busy),
        Cell(", ".join(carried)),
    )


def _accesses(name: str, explanation: Explanation) -> Table:
    cme = explanation.cme
    tiles = {(tile.operand, tile.level): tile for tile in explanation.nest.tiles}
    rows = [Row(_level(x, tiles[x.operand, x.level], cme)) for x in cme.levels]
    spent = _spent(cme.memory_energy, cme.energy)
    total = Row((Cell("all memories"), *(Cell(""),) * 8, *spent))
    caption = f"Accesses of {name}: words of a port's full width, all instances"
    return Table(caption, _LEVELS, tuple(rows), total)


def _level(entry: LevelEvaluation, tile: Tile, cme: CostModelEvaluation) -> tuple[Cell, ...]:
    moved = (cells.engineering(n) if n else Cell(NONE, "0") for n in entry.costs.accesses)
    return (
        Cell(entry.memory),
        Cell(entry.operand),
        cells.count(entry.bits),
        cells.share(entry.utilization),
        cells.engineering(tile.fills),
        *moved,
        *_spent(entry.costs.energy, cme.energy),
    )


def _answers(explanation: Explanation) -> Sequence[tuple[Cell, ...]]:
    cme = explanation.cme
    answers = notable(cme, explanation.binding, explanation.what_ifs)
    before = (cells.cycles(cme.latency), Cell(""), cells.energy(cme.energy), Cell(""))
    return [
        (Cell("as it is"), *before),
        *(
            (
                Cell(described(x)),
                cells.cycles(x.latency),
                cells.change(cme.latency, x.latency),
                cells.energy(x.energy),
                cells.change(cme.energy, x.energy),
            )
            for x in answers
        ),
    ]


def front_table(front: LayerFront) -> Table:
    """The Pareto front of mappings, by rising energy."""
    rows = [
        (
            cells.count(place),
            cells.energy(cme.energy),
            cells.cycles(cme.latency),
            edp(cme.energy * cme.latency),
            cells.share(cme.utilization),
            Cell(spatial_text(cme.spatial_mapping)),
            Cell(", ".join(map(str, cme.temporal_mapping.order))),
        )
        for place, cme in enumerate(front.cmes, start=1)
    ]
    caption = f"Pareto front of the mappings found for {front.layer}"
    if note := front_gap_note((front,)):
        caption += f". {note}"
    return table(_FRONT, rows, caption=caption)
