"""Sentences about an accelerator: its array, its vector unit, the models of its memories."""

from collections.abc import Iterator

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.imc.array import clock_period, peak_performance
from nestmap.model import Accelerator, InMemoryCompute
from nestmap.pipeline.format.chosen_models import chosen_models
from nestmap.pipeline.format.numbers import area_text, count


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


def machine_facts(accelerator: Accelerator) -> Iterator[str]:
    """Sentences about the array, the vector unit, and the models that compute costs."""
    yield array_facts(accelerator)
    if accelerator.array.systolic_dimensions:
        yield f"Systolic along {', '.join(accelerator.array.systolic_dimensions)}."
    unit = accelerator.vector_unit
    if unit is not None and accelerator.vector_memory is not None:
        yield (
            f"A vector unit of {unit.lanes} lanes, {unit.operation_energy:.4g} pJ an operation, "
            f"reads from and writes to {accelerator.vector_memory.name}."
        )
    yield from chosen_models(accelerator)
