"""The tables of a mapping: its costs by part, memory levels, loops, and fronts of mappings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from nestmap.model.dims import MOVEMENTS
from nestmap.model.hardware.imc import ArrayPart
from nestmap.pipeline.format.mappings import spatial_text, unrolled_text
from nestmap.pipeline.format.numbers import area_unit, count, cycles, share
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.tables.network import TIMES
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Room,
    Row,
    Table,
    number_column,
    table,
)

if TYPE_CHECKING:
    from nestmap.model.evaluation.cme import CostModelEvaluation, LevelEvaluation, PortStall
    from nestmap.model.evaluation.front import LayerFront
    from nestmap.model.mapping.spatial import SpatialMapping
    from nestmap.model.mapping.temporal import TemporalMapping

_LEVELS: Final = (
    Column("Operand"),
    Column("Memory"),
    number_column("Holds"),
    number_column("Memory", "used"),
    number_column("Words", "read"),
    number_column("Words", "written"),
    number_column("Energy"),
)
_PARTS: Final = (Column("Part"), number_column("Figure"), Column("Meaning"))
_ARRAY_PARTS: Final = {
    ArrayPart.CELLS: "SRAM cells",
    ArrayPart.DACS: "converters of the activations",
    ArrayPart.ADCS: "converters of the sums",
    ArrayPart.MULTIPLIERS: "one-bit multipliers",
    ArrayPart.BIT_LINES: "sums on the bit lines",
    ArrayPart.ADDER_TREES: "adder trees over the rows",
    ArrayPart.PLACE_VALUE_ADDERS: "adders over the bits of a weight or activation",
    ArrayPart.ACCUMULATORS: "accumulators over the cycles of an operation",
}
_UNROLLINGS: Final = (Column("Array dimension"), Column("Loops"), number_column("Units used"))
_MAPPING: Final = (
    number_column("#", hint="by rising energy", room=Room.PAGE),
    number_column("Energy"),
    number_column("Latency", "cycles"),
    number_column("EDP", EDP_UNIT, room=Room.PAGE),
    number_column("MAC", "util."),
    Column("Spatial"),
    Column("Temporal", "innermost first"),
)


def cost_table(cme: CostModelEvaluation) -> Table:
    """Name, value and meaning of each part of energy, latency, utilization and area."""
    parts = (
        *_energy_parts(cme),
        *_latency_parts(cme),
        *_utilizations(cme),
        *_overload(cme),
        *_machine_parts(cme),
    )
    return table(_PARTS, parts, caption=f"{cme.layer} ({cme.operator}) on {cme.accelerator}")


def _part(depth: int, name: str, value: Cell, meaning: str) -> Row:
    return Row((Cell(name), value, Cell(meaning)), depth=depth)


def _energy_parts(cme: CostModelEvaluation) -> Iterator[Row]:
    yield _part(0, "Energy", cells.energy(cme.energy), "the sum of")
    gated = f", {share(cme.gated_macs / cme.macs)} of them gated" if cme.gated_macs else ""
    computed = f"{count(cme.macs)} multiply-accumulates{gated}"
    yield _part(1, "MACs", cells.energy(cme.mac_energy), computed)
    if cme.hop_energy:
        handed = "words handed on from unit to unit, included"
        yield _part(2, "hops", cells.energy(cme.hop_energy), handed)
    for part in cme.array_energies:
        yield _part(2, part.part, cells.energy(part.energy), _ARRAY_PARTS[part.part])
    yield _part(1, "memories", cells.energy(cme.memory_energy), "all word accesses")
    if cme.static_energies:
        yield _part(1, "leakage", cells.energy(cme.static_energy), "what leaks meanwhile")
        for entry in cme.static_energies:
            yield _part(2, entry.part, cells.energy(entry.energy), f"{entry.power:.4g} mW")


def _latency_parts(cme: CostModelEvaluation) -> Iterator[Row]:
    idle = cme.ideal_temporal_cycles - cme.ideal_cycles
    skipped = f"; {cycles(cme.skipped_cycles)} more are skipped" if cme.skipped_cycles else ""
    parts = (
        ("ideal", cme.ideal_cycles, f"all units of the array busy all the time{skipped}"),
        ("idle units", idle, "what the spatial mapping leaves unused"),
        ("stall", cme.stall, _blamed(cme)),
        ("on-loading", cme.onloading, "the first data on their way in"),
        ("off-loading", cme.offloading, "the last results on their way out"),
        ("drain", cme.drain, "the systolic array runs empty"),
    )
    yield _part(0, "Latency", cells.cycles(cme.latency), "cycles, the sum of")
    for name, value, meaning in parts:
        yield _part(1, name, cells.cycles(value), meaning)


def _utilizations(cme: CostModelEvaluation) -> Iterator[Row]:
    yield _part(0, "MAC utilization", cells.share(cme.utilization), "ideal cycles over latency")
    busy = "without stall, loading and drain"
    yield _part(1, "spatial", cells.share(cme.spatial_utilization), busy)


def _overload(cme: CostModelEvaluation) -> Iterator[Row]:
    port = cme.overloaded_port
    if port is not None:
        busy = f"{_named(port)}: more than the latency"
        yield _part(0, "Busiest port", cells.cycles(port.busy or 0), busy)


def _machine_parts(cme: CostModelEvaluation) -> Iterator[Row]:
    """Area and clock, if the accelerator describes them."""
    if cme.clock_period is not None:
        yield _part(0, "Clock period", cells.plain(cme.clock_period, "ns"), "of the array")
        seconds = cells.seconds(cme.latency * cme.clock_period * 1e-9)
        yield _part(1, "time", seconds, "latency x clock period")
    if cme.area:
        unit = area_unit(cme.area_unit)
        unstated = "" if cme.area_unit else ", in a unit that its description does not state"
        yield _part(0, "Area", cells.plain(cme.area, unit), f"of the accelerator{unstated}")
        for part in cme.areas:
            yield _part(1, part.part, cells.plain(part.area, unit), share(part.area / cme.area))


def _blamed(cme: CostModelEvaluation) -> str:
    """The links or the port with the largest stall."""
    hops = max(cme.hop_stalls, key=lambda hop: hop.stall, default=None)
    if hops is not None and hops.stall == cme.stall > 0:
        return f"waiting for links between units that hand on {hops.operand}"
    worst = max(cme.port_stalls, key=lambda port: port.stall, default=None)
    if worst is None or worst.stall <= 0:
        return "no memory port makes the array wait"
    return f"waiting for {_named(worst)}"


def _named(port: PortStall) -> str:
    return f"{port.memory}, port {port.port}"


def level_table(cme: CostModelEvaluation) -> Table:
    """A row for each operand at each memory level, and the sum."""
    return table(
        _LEVELS,
        [_level(entry) for entry in cme.levels],
        caption="Operands in memories, the innermost first",
        total=("all", *("",) * (len(_LEVELS) - 2), cells.energy(cme.memory_energy)),
    )


def _level(entry: LevelEvaluation) -> tuple[Cell, ...]:
    moved = list(zip(MOVEMENTS, entry.costs.accesses, strict=True))
    return (
        Cell(entry.operand),
        Cell(entry.memory),
        cells.capacity(entry.bits),
        cells.share(entry.utilization),
        cells.engineering(sum(n for movement, n in moved if movement.reads)),
        cells.engineering(sum(n for movement, n in moved if not movement.reads)),
        cells.energy(entry.costs.energy),
    )


# --- loops ---


def spatial_table(mapping: SpatialMapping) -> Table:
    """A row for each dimension of the array."""
    rows = [(x.array_dimension, unrolled_text(x), count(x.factor)) for x in mapping.unrollings]
    return table(_UNROLLINGS, rows, caption="Spatial mapping")


def nest_table(mapping: TemporalMapping, cme: CostModelEvaluation | None = None) -> Table:
    """A row for each loop, outermost first, with the memory that each operand is in meanwhile.

    Memories have the names in the evaluation; without one they are numbered.
    """
    known = {(x.operand, x.level): x.memory for x in cme.levels} if cme else {}
    memories = {
        cuts.operand: [
            known.get((cuts.operand, n), f"level {n}") for n in range(len(cuts.positions))
        ]
        for cuts in mapping.cuts
    }
    homes = [
        [name for level, name in enumerate(names) for _ in mapping.loops_at(operand, level)]
        for operand, names in memories.items()
    ]
    rows = [(str(loop), *(home[n] for home in homes)) for n, loop in enumerate(mapping.order)]
    return table(
        (Column("Loop"), *(Column(f"{name} in") for name in memories)),
        rows[::-1],
        caption=f"Temporal mapping, the outermost loop first: {count(mapping.cycles)} iterations",
    )


# --- several mappings of the same layer ---


def front_table(fronts: Sequence[LayerFront], caption: str = "") -> Table:
    """A row for each mapping on the Pareto front of each layer, by rising energy.

    Layers that repeat an earlier one share its rows; a column counts them.
    """
    times = Counter(front.repeats or front.layer for front in fronts)
    counted = len(times) < len(fronts)
    rows = [
        (
            Cell(front.layer),
            *((cells.count(times[front.layer]),) if counted else ()),
            *_mapping(place, cme),
        )
        for front in ([x for x in fronts if x.repeats is None] or fronts)
        for place, cme in enumerate(front.cmes, start=1)
    ]
    columns = (Column("Layer"), *((TIMES,) if counted else ()), *_MAPPING)
    return table(columns, rows, caption=caption)


def _mapping(place: int, cme: CostModelEvaluation) -> tuple[Cell, ...]:
    return (
        cells.count(place),
        cells.energy(cme.energy),
        cells.cycles(cme.latency),
        cells.edp(cme.energy * cme.latency),
        cells.share(cme.utilization),
        Cell(spatial_text(cme.spatial_mapping)),
        Cell(", ".join(map(str, cme.temporal_mapping.order))),
    )
