"""The tables of an accelerator: its memories, their ports, the parts of its array, areas."""

from typing import Final

from nestmap.costmodel.area_leakage import areas_of
from nestmap.costmodel.imc.array import array_areas, array_delays, peak_energies
from nestmap.model import Accelerator, ArrayPart, MemoryLevel, MemoryPort
from nestmap.pipeline.analysis.network.memory_hierarchy import width_text
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.format.numbers import ARBITRARY_UNITS, area_unit
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Room,
    Table,
    bar_column,
    number_column,
    table,
)

_PORTS: Final = (
    Column("Memory"),
    Column("Port"),
    Column("Kind"),
    number_column("Width", "bit/cycle"),
    Column("Allocated to", hint="operand and movement"),
)
_PARTS: Final = (
    Column("Part"),
    number_column("Area", "mm2"),
    number_column("Delay", "ns"),
    number_column("Peak", "pJ/cycle"),
)
_GREY: Final = "#777777"


def memory_table(accelerator: Accelerator) -> Table:
    """A row for each memory, innermost first."""
    access = "an access of a port's full width"
    columns = (
        Column("Memory"),
        Column("Holds", hint="memory operands; usually layers call I1 I, and I2 W"),
        number_column("Size", hint="of one instance"),
        number_column("Instances"),
        Column("Serves", hint="array dimensions that share an instance", room=Room.PAGE),
        number_column("Width", "bit/cycle", hint="of the widest port"),
        number_column("Read", "pJ", hint=access),
        number_column("Write", "pJ", hint=access),
        number_column("Latency", "cycles", room=Room.PAGE),
        number_column("Area", f"{area_unit(accelerator.area_unit)} each"),
        number_column("Leakage", "mW each"),
    )
    rows = [_memory(accelerator, level) for level in accelerator.memories]
    caption = f"Memories of {accelerator.name}, innermost first: {array_text(accelerator)}"
    return table(columns, rows, caption=caption)


def memory_costs_note(accelerator: Accelerator) -> str:
    """What the columns of costs are."""
    note = "Read, write: energy of an access of a port's full width."
    if accelerator.area_unit is None:
        note += (
            f" {ARBITRARY_UNITS}: the description states no unit of areas (area_unit: mm2); those "
            "that a model computes are in mm2."
        )
    return note


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[Cell, ...]:
    instance = level.instance
    return (
        Cell(level.name),
        Cell(", ".join(level.operands)),
        cells.capacity(instance.size),
        cells.count(accelerator.instances_of(level)),
        Cell(", ".join(level.served_dimensions) or NONE),
        cells.count(max(port.width_max for port in instance.ports)),
        cells.plain(instance.read_energy),
        cells.plain(instance.write_energy),
        cells.count(instance.latency),
        cells.plain(instance.area),
        cells.plain(instance.leakage),
    )


def port_table(accelerator: Accelerator) -> Table:
    """A row for each port of each memory."""
    rows = [_port(level, port) for level in accelerator.memories for port in level.instance.ports]
    return table(_PORTS, rows, caption=f"Ports of {accelerator.name}")


def _port(level: MemoryLevel, port: MemoryPort) -> tuple[Cell, ...]:
    return (
        Cell(level.name),
        Cell(port.name),
        Cell(port.kind.replace("_", "/")),
        Cell(width_text(port), repr(port.width_max)),
        Cell("; ".join(map(str, port.allocation)) or "nothing"),
    )


def part_table(accelerator: Accelerator) -> Table:
    """A row for each component of an array that computes in memory."""
    areas = {x.part: x.area for x in array_areas(accelerator)}
    energies = {x.part: x.energy for x in peak_energies(accelerator)}
    delays = array_delays(accelerator)
    rows = [
        (Cell(part.value), *(cells.plain(x.get(part, 0.0)) for x in (areas, delays, energies)))
        for part in ArrayPart
    ]
    return table(_PARTS, rows, caption=f"Parts of the array of {accelerator.name}")


def area_table(accelerator: Accelerator) -> Table:
    """A row for the array and each memory that has an area."""
    areas = [x for x in areas_of(accelerator) if x.area]
    whole = sum(x.area for x in areas)
    columns = (
        Column("Part"),
        number_column("Area", area_unit(accelerator.area_unit)),
        number_column("Share"),
        bar_column("Share of all"),
    )
    rows = [
        (
            Cell(x.part),
            cells.plain(x.area),
            cells.share(x.area, whole),
            cells.bar(0.0, x.area, whole, _GREY),
        )
        for x in areas
    ]
    return table(columns, rows, caption=f"Areas of {accelerator.name}, of all instances")
