"""Says what an accelerator chooses of the cost model."""

from collections.abc import Iterator

from nestmap.model.hardware.accelerator import Accelerator, Counting


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
