"""The figures of results and machines as rows of text, for tables in a terminal and in HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nestmap.model.dims import LayerOperand
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering, share
from nestmap.pipeline.render.tables.columns import Column, number_column

if TYPE_CHECKING:
    from nestmap.model.evaluation.cme import CostModelEvaluation
    from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation
    from nestmap.model.hardware.accelerator import Accelerator
    from nestmap.model.hardware.memory import MemoryInstance, MemoryLevel
    from nestmap.model.mapping.temporal import TemporalMapping

TIMES: Final = number_column("Times")
"""How many layers share a row."""

RESULT_COLUMNS: Final = (
    number_column("MACs"),
    number_column("Energy"),
    number_column("Latency", "cycles"),
    number_column("MAC", "util."),
    number_column("Evaluated", "mappings"),
)

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
"""Where a memory stands, and how much of it there is."""

MEMORY_COST_COLUMNS: Final = (
    number_column("Read", "pJ"),
    number_column("Write", "pJ"),
    number_column("Area", "each"),
    number_column("Leakage", "mW each"),
)

MEMORY_COSTS: Final = (
    "Read, write: energy of an access of a port's full width. Area is in the unit of the "
    "description (mm2 where it is computed)."
)
"""What the columns of its costs mean."""


def layer_figures(result: LayerResult) -> tuple[str, ...]:
    """The figures of a layer."""
    cme = result.cme
    return (
        engineering(cme.macs),
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        count(result.statistics.evaluations),
    )


def vector_figures(evaluation: NetworkEvaluation) -> tuple[str, ...]:
    """The figures of all vector operators."""
    costs = (energy(evaluation.vector_energy), cycles(evaluation.vector_latency))
    return ("-", *costs, "-", "-")


def total_figures(evaluation: NetworkEvaluation) -> tuple[str, ...]:
    """The figures of the whole network."""
    return (
        engineering(evaluation.macs),
        energy(evaluation.energy),
        cycles(evaluation.latency),
        share(evaluation.utilization),
        count(evaluation.evaluations),
    )


def repeat_counts(evaluation: NetworkEvaluation) -> list[str]:
    """How many layers share the row of each layer that repeats none."""
    results = evaluation.layers
    times = Counter(result.repeats or result.cme.layer for result in results)
    return [count(times[x.cme.layer]) for x in results if x.repeats is None]


def mapping_cells(cme: CostModelEvaluation) -> tuple[str, ...]:
    """A mapping of a layer beside others of the same layer."""
    return (
        energy(cme.energy),
        cycles(cme.latency),
        share(cme.utilization),
        spatial_text(cme.spatial_mapping),
        ", ".join(str(loop) for loop in cme.temporal_mapping.order),
    )


def memory_cells(accelerator: Accelerator, level: MemoryLevel) -> tuple[str, ...]:
    """Where a memory stands, and how much of it there is."""
    return (
        level.name,
        " ".join(level.operands),
        capacity(level.instance.size),
        count(accelerator.instances_of(level)),
    )


def memory_cost_cells(memory: MemoryInstance) -> tuple[str, ...]:
    """What a memory costs."""
    costs = (memory.read_energy, memory.write_energy, memory.area, memory.leakage)
    return tuple(f"{cost:.4g}" for cost in costs)


def nest_columns(operands: Sequence[LayerOperand]) -> tuple[Column, ...]:
    """The columns of a loop nest: the loop, and the memory that each operand is in."""
    return (Column("Loop"), *(Column(f"{name} in") for name in operands))


def nest_rows(
    mapping: TemporalMapping, memories: Mapping[LayerOperand, Sequence[str]]
) -> list[tuple[str, ...]]:
    """A row for each loop from the outermost one in; ``memories`` are those of each operand."""
    homes = [
        [name for level, name in enumerate(names) for _ in mapping.loops_at(operand, level)]
        for operand, names in memories.items()
    ]
    rows = [(str(loop), *(home[n] for home in homes)) for n, loop in enumerate(mapping.order)]
    return rows[::-1]
