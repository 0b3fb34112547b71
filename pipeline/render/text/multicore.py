"""Reports a network on several cores: Pareto front and schedule as tables."""

from collections.abc import Sequence
from typing import Final

from nestmap.model.multicore.allocation import Fitness, Individual, StreamBound
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import capacity, count, cycles, energy, engineering, share
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines

PARTS: Final = {
    "computation": "computation in cores",
    "streaming": "streamed operands: off-chip memory",
    "streaming_links": "streamed operands: links",
    "constant_links": "constants: links",
    "constant_memory": "constants: memories",
    "activation_links": "activations: links",
    "activation_memory": "activations: memories",
    "eviction_links": "evictions: links",
    "eviction_memory": "evictions: memories",
    "result_links": "results: links",
    "result_memory": "results: memories",
}
"""The names of the energy components of a schedule."""

_FRONT: Final = (
    number_column("Latency"),
    number_column("Energy"),
    number_column("EDP"),
    number_column("Memory"),
    Column("Cores of the groups"),
)
_ENERGY: Final = (Column("Energy"), number_column("Spent"), number_column("Share"))
_CORES: Final = (
    Column("Core"),
    number_column("Nodes"),
    number_column("Busy"),
    number_column("Load"),
    number_column("From"),
    number_column("To"),
    number_column("Energy"),
)
_WIRES: Final = (
    Column("Link or bus"),
    number_column("Transfers"),
    number_column("Sent"),
    number_column("Busy"),
    number_column("Load"),
)
_MEMORIES: Final = (
    Column("Memory"),
    number_column("Size"),
    number_column("Peak"),
    number_column("Share"),
)
_COMPARED: Final = (
    Column("Schedule"),
    number_column("Nodes"),
    number_column("Latency"),
    number_column("Energy"),
    number_column("EDP"),
    number_column("Memory"),
)
_LONGEST: Final = 48


def front_of_allocations(front: Sequence[Individual], most: int) -> list[Line]:
    """A row for each allocation on the Pareto front, at most ``most``."""
    known = [(x.fitness, x) for x in front if x.fitness is not None]
    known.sort(key=lambda pair: (pair[0].latency, pair[0].energy))
    cells = [(*_fitness(fitness), _cores(x)) for fitness, x in known[:most]]
    left = len(known) - most
    note = [Line(f"and {count(left)} more")] if left > 0 else []
    return [*table_lines(table(_FRONT, cells)), *note]


def _fitness(fitness: Fitness) -> tuple[str, str, str, str]:
    return (
        cycles(fitness.latency),
        energy(fitness.energy),
        engineering(fitness.edp * 1e-12, "J x cycles"),
        capacity(fitness.memory),
    )


def _cores(individual: Individual) -> str:
    text = " ".join(map(str, individual.allocation))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def problem_note(problem: ScheduleProblem) -> str:
    """The size of the search space, in one sentence."""
    nodes, space = problem.nodes, problem.space
    return (
        f"{count(len(nodes))} computation nodes of {count(len(nodes.layers))} layers, "
        f"{count(len(problem.costs.runtime))} kinds; {count(len(space.groups))} groups, "
        f"{count(len(space.free_groups))} with a choice of cores: {_many(space.size)} allocations."
    )


def _many(number: int) -> str:
    return count(number) if number < 1_000_000 else f"about 10^{len(str(number)) - 1}"


def bound_note(bound: StreamBound) -> str:
    """The bounds on the latency that the constraint solver found."""
    if bound.best is None or bound.best.fitness is None:
        least = "there is no schedule" if bound.proven else "no schedule was found"
        return f"By constraints: {least}, after {count(bound.evaluations)} allocations."
    found = cycles(bound.best.fitness.latency)
    if bound.proven:
        return f"By constraints: {found} cycles; no allocation has a shorter schedule."
    return (
        f"By constraints: {found} cycles, no schedule is shorter than {cycles(bound.bound)} cycles "
        f"(gap {share(bound.gap)})."
    )


def energy_table(schedule: Schedule) -> list[Line]:
    """A row for each energy component that is not zero."""
    total = schedule.energy.total
    cells = [
        (PARTS.get(name, name), energy(spent), share(spent / total))
        for name, spent in schedule.energy.parts.items()
        if spent
    ]
    return table_lines(table(_ENERGY, [*cells, ("total", energy(total), share(1.0))]))


def core_table(schedule: Schedule) -> list[Line]:
    """A row for each core that computes."""
    cells = [
        (
            f"{load.core.id} {printable(load.core.name)}",
            count(load.nodes),
            cycles(load.busy),
            _load(load.busy, schedule.latency),
            cycles(load.begins) if load.nodes else "-",
            cycles(load.ends) if load.nodes else "-",
            energy(load.energy),
        )
        for load in core_loads(schedule)
    ]
    return table_lines(table(_CORES, cells))


def wire_table(schedule: Schedule, most: int) -> list[Line]:
    """The busiest links and buses, at most so many; none if nothing is sent."""
    loads = wire_loads(schedule)
    if not loads:
        return []
    cells = [
        (
            printable(load.wire.name),
            count(load.transfers),
            capacity(load.bits),
            cycles(load.busy),
            _load(load.busy, schedule.latency),
        )
        for load in loads[:most]
    ]
    left = len(loads) - most
    note = [Line(f"and {count(left)} less busy ones")] if left > 0 else []
    return [*table_lines(table(_WIRES, cells)), *note]


def memory_table(schedule: Schedule) -> list[Line]:
    """A row for each outermost memory in use."""
    cells = [
        (
            printable(str(use.home)),
            capacity(use.capacity),
            capacity(use.peak),
            share(use.peak / use.capacity),
        )
        for use in memory_uses(schedule)
        if use.peak
    ]
    return table_lines(table(_MEMORIES, cells)) if cells else []


def comparison_table(rows: Sequence[tuple[str, int, Fitness]]) -> list[Line]:
    """Schedules in rows: name, nodes, results."""
    return table_lines(
        table(_COMPARED, [(name, count(nodes), *_fitness(fit)) for name, nodes, fit in rows])
    )


def comparison_note(other: str, this: Fitness, that: Fitness) -> str:
    """The costs of this schedule relative to those of the other one, in one sentence."""
    parts = (
        ("latency", this.latency, that.latency),
        ("energy", this.energy, that.energy),
        ("memory", this.memory, that.memory),
    )
    said = (_ratio(name, one, two) for name, one, two in parts)
    return f"Against {other}: {', '.join(said)}."


def _ratio(name: str, one: float, other: float) -> str:
    return f"{name} x {one / other:.3f}" if other else f"{name} {one:g} instead of 0"


def _load(busy: int, latency: int) -> str:
    return share(busy / latency) if latency else "-"
