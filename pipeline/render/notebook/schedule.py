"""Shows a schedule as tables of cores, energies and memories, and a search as another."""

from collections.abc import Iterator
from typing import Final

from nestmap.model.multicore.allocation import Individual
from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.pipeline.analysis.schedule.resource_loads import CoreLoad, core_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering, share
from nestmap.pipeline.render.notebook.markup import MOST_ROWS, Cell, container, cut_note, table
from nestmap.pipeline.render.tables.table import Column, number_column

_CORES: Final = (
    Column("Core"),
    number_column("Nodes"),
    number_column("Busy", "cycles"),
    number_column("Share"),
    number_column("Energy"),
)
_ENERGIES: Final = (Column("Energy"), number_column("Spent"), number_column("Share"))
_MEMORIES: Final = (
    Column("Memory"),
    number_column("Size"),
    number_column("Peak"),
    number_column("Share"),
)
_FRONT: Final = (
    number_column("Latency", "cycles"),
    number_column("Energy"),
    number_column("EDP", "J x cycles"),
    number_column("Memory"),
    Column("Cores of the groups"),
)
_LONGEST: Final = 80
"""The maximum number of letters of an allocation."""


def schedule_html(schedule: Schedule) -> str:
    """A row for each core, each energy component, and each memory in use."""
    problem, latency = schedule.problem, cycles(schedule.latency)
    loads = core_loads(schedule)
    total = schedule.energy.total
    title = f"{problem.nodes.name} on {problem.accelerator.name}: {latency} cycles, {energy(total)}"
    rows = [_core(load, schedule.latency) for load in loads[:MOST_ROWS]]
    parts = [
        (_worded(x), energy(y), share(y / total)) for x, y in schedule.energy.parts.items() if y
    ]
    memories = list(_memories(schedule))
    return container(
        table(title, _CORES, rows, note=cut_note(len(loads), "cores")),
        table("Energy by part", _ENERGIES, parts, ("total", energy(total), "")),
        table(
            "Outermost memories",
            _MEMORIES,
            memories[:MOST_ROWS],
            note=cut_note(len(memories), "memories"),
        ),
    )


def _core(load: CoreLoad, latency: int) -> tuple[Cell, ...]:
    return (
        f"{load.core.id}: {load.core.name}",
        count(load.nodes),
        cycles(load.busy),
        share(load.busy / max(latency, 1)),
        energy(load.energy),
    )


def _worded(part: str) -> str:
    """The name of an energy component of a schedule."""
    return part.replace("_", ", ")


def _memories(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    for use in memory_uses(schedule):
        if use.peak:
            part = share(use.peak / use.capacity)
            yield str(use.home), capacity(use.capacity), capacity(use.peak), part


def search_html(search: AllocationSearch) -> str:
    """A row for each allocation on the Pareto front, by rising latency."""
    problem, generation = search.problem, search.generation
    title = (
        f"{problem.nodes.name} on {problem.accelerator.name}: generation {generation.number}, "
        f"{count(generation.evaluations)} allocations scheduled"
    )
    found = [row for individual in search.front for row in _individual(individual)]
    rows = [cells for _, cells in sorted(found)]
    note = cut_note(len(rows), "allocations")
    return container(table(title, _FRONT, rows[:MOST_ROWS], note=note))


def _individual(individual: Individual) -> Iterator[tuple[float, tuple[str, ...]]]:
    """The latency and the row of an individual; none if it is infeasible."""
    fitness = individual.fitness
    if fitness is None:
        return
    text = " ".join(map(str, individual.allocation))
    cells = (
        cycles(fitness.latency),
        energy(fitness.energy),
        engineering(fitness.edp * 1e-12),
        capacity(fitness.memory),
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...",
    )
    yield fitness.latency, cells
