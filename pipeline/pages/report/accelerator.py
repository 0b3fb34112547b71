"""Shows the accelerator: a drawing of array and memories, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final
from xml.etree import ElementTree

from markupsafe import Markup

from nestmap.costmodel.area_leakage import areas_of
from nestmap.costmodel.imc.array import array_areas, array_delays, peak_energies
from nestmap.model import Accelerator, ArrayPart, MemoryLevel, MemoryPort, NetworkEvaluation
from nestmap.pipeline.analysis.network.memory_hierarchy import operand_names, width_text
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of
from nestmap.pipeline.format.chosen_models import chosen_models
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.render.svg.accelerator import accelerator_svg
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.columns import Column, bar_column, number_column
from nestmap.pipeline.render.tables.table import Cell, Table, table
from nestmap.pipeline.render.text.accelerator import array_facts

_MEMORIES: Final = (
    Column("Memory"),
    Column("Holds", hint="memory operands; usually layers call I1 I, and I2 W"),
    number_column("Size", hint="of one instance"),
    number_column("Instances"),
    Column("Serves", hint="array dimensions that share an instance"),
    number_column("Read", "pJ", hint="an access of a port's full width"),
    number_column("Write", "pJ", hint="an access of a port's full width"),
    number_column("Latency", "cycles"),
    number_column("Area", "each"),
    number_column("Leakage", "mW each"),
)
_PORTS: Final = (
    Column("Memory"),
    Column("Port"),
    Column("Kind"),
    number_column("Width", "bit/cycle"),
    Column("Allocated to", hint="operand and movement"),
)
_AREAS: Final = (
    Column("Part"),
    number_column("Area"),
    number_column("Share"),
    bar_column("Share of all"),
)
_ARRAY_PARTS: Final = (
    Column("Part"),
    number_column("Area", "mm2"),
    number_column("Delay", "ns"),
    number_column("Peak", "pJ/cycle"),
)
_GREY: Final = "#777777"


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """A drawing, a description of the array, and tables of all components."""

    name: str
    array: str
    facts: str
    drawing: Markup
    tables: tuple[Table, ...]


def machine(accelerator: Accelerator, evaluation: NetworkEvaluation) -> Machine:
    """The view of an accelerator, whose operands have the names of those of the layers."""
    names = operand_names(accelerator, cmes_of(evaluation))
    drawing = accelerator_svg(accelerator, names)
    return Machine(
        name=accelerator.name,
        array=array_text(accelerator),
        facts=" ".join(_facts(accelerator)),
        drawing=Markup(ElementTree.tostring(drawing, encoding="unicode")),
        tables=tuple(_tables(accelerator)),
    )


def _facts(accelerator: Accelerator) -> Iterator[str]:
    yield array_facts(accelerator)
    unit = accelerator.vector_unit
    if unit is not None and accelerator.vector_memory is not None:
        yield (
            f"A vector unit of {unit.lanes} lanes, {unit.operation_energy:.4g} pJ an operation, "
            f"reads from and writes to {accelerator.vector_memory.name}."
        )
    yield from chosen_models(accelerator)


def _tables(accelerator: Accelerator) -> Iterator[Table]:
    name = accelerator.name
    memories = [_memory(accelerator, level) for level in accelerator.memories]
    yield table(_MEMORIES, memories, caption=f"Memories of {name}, innermost first")
    ports = [_port(level, port) for level in accelerator.memories for port in level.instance.ports]
    yield table(_PORTS, ports, caption=f"Ports of {name}")
    if accelerator.array.imc is not None:
        yield table(_ARRAY_PARTS, _parts(accelerator), caption=f"Parts of the array of {name}")
    areas = [x for x in areas_of(accelerator) if x.area]
    whole = sum(x.area for x in areas)
    if len(areas) > 1:
        rows = [
            (
                Cell(x.part),
                cells.plain(x.area),
                cells.share(x.area, whole),
                cells.bar(0.0, x.area, whole, _GREY),
            )
            for x in areas
        ]
        yield table(_AREAS, rows, caption=f"Areas of {name}, of all instances")


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[Cell, ...]:
    instance = level.instance
    return (
        Cell(level.name),
        Cell(", ".join(level.operands)),
        cells.capacity(instance.size),
        cells.count(accelerator.instances_of(level)),
        Cell(", ".join(level.served_dimensions) or NONE),
        cells.plain(instance.read_energy),
        cells.plain(instance.write_energy),
        cells.count(instance.latency),
        cells.plain(instance.area),
        cells.plain(instance.leakage),
    )


def _port(level: MemoryLevel, port: MemoryPort) -> tuple[Cell, ...]:
    return (
        Cell(level.name),
        Cell(port.name),
        Cell(port.kind.replace("_", "/")),
        Cell(width_text(port), repr(port.width_max)),
        Cell("; ".join(map(str, port.allocation))),
    )


def _parts(accelerator: Accelerator) -> list[tuple[Cell, ...]]:
    areas = {x.part: x.area for x in array_areas(accelerator)}
    energies = {x.part: x.energy for x in peak_energies(accelerator)}
    delays = array_delays(accelerator)
    return [
        (
            Cell(part.value),
            cells.plain(areas.get(part, 0.0)),
            cells.plain(delays.get(part, 0.0)),
            cells.plain(energies.get(part, 0.0)),
        )
        for part in ArrayPart
    ]
