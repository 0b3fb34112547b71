"""The tables of an explained mapping: latency, energy, ports, accesses, what changes would gain."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from nestmap.model import CostModelEvaluation, LevelEvaluation, SpatialMapping
from nestmap.pipeline.analysis.mapping.explanation import (
    Binding,
    Bound,
    Change,
    EnergyBreakdown,
    EnergyKind,
    EnergyPart,
    LoopNest,
    PortTraffic,
    Tile,
    Waterfall,
    WhatIf,
)
from nestmap.pipeline.analysis.network.stacked_bars import latency_parts
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import printable
from nestmap.pipeline.format.palette import SERIES, Look, grey_look
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)

_STEPS: Final = (
    Column("Cause"),
    number_column("Cycles"),
    number_column("Share"),
    bar_column("From 0 to all"),
)
_PARTS: Final = (
    Column("Part"),
    number_column("Energy"),
    number_column("Share"),
    bar_column("Share of all"),
)
_PORTS: Final = (
    Column("Port"),
    Column("Memory"),
    number_column("Width", "bit/cycle"),
    number_column("Stall", "cycles", "what the array would wait for this port alone; less: slack"),
    number_column("Busy", "cycles", "how long the port moves data"),
    Column("Carries", hint="operand and movement"),
)
_LEVELS: Final = (
    Column("Memory"),
    Column("Operand"),
    number_column("Tile", "bit", "what one instance holds"),
    number_column("of", "memory"),
    number_column("Tiles", hint="how many an instance holds one after the other"),
    number_column("To", "below"),
    number_column("From", "below"),
    number_column("To", "above"),
    number_column("From", "above"),
    number_column("Energy"),
    number_column("Share"),
)
_ANSWERS: Final = (
    Column("If"),
    number_column("Latency", "cycles"),
    number_column("Change"),
    number_column("Energy"),
    number_column("Change"),
)


def latency_table(cme: CostModelEvaluation, latency: Waterfall) -> Table:
    """A row for each component of the latency, whose bar starts where the previous one ends."""
    whole = latency.total
    colors = {part.label: part.look.color for part in latency_parts([cme])}
    rows = [
        (
            step.part.value,
            *_cycles(step.cycles, whole),
            cells.bar(step.end - step.cycles, step.end, whole, colors.get(step.part.value, SERIES)),
        )
        for step in latency.steps
    ]
    total = ("latency", *_cycles(whole, whole), cells.bar(0.0, whole, whole))
    caption = f"Latency of {cme.layer}: from ideal to real"
    return table(_STEPS, rows, caption=caption, total=total)


def _cycles(some: float, whole: float) -> tuple[Cell, Cell]:
    return cells.cycles(some), cells.share(some, whole)


def energy_table(
    cme: CostModelEvaluation, breakdown: EnergyBreakdown, looks: Mapping[str, Look]
) -> Table:
    """A row for the array, each memory and leakage, with the components of array and leakage.

    ``looks`` are those of the memories.
    """
    whole, end, rows = breakdown.total, 0.0, list[Row]()
    for part in breakdown.parts:
        begin, end = end, end + part.energy
        bar = cells.bar(begin, end, whole, _look(part, looks).color)
        rows.append(Row((Cell(part.name), *_spent(part.energy, whole), bar)))
        for name, spent in _details(part, breakdown):
            rows.append(Row((Cell(name), *_spent(spent, whole), Cell("")), depth=1))
    total = ("energy", *_spent(whole, whole), cells.bar(0.0, whole, whole))
    return table(_PARTS, rows, caption=f"Energy of {cme.layer} by part", total=total)


def _look(part: EnergyPart, looks: Mapping[str, Look]) -> Look:
    match part.kind:
        case EnergyKind.ARRAY:
            return grey_look(1)
        case EnergyKind.LEAKAGE:
            return grey_look(4)
        case EnergyKind.MEMORY:
            return looks[part.name]


def _details(part: EnergyPart, breakdown: EnergyBreakdown) -> list[tuple[str, float]]:
    """The components of array and leakage energy, if known."""
    match part.kind:
        case EnergyKind.ARRAY:
            return [(x.part.value, x.energy) for x in breakdown.array_parts]
        case EnergyKind.LEAKAGE:
            return [(x.part, x.energy) for x in breakdown.leaking]
        case EnergyKind.MEMORY:
            return []


def _spent(some: float, whole: float) -> tuple[Cell, Cell]:
    return cells.energy(some), cells.share(some, whole)


def port_table(cme: CostModelEvaluation, ports: Sequence[PortTraffic]) -> Table:
    """A row for each port in use, the largest stall first."""
    used = sorted((port for port in ports if port.transfers), key=lambda port: -port.stall)
    caption = f"Ports that {cme.layer} uses, largest stall first"
    return table(_PORTS, map(_port, used), caption=caption)


def _port(port: PortTraffic) -> tuple[Cell, ...]:
    pairs = groupby(port.transfers, key=lambda transfer: transfer.operand)
    carried = (f"{x} {'+'.join(t.movement.value for t in some)}" for x, some in pairs)
    return (
        Cell(port.name.port),
        Cell(port.name.memory),
        cells.count(port.width_max),
        cells.count(port.stall),
        cells.count(port.busy),
        Cell(", ".join(carried)),
    )


def access_table(cme: CostModelEvaluation, nest: LoopNest) -> Table:
    """A row for each operand at each memory level, with accesses by direction, and the sum."""
    tiles = {(tile.operand, tile.level): tile for tile in nest.tiles}
    spent = _spent(cme.memory_energy, cme.energy)
    return table(
        _LEVELS,
        [_level(x, tiles[x.operand, x.level], cme.energy) for x in cme.levels],
        caption=f"Accesses of {cme.layer}: words of a port's full width, all instances",
        total=("all memories", *("",) * (len(_LEVELS) - 3), *spent),
    )


def _level(entry: LevelEvaluation, tile: Tile, whole: float) -> tuple[Cell, ...]:
    moved = (cells.engineering(n) if n else Cell(cells.NONE, "0") for n in entry.costs.accesses)
    return (
        Cell(entry.memory),
        Cell(entry.operand),
        cells.count(entry.bits),
        cells.share(entry.utilization),
        cells.engineering(tile.fills),
        *moved,
        *_spent(entry.costs.energy, whole),
    )


# --- what changes would gain ---

_OF_ALL: Final = {
    Change.EVERY_PORT: "2x width of every port",
    Change.HOPS: "2x bandwidth between units",
    Change.FILLED: "memories reallocated, none larger",
}
_SHOWN: Final = 0.0005
"""Smaller changes would be shown as 0.0%."""


def what_if_table(cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]) -> Table:
    """A row for the present mapping, for the bottleneck, and for each relevant change."""
    first = ("as it is", cells.cycles(cme.latency), "", cells.energy(cme.energy), "")
    rows = [
        (
            described(x),
            cells.cycles(x.latency),
            cells.change(cme.latency, x.latency),
            cells.energy(x.energy),
            cells.change(cme.energy, x.energy),
        )
        for x in notable(cme, binding, answers)
    ]
    caption = f"What if: {cme.layer} on changed accelerators, each evaluated"
    return table(_ANSWERS, [first, *rows], caption=caption)


def notable(cme: CostModelEvaluation, binding: Binding, answers: Sequence[WhatIf]) -> list[WhatIf]:
    """The changes of the bottleneck and the relevant ones; the fastest first."""
    shown = [x for x in answers if gains(cme, x, answers) or asks_for(binding, x)]
    return sorted(shown, key=lambda x: (x.latency, x.energy))


def described(answer: WhatIf) -> str:
    """A short description of a change."""
    match answer.change:
        case Change.SPATIAL:
            mapping = answer.spatial_mapping or SpatialMapping()
            return f"spatial mapping {spatial_text(mapping)}"
        case Change.PORT | Change.BINDING_PORTS:
            ports = (f"{printable(x.memory)} {printable(x.port)}" for x in answer.ports)
            return f"2x width of {', '.join(ports)}"
        case Change.EVERY_PORT | Change.HOPS | Change.FILLED:
            return _OF_ALL[answer.change]
        case Change.CAPACITY:
            return f"2x capacity of {printable(answer.memory or '')}, same mapping"
        case Change.CAPACITY_FILLED:
            return f"2x capacity of {printable(answer.memory or '')}, reallocated"


def gains(cme: CostModelEvaluation, answer: WhatIf, answers: Sequence[WhatIf]) -> bool:
    """Whether a change matters: of a larger memory, beyond what reallocation does without it."""
    filled = [x for x in answers if x.change is Change.FILLED]
    is_refilled = answer.change is Change.CAPACITY_FILLED and len(filled) > 0
    return matters(filled[0] if is_refilled else cme, answer)


def matters(before: CostModelEvaluation | WhatIf, answer: WhatIf) -> bool:
    """Whether latency or energy differ enough to show in a percentage with one decimal."""
    pairs = ((before.latency, answer.latency), (before.energy, answer.energy))
    return any(abs(after - old) >= old * _SHOWN for old, after in pairs if after != old)


def asks_for(binding: Binding, answer: WhatIf) -> bool:
    """Whether a change is about the bottleneck, so that it is listed even without effect."""
    if answer.change is Change.HOPS:
        return binding.bound is Bound.HOPS
    return answer.change is Change.PORT and set(answer.ports) <= set(binding.ports)
