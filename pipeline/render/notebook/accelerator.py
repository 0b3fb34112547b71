"""Shows an accelerator: a table of its memories and a description of its array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nestmap.model.hardware.accelerator import Accelerator, OperationalArray
from nestmap.model.hardware.imc import InMemoryCompute
from nestmap.model.hardware.memory import MemoryLevel, MemoryPort
from nestmap.pipeline.format.chosen_models import chosen_models
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.render.notebook.markup import Cell, container, table
from nestmap.pipeline.render.tables.columns import Column
from nestmap.pipeline.render.tables.results import (
    MEMORY_COLUMNS,
    MEMORY_COST_COLUMNS,
    MEMORY_COSTS,
    memory_cells,
    memory_cost_cells,
)

_PORTS: Final = Column("Ports", "bit/cycle")


def accelerator_html(accelerator: Accelerator) -> str:
    """The array, a row for each memory, innermost first, and the vector unit."""
    return container(
        table(
            f"Accelerator {accelerator.name}: {array_text(accelerator)}",
            (*MEMORY_COLUMNS, _PORTS, *MEMORY_COST_COLUMNS),
            [_memory(accelerator, level) for level in accelerator.memories],
            note=" ".join((*_facts(accelerator), MEMORY_COSTS)),
        )
    )


def _memory(accelerator: Accelerator, level: MemoryLevel) -> tuple[Cell, ...]:
    ports = tuple(_port(port) for port in level.instance.ports)
    return (*memory_cells(accelerator, level), ports, *memory_cost_cells(level.instance))


def _port(port: MemoryPort) -> str:
    least, most = count(port.width_min), count(port.width_max)
    width = most if least == most else f"{least} to {most}"
    operands = " ".join(dict.fromkeys(use.operand for use in port.allocation)) or "nothing"
    return f"{port.name} ({port.kind.value}) {width}: {operands}"


def _facts(accelerator: Accelerator) -> Iterator[str]:
    array, unit = accelerator.array, accelerator.vector_unit
    yield _in_memory(array, array.imc) if array.imc else _units(array)
    if array.systolic_dimensions:
        yield f"Systolic along {', '.join(array.systolic_dimensions)}."
    if unit is not None:
        yield (
            f"Vector unit of {count(unit.lanes)} lanes, {unit.operation_energy:.4g} pJ an "
            "operation."
        )
    yield from chosen_models(accelerator)


def _units(array: OperationalArray) -> str:
    clock = "" if array.clock_period is None else f", clock period {array.clock_period:.4g} ns"
    return f"A multiply-accumulate takes {array.unit_energy:.4g} pJ{clock}."


def _in_memory(array: OperationalArray, imc: InMemoryCompute) -> str:
    sizes = array.imc_sizes
    banks = "1 bank" if sizes.banks == 1 else f"{count(sizes.banks)} banks"
    return (
        f"Computes in memory, {imc.kind.value}: {count(sizes.columns)} columns x "
        f"{count(sizes.rows)} rows x {banks}, activations of "
        f"{imc.activation_precision} bit, {imc.bit_serial_precision} a cycle, weights of "
        f"{imc.weight_precision} bit; {imc.technology:.4g} nm at {imc.supply_voltage:.4g} V."
    )
