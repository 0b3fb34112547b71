"""The numbers of results and accelerators as rows of text, for terminals and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nestmap.model.dims import LayerOperand
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import (
    ARBITRARY_UNITS,
    area_unit,
    capacity,
    count,
    cycles,
    energy,
    engineering,
    gap_text,
    share,
)
from nestmap.pipeline.render.tables.table import Column, number_column

if TYPE_CHECKING:
    from nestmap.model.evaluation.cme import CostModelEvaluation
    from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation
    from nestmap.model.hardware.accelerator import Accelerator
    from nestmap.model.hardware.memory import MemoryInstance, MemoryLevel
    from nestmap.model.mapping.temporal import TemporalMapping
    from nestmap.model.workload.layer import Layer

TIMES: Final = number_column("Times")
"""The number of layers that share a row."""

GAP_HINT: Final = "the optimum of the space searched may be lower by this share of the result"
"""The meaning of a gap."""

RESULT_COLUMNS: Final = (
    number_column("MACs"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
    number_column("MAC", "util."),
    number_column("Evaluated", "mappings"),
)

GAP: Final = number_column("Gap", "at most", hint=GAP_HINT)

MAPPING_COLUMNS: Final = (
    number_column("Energy"),
    number_column("Latency", "cycles"),
    number_column("MAC", "util."),
    Column("Spatial"),
    Column("Temporal", "innermost first"),
)

MEMORY_COLUMNS: Final = (
    Column("Memory"),
    Column("Operands"),
    number_column("Size"),
    number_column("Instances"),
)
"""The position, size and instances of a memory."""


def memory_cost_columns(accelerator: Accelerator) -> tuple[Column, ...]:
    """The columns of a memory's costs."""
    return (
        number_column("Read", "pJ"),
        number_column("Write", "pJ"),
        number_column("Area", f"{area_unit(accelerator.area_unit)} each"),
        number_column("Leakage", "mW each"),
    )


def memory_costs_note(accelerator: Accelerator) -> str:
    """What these columns are."""
    note = "Read, write: energy of an access of a port's full width."
    if accelerator.area_unit is None:
        note += (
            f" {ARBITRARY_UNITS}: the description states no unit of areas (area_unit: mm2); those "
            "that a model computes are in mm2."
        )
    return note


def has_bounds(evaluation: NetworkEvaluation) -> bool:
    """Whether the gap of any layer is known."""
    return any(result.bound is not None for result in evaluation.layers)


def result_columns(evaluation: NetworkEvaluation) -> tuple[Column, ...]:
    """The columns of the numbers of layers; gaps have one if any is known."""
    return (*RESULT_COLUMNS, GAP) if has_bounds(evaluation) else RESULT_COLUMNS


def layer_figures(evaluation: NetworkEvaluation, result: LayerResult) -> tuple[str, ...]:
    """The numbers of a layer of the network."""
    cme = result.cme
    return (
        engineering(cme.macs),
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        count(result.statistics.evaluations),
        *_gap(evaluation, result.gap),
    )


def infeasible_figures(evaluation: NetworkEvaluation, layer: Layer) -> tuple[str, ...]:
    """What is known of a layer without a mapping."""
    return (engineering(layer.macs), "-", "-", "-", "-", *_gap(evaluation, None))


def vector_figures(evaluation: NetworkEvaluation) -> tuple[str, ...]:
    """The numbers of all vector operators."""
    costs = (energy(evaluation.vector_energy), cycles(evaluation.vector_latency))
    return ("-", *costs, "-", "-", *_gap(evaluation, None))


def total_figures(evaluation: NetworkEvaluation) -> tuple[str, ...]:
    """The numbers of the whole network."""
    return (
        engineering(evaluation.macs),
        energy(evaluation.energy),
        cycles(evaluation.latency),
        share(evaluation.utilization),
        count(evaluation.evaluations),
        *_gap(evaluation, evaluation.gap),
    )


def _gap(evaluation: NetworkEvaluation, gap: float | None) -> tuple[str, ...]:
    return (gap_text(gap),) if has_bounds(evaluation) else ()


def repeat_counts(evaluation: NetworkEvaluation) -> list[str]:
    """The number of layers that share the row of each distinct layer, then of infeasible ones."""
    results, failed = evaluation.layers, evaluation.infeasible
    times = Counter(result.repeats or result.cme.layer for result in results)
    times.update(entry.repeats or entry.layer for entry in failed)
    names = [x.cme.layer for x in results if x.repeats is None]
    names += [x.layer for x in failed if x.repeats is None]
    return [count(times[name]) for name in names]


def total_name(evaluation: NetworkEvaluation) -> str:
    """The name of the row of totals, which says how many layers it leaves out."""
    left_out = len(evaluation.infeasible)
    return f"total without {count(left_out)} of {_layers(evaluation)}" if left_out else "total"


def _layers(evaluation: NetworkEvaluation) -> str:
    return count(len(evaluation.layers) + len(evaluation.infeasible))


def mapping_cells(cme: CostModelEvaluation) -> tuple[str, ...]:
    """A mapping of a layer in a table of the layer's mappings."""
    return (
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        spatial_text(cme.spatial_mapping),
        ", ".join(str(loop) for loop in cme.temporal_mapping.order),
    )


def memory_cells(accelerator: Accelerator, level: MemoryLevel) -> tuple[str, ...]:
    """The position, size and instances of a memory."""
    return (
        level.name,
        " ".join(level.operands),
        capacity(level.instance.size),
        count(accelerator.instances_of(level)),
    )


def memory_cost_cells(memory: MemoryInstance) -> tuple[str, ...]:
    """The costs of a memory."""
    costs = (memory.read_energy, memory.write_energy, memory.area, memory.leakage)
    return tuple(f"{cost:.4g}" for cost in costs)


def nest_columns(operands: Sequence[LayerOperand]) -> tuple[Column, ...]:
    """The columns of a loop nest: the loop, and the memory of each operand."""
    return (Column("Loop"), *(Column(f"{name} in") for name in operands))


def nest_rows(
    mapping: TemporalMapping, memories: Mapping[LayerOperand, Sequence[str]]
) -> list[tuple[str, ...]]:
    """A row for each loop, outermost first; ``memories`` are those of each operand."""
    homes = [
        [name for level, name in enumerate(names) for _ in mapping.loops_at(operand, level)]
        for operand, names in memories.items()
    ]
    rows = [(str(loop), *(home[n] for home in homes)) for n, loop in enumerate(mapping.order)]
    return rows[::-1]
