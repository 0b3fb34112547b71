"""Describes an accelerator: its array, in-memory computing components, memories."""

from typing import Final

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.imc.array import (
    array_areas,
    array_delays,
    clock_period,
    peak_energies,
    peak_performance,
)
from nestmap.model import Accelerator, ArrayPart, InMemoryCompute, MemoryLevel
from nestmap.pipeline.format.numbers import area_text, count
from nestmap.pipeline.render.tables.results import (
    MEMORY_COLUMNS,
    memory_cells,
    memory_cost_cells,
    memory_cost_columns,
)
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, table_lines

_WIDTH: Final = number_column("Width", "bit/cycle")
_PARTS: Final = (
    Column("Part"),
    number_column("Area", "mm2"),
    number_column("Delay", "ns"),
    number_column("Peak", "pJ/cycle"),
)


def array_facts(accelerator: Accelerator) -> str:
    """The energy of the array, its clock, and the total area, in a sentence each."""
    array = accelerator.array
    facts = [_imc_facts(accelerator, array.imc)] if array.imc else []
    if not array.imc:
        facts.append(f"A multiply-accumulate takes {array.unit_energy:.4g} pJ.")
        if array.clock_period is not None:
            facts.append(f"Clock period {array.clock_period:.4g} ns.")
    area = total_area(accelerator)
    if area:
        text = area_text(area, accelerator.area_unit)
        facts.append(f"Area {text}, of array and memories together.")
    return " ".join(facts)


def _imc_facts(accelerator: Accelerator, imc: InMemoryCompute) -> str:
    sizes, peak = accelerator.array.imc_sizes, peak_performance(accelerator)
    banks = "1 bank" if sizes.banks == 1 else f"{count(sizes.banks)} banks"
    bits = f"activations of {imc.activation_precision} bit, {imc.bit_serial_precision} a cycle"
    return (
        f"Computes in memory, {imc.kind}: {count(sizes.columns)} columns x {count(sizes.rows)} "
        f"rows x {banks}, {bits}, weights of {imc.weight_precision} bit. "
        f"{imc.technology:.4g} nm at {imc.supply_voltage:.4g} V: clock period "
        f"{clock_period(accelerator):.4g} ns, peak {peak.tops:.4g} TOPS, "
        f"{peak.tops_per_watt:.4g} TOPS/W, {peak.tops_per_mm2:.4g} TOPS/mm2 (array only)."
    )


def part_table(accelerator: Accelerator) -> list[Line]:
    """A row for each component of an in-memory computing array; none for other arrays."""
    if accelerator.array.imc is None:
        return []
    areas = {x.part: x.area for x in array_areas(accelerator)}
    energies = {x.part: x.energy for x in peak_energies(accelerator)}
    delays = array_delays(accelerator)
    rows = [
        (
            part.value,
            *(f"{x:.4g}" for x in (areas.get(part, 0.0), delays.get(part, 0.0))),
            f"{energies.get(part, 0.0):.4g}",
        )
        for part in ArrayPart
    ]
    return [Line(), *table_lines(table(_PARTS, rows))]


def memory_table(accelerator: Accelerator) -> list[Line]:
    """A row for each memory, innermost first."""
    columns = (*MEMORY_COLUMNS, _WIDTH, *memory_cost_columns(accelerator))
    return table_lines(
        table(columns, [_memory(accelerator, level) for level in accelerator.memories])
    )


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[str, ...]:
    width = count(max(port.width_max for port in level.instance.ports))
    return (*memory_cells(accelerator, level), width, *memory_cost_cells(level.instance))
