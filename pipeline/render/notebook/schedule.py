"""Shows a schedule as tables of cores, energies and memories, and a search as another."""

from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.pipeline.format.numbers import count, cycles, energy_text
from nestmap.pipeline.render.notebook.markup import container, paragraph, table_html
from nestmap.pipeline.render.tables.schedule import (
    allocation_table,
    core_table,
    energy_table,
    memory_table,
)


def schedule_html(schedule: Schedule) -> str:
    """A row for each core, each energy component, and each outermost memory."""
    problem, latency = schedule.problem, cycles(schedule.latency)
    total = energy_text(schedule.energy.total)
    title = f"{problem.nodes.name} on {problem.accelerator.name}: {latency} cycles, {total}"
    tables = (core_table(schedule), energy_table(schedule), memory_table(schedule))
    return container(paragraph(title), *map(table_html, tables))


def search_html(search: AllocationSearch) -> str:
    """A row for each allocation on the Pareto front, by rising latency."""
    problem, generation = search.problem, search.generation
    title = (
        f"{problem.nodes.name} on {problem.accelerator.name}: generation {generation.number}, "
        f"{count(generation.evaluations)} allocations scheduled"
    )
    return container(table_html(allocation_table(search.front, problem.space, caption=title)))
