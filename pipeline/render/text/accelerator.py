"""Sentences about an accelerator: its array, its vector unit, the models of its memories."""

from collections.abc import Iterator

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.imc.array import clock_period, peak_performance
from nestmap.model import Accelerator, Counting, InMemoryCompute
from nestmap.pipeline.format.numbers import area_text, count


def _array_facts(accelerator: Accelerator) -> str:
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
    yield _array_facts(accelerator)
    if accelerator.array.systolic_dimensions:
        yield f"Systolic along {', '.join(accelerator.array.systolic_dimensions)}."
    unit = accelerator.vector_unit
    if unit is not None and accelerator.vector_memory is not None:
        yield (
            f"A vector unit of {unit.lanes} lanes, {unit.operation_energy:.4g} pJ an operation, "
            f"reads from and writes to {accelerator.vector_memory.name}."
        )
    yield from chosen_models(accelerator)


def chosen_models(accelerator: Accelerator) -> Iterator[str]:
    """A sentence for each choice that is not the usual one."""
    if accelerator.counting is Counting.REFERENCE:
        yield "Costs are counted as by ZigZag."
    if accelerator.counts_leakage:
        yield "Energies include leakage."
    if accelerator.free_first_sum:
        yield "Sums begin without a read of zeros."
    if accelerator.strict_ports:
        yield "Layers take at least as long as each port is busy."
    yield from _zeros(accelerator)
    if accelerator.array.hop_energy:
        yield f"A bit that units hand on takes {accelerator.array.hop_energy:.4g} pJ."
    if accelerator.array.hop_bandwidth is not None:
        limit = accelerator.array.hop_bandwidth
        yield f"Between two units, each operand moves at most {limit} bit a cycle."
    names = [level.name for level in accelerator.memories if level.instance.window_reuse]
    if names:
        verb = "loads" if len(names) == 1 else "load"
        yield f"Of windows that slide, {', '.join(names)} {verb} only what is new."


def _zeros(accelerator: Accelerator) -> Iterator[str]:
    """What zeros save: compressed operands, gated operations, skipped steps."""
    for level in accelerator.memories:
        if level.compression:
            yield f"Memory {level.name} compresses {', '.join(map(str, level.compression))}."
    if accelerator.array.zero_gating:
        yield f"Zeros of {', '.join(accelerator.array.zero_gating)} gate operations."
    if accelerator.array.zero_skipping:
        yield f"Zeros of {', '.join(accelerator.array.zero_skipping)} skip steps of the array."
