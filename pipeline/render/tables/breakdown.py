"""Breaks one evaluation down into rows of text: energy, latency, memory levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nestmap.model.dims import MOVEMENTS
from nestmap.model.hardware.imc import ArrayPart
from nestmap.pipeline.format.numbers import (
    area_text,
    capacity,
    count,
    cycles,
    energy,
    engineering,
    printable,
    share,
)
from nestmap.pipeline.render.tables.table import Column, number_column

if TYPE_CHECKING:
    from nestmap.model.evaluation.cme import CostModelEvaluation, LevelEvaluation, PortStall

LEVEL_COLUMNS: Final = (
    Column("Operand"),
    Column("Memory"),
    number_column("Holds"),
    number_column("Memory", "used"),
    number_column("Words", "read"),
    number_column("Words", "written"),
    number_column("Energy"),
)
PART_COLUMNS: Final = (Column("Part"), number_column("Figure"), Column("Meaning"))
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


def cost_parts(cme: CostModelEvaluation) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each component; subcomponents are indented."""
    return [
        *_energy_parts(cme),
        *_latency_parts(cme),
        *_utilizations(cme),
        *_overload(cme),
        *_machine_parts(cme),
    ]


def _energy_parts(cme: CostModelEvaluation) -> Iterator[tuple[str, str, str]]:
    yield "Energy", energy(cme.energy), "the sum of"
    gated = f", {share(cme.gated_macs / cme.macs)} of them gated" if cme.gated_macs else ""
    yield "  MACs", energy(cme.mac_energy), f"{count(cme.macs)} multiply-accumulates{gated}"
    if cme.hop_energy:
        yield "    hops", energy(cme.hop_energy), "words handed on from unit to unit, included"
    for part in cme.array_energies:
        yield f"    {part.part}", energy(part.energy), _ARRAY_PARTS[part.part]
    yield "  memories", energy(cme.memory_energy), "all word accesses"
    if cme.static_energies:
        yield "  leakage", energy(cme.static_energy), "what leaks meanwhile"
        for entry in cme.static_energies:
            yield f"    {printable(entry.part)}", energy(entry.energy), f"{entry.power:.4g} mW"


def _unstated(cme: CostModelEvaluation) -> str:
    return "" if cme.area_unit else ", in a unit that its description does not state"


def _machine_parts(cme: CostModelEvaluation) -> Iterator[tuple[str, str, str]]:
    """Area and clock, if the accelerator describes them."""
    if cme.clock_period is not None:
        nanoseconds = cme.latency * cme.clock_period
        yield "Clock period", f"{cme.clock_period:.4g} ns", "of the array"
        yield "  time", engineering(nanoseconds * 1e-9, "s"), "latency x clock period"
    if cme.area:
        yield "Area", area_text(cme.area, cme.area_unit), f"of the accelerator{_unstated(cme)}"
        for part in cme.areas:
            yield (
                f"  {printable(part.part)}",
                area_text(part.area, cme.area_unit),
                share(part.area / cme.area),
            )


def _latency_parts(cme: CostModelEvaluation) -> Iterator[tuple[str, str, str]]:
    idle = cme.ideal_temporal_cycles - cme.ideal_cycles
    yield "Latency", cycles(cme.latency), "cycles, the sum of"
    skipped = f"; {cycles(cme.skipped_cycles)} more are skipped" if cme.skipped_cycles else ""
    yield "  ideal", cycles(cme.ideal_cycles), f"all units of the array busy all the time{skipped}"
    yield "  idle units", cycles(idle), "what the spatial mapping leaves unused"
    yield "  stall", cycles(cme.stall), _blamed(cme)
    yield "  on-loading", cycles(cme.onloading), "the first data on their way in"
    yield "  off-loading", cycles(cme.offloading), "the last results on their way out"
    yield "  drain", cycles(cme.drain), "the systolic array runs empty"


def _utilizations(cme: CostModelEvaluation) -> Iterator[tuple[str, str, str]]:
    yield "MAC utilization", share(cme.utilization), "ideal cycles over latency"
    yield "  spatial", share(cme.spatial_utilization), "without stall, loading and drain"


def _overload(cme: CostModelEvaluation) -> Iterator[tuple[str, str, str]]:
    port = cme.overloaded_port
    if port is not None:
        yield "Busiest port", cycles(port.busy or 0), f"{_named(port)}: more than the latency"


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
    return f"{printable(port.memory)}, port {printable(port.port)}"


def level_cells(entry: LevelEvaluation) -> tuple[str, ...]:
    """An operand at a memory level."""
    moved = list(zip(MOVEMENTS, entry.costs.accesses, strict=True))
    return (
        entry.operand,
        printable(entry.memory),
        capacity(entry.bits),
        share(entry.utilization),
        engineering(sum(n for movement, n in moved if movement.reads)),
        engineering(sum(n for movement, n in moved if not movement.reads)),
        energy(entry.costs.energy),
    )
