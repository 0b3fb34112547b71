"""The tables of an explanation: loop nest as code, accesses, latency, ports, energy."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from nestmap.model import CostModelEvaluation, LevelEvaluation, Loop
from nestmap.pipeline.analysis.mapping.explanation import (
    EnergyBreakdown,
    EnergyKind,
    LoopNest,
    ParallelLoops,
    PortTraffic,
    Tile,
    Waterfall,
)
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering, share
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, Tone, listing, printable, table_lines

BAR: Final = 40
"""The length of the longest bar, in characters."""

_INDENT: Final = "  "
_LEVELS: Final = (
    Column(""),
    Column("Memory"),
    number_column("Tile", "bit"),
    number_column("of", "memory"),
    number_column("Tiles"),
    number_column("To", "below"),
    number_column("From", "below"),
    number_column("To", "above"),
    number_column("From", "above"),
    number_column("Energy"),
    number_column("Share"),
)
_PORTS: Final = (
    Column("Port"),
    Column("Memory"),
    number_column("Width", "bit/cycle"),
    number_column("Stall", "cycles"),
    number_column("Busy", "cycles"),
    Column("Carries"),
)
_STEPS: Final = (Column("part"), number_column("cycles"), number_column("share"), Column("bar"))
_ENERGY: Final = (Column("part"), number_column("energy"), number_column("share"), Column("bar"))


def title(text: str) -> Line:
    """The title of a section."""
    return Line(text, Tone.STRONG)


def nest_lines(nest: LoopNest) -> list[Line]:
    """The dataflows, and the loops, outermost first; a tile is above the loops that reuse it."""
    names = ", ".join(x.replace("_", " ") for x in nest.dataflows)
    lines = [Line(f"# {names}", Tone.FAINT)] if names else []
    depth = 0
    for inner in range(len(nest.order), -1, -1):
        begun = [tile for tile in nest.tiles if tile.stays == inner]
        lines += (Line(f"{_INDENT * depth}# {x}", Tone.FAINT) for x in _tile_texts(begun))
        if inner:
            lines.append(Line(f"{_INDENT * depth}for {_range(nest.order[inner - 1])}:"))
            depth += 1
    for side, loop in ((x, loop) for x in nest.parallel for loop in x.loops if loop.size > 1):
        lines.append(Line(f"{_INDENT * depth}parfor {_range(loop)} on {side.array_dimension}:"))
        depth += 1
    return [*lines, Line(f"{_INDENT * depth}{nest.statement}")]


def _range(loop: Loop) -> str:
    return f"{loop.dimension} in [0:{loop.size})"


def _tile_texts(tiles: Sequence[Tile]) -> Iterator[str]:
    """A text for each memory, outermost first, with its tiles."""
    order = sorted(tiles, key=lambda tile: -tile.level)
    for memory in dict.fromkeys(tile.memory for tile in order):
        held = [tile for tile in tiles if tile.memory == memory]
        instances = f" x{count(held[0].instances)}" if held[0].instances > 1 else ""
        texts = (f"{x.operand} {capacity(x.bits)} ({share(x.share)})" for x in held)
        yield f"{printable(memory)}{instances}: {', '.join(texts)}"


def array_text(parallel: Sequence[ParallelLoops]) -> str:
    """The loops that each array dimension computes in parallel."""
    texts: list[str] = []
    for side in parallel:
        loops = " x ".join(str(loop) for loop in side.loops if loop.size > 1) or "nothing"
        texts.append(f"{side.array_dimension} ({count(side.units)} units) {loops}")
    return ", ".join(texts)


def level_lines(cme: CostModelEvaluation, nest: LoopNest) -> list[Line]:
    """A row for each operand at each memory level, with accesses by direction, and the sum."""
    tiles = {(tile.operand, tile.level): tile for tile in nest.tiles}
    rows = [_level_row(x, tiles[x.operand, x.level], cme.energy) for x in cme.levels]
    blank = ("",) * (len(_LEVELS) - 3)
    total = (
        "",
        "memories",
        *blank[1:],
        energy(cme.memory_energy),
        _part(cme.memory_energy, cme.energy),
    )
    return table_lines(table(_LEVELS, [*rows, total]))


def _level_row(entry: LevelEvaluation, tile: Tile, total: float) -> tuple[str, ...]:
    return (
        entry.operand,
        printable(entry.memory),
        count(entry.bits),
        share(entry.utilization),
        engineering(tile.fills),
        *(engineering(words) if words else "-" for words in entry.costs.accesses),
        energy(entry.costs.energy),
        _part(entry.costs.energy, total),
    )


def latency_lines(latency: Waterfall) -> list[Line]:
    """A bar for each component, starting where the previous one ends."""
    rows = [
        (
            step.part.value,
            cycles(step.cycles),
            share(step.cycles / latency.total),
            _bar(step.end - step.cycles, step.end, latency.total),
        )
        for step in latency.steps
    ]
    total = ("latency", cycles(latency.total), share(1.0), _bar(0.0, latency.total, latency.total))
    return listing(table(_STEPS, [*rows, total]))


def energy_lines(breakdown: EnergyBreakdown) -> list[Line]:
    """A bar for the array, each memory and leakage, with components of array and leakage below."""
    rows: list[tuple[str, ...]] = []
    end = 0.0
    for part in breakdown.parts:
        begin, end = end, end + part.energy
        bar = _bar(begin, end, breakdown.total)
        share_text = _part(part.energy, breakdown.total)
        rows.append((printable(part.name), energy(part.energy), share_text, bar))
        rows += _details(breakdown, part.kind)
    total = breakdown.total
    rows.append(("energy", energy(total), _part(total, total), _bar(0.0, total, total)))
    return listing(table(_ENERGY, rows))


def _details(breakdown: EnergyBreakdown, kind: EnergyKind) -> Iterator[tuple[str, ...]]:
    parts: dict[EnergyKind, list[tuple[str, float]]] = {
        EnergyKind.ARRAY: [(x.part.value, x.energy) for x in breakdown.array_parts],
        EnergyKind.LEAKAGE: [(x.part, x.energy) for x in breakdown.leaking],
    }
    for name, spent in parts.get(kind, []):
        yield f"  {printable(name)}", energy(spent), _part(spent, breakdown.total), ""


def port_lines(ports: Sequence[PortTraffic]) -> list[Line]:
    """A row for each port in use, the largest stall first."""
    used = sorted((port for port in ports if port.transfers), key=lambda port: -port.stall)
    return table_lines(table(_PORTS, [_port_row(port) for port in used]))


def _port_row(port: PortTraffic) -> tuple[str, ...]:
    pairs = groupby(port.transfers, key=lambda transfer: transfer.operand)
    carried = (f"{x} {'+'.join(t.movement.value for t in some)}" for x, some in pairs)
    return (
        printable(port.name.port),
        printable(port.name.memory),
        count(port.width_max),
        count(port.stall),
        count(port.busy),
        ", ".join(carried),
    )


def _part(some: float, total: float) -> str:
    return share(some / total) if total else "-"


def _bar(begin: float, end: float, total: float) -> str:
    """A bar on a scale from 0 to ``total``; at least a tick if not 0."""
    if end <= begin or not total:
        return ""
    first = min(BAR - 1, round(BAR * begin / total))
    return " " * first + "#" * max(1, round(BAR * end / total) - first)
