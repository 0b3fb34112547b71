"""The tables of a schedule: layers, nodes, cores, channels, memories, allocations."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from nestmap.model.multicore.accelerator import StorageCore
from nestmap.model.multicore.allocation import AllocationSpace, Fitness, Individual
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.energy import energy_bars
from nestmap.pipeline.analysis.schedule.names import ScheduleNames, allocation_text, tiles_text
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.mappings import array_text, shortened
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT, NONE
from nestmap.pipeline.render.tables.network import parts_table
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Room,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)

MOST_NODES: Final = 1000
"""The maximum number of rows in the table of nodes; JSON and store have all nodes."""

_LAYERS: Final = (
    number_column("#", hint="number of the layer"),
    Column("Layer"),
    Column("Operator"),
    Column("Split", hint="tiles of the loops that are cut, the innermost first"),
    number_column("Nodes"),
    number_column("Groups", hint="nodes of a group read the same constants, and run on one core"),
    Column("Cores", hint="and how many nodes run there, where there are several"),
    number_column("Start", "cycles", hint="of the first node"),
    number_column("End", "cycles", hint="of the last node"),
    bar_column("From start to end"),
    number_column("Busy", "cycles", hint="all nodes together"),
    number_column("Energy", hint="in the cores, and off-chip for streamed operands"),
    number_column("Output"),
)
_NODES: Final = (
    number_column("Node", hint="place in the workload, from 0"),
    Column("Layer"),
    number_column("#", hint="number in its layer"),
    Column("Ranges", hint="of the loops that are cut, the end excluded"),
    number_column("Group"),
    number_column("Core"),
    number_column("Start", "cycles"),
    number_column("End", "cycles"),
    number_column("Runtime", "cycles"),
    number_column("Energy"),
    number_column("Output"),
)
_CORES: Final = (
    number_column("Core"),
    Column("Name"),
    Column("Array", room=Room.PAGE),
    Column("Runs", hint="operators; empty: all that layers have", room=Room.PAGE),
    number_column("Nodes"),
    number_column("Busy", "cycles"),
    number_column("Share"),
    number_column("First", "start"),
    number_column("Last", "end"),
    number_column("Energy"),
)
_CHANNELS: Final = (
    Column("Link or bus"),
    number_column("Bandwidth", "bit/cycle"),
    number_column("Energy", "pJ/bit", room=Room.PAGE),
    number_column("Energy", "pJ/busy cycle", room=Room.PAGE),
    number_column("Transfers"),
    number_column("Sent"),
    number_column("Busy", "cycles"),
    number_column("Share"),
)
_MEMORIES: Final = (
    Column("Memory"),
    Column("Cores"),
    number_column("Size"),
    number_column("Peak"),
    number_column("Share"),
)
_FITNESS: Final = (
    number_column("Latency", "cycles"),
    number_column("Energy"),
    number_column("EDP", EDP_UNIT),
    number_column("Memory", hint="peaks of the memories on the chip, added up"),
)
_FRONT: Final = (
    number_column("#"),
    *_FITNESS,
    Column("Reported"),
    Column(
        "Cores of the layers",
        hint="by the number of the layer, where there is a choice",
        room=Room.LINE,
    ),
)
_COMPARED: Final = (
    Column("Schedule"),
    Column("Workload", room=Room.PAGE),
    Column("Machine", room=Room.PAGE),
    Column("Status", room=Room.PAGE),
    number_column("Nodes"),
    *(y for x in _FITNESS for y in (x, number_column("Change"))),
)
_LONGEST: Final = 100
"""The maximum number of letters of an allocation; JSON and store have the whole."""


def layers_table(schedule: Schedule) -> Table:
    """A row for each layer."""
    rows = [Row(row, group=row[2].text) for row in _layers(ScheduleNames(schedule))]
    return Table("Layers", _LAYERS, tuple(rows), head=1)


def _layers(names: ScheduleNames) -> Iterator[tuple[Cell, ...]]:
    schedule, first = names.schedule, names.nodes.first_nodes.tolist()
    for place, layer in enumerate(names.nodes.layers):
        here = slice(first[place], first[place + 1])
        nodes = range(*here.indices(len(schedule.core)))
        start, end = int(schedule.start[here].min()), int(schedule.end[here].max())
        yield (
            cells.count(layer.nest.number),
            Cell(layer.nest.name),
            Cell(layer.nest.operator),
            Cell(tiles_text(layer)),
            cells.count(len(nodes)),
            cells.count(len(np.unique(layer.groups))),
            Cell(_cores_text(schedule.core[here].tolist())),
            cells.cycles(start),
            cells.cycles(end),
            cells.bar(start, end, schedule.latency, SERIES),
            cells.cycles(int((schedule.end[here] - schedule.start[here]).sum())),
            cells.energy(sum(names.onchip(x) + names.offchip(x) for x in nodes)),
            cells.capacity(int(schedule.tensors.bits[here].sum())),
        )


def _cores_text(cores: Sequence[int]) -> str:
    """The cores and their numbers of nodes: ``2``, or ``0 (5), 1 (3)``."""
    numbers, counts = np.unique(cores, return_counts=True)
    if len(numbers) == 1:
        return str(numbers[0])
    pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
    return ", ".join(f"{core} ({count(nodes)})" for core, nodes in pairs)


def nodes_table(schedule: Schedule) -> Table:
    """A row for each node in order of start, at most so many."""
    names, order = ScheduleNames(schedule), np.argsort(schedule.start, kind="stable")
    chosen = order[:MOST_NODES].tolist()
    left = len(order) - len(chosen)
    caption = "Nodes as they start" + (f", the first {count(MOST_NODES)}" if left else "")
    return Table(caption, _NODES, tuple(Row(_node(names, node)) for node in chosen))


def _node(names: ScheduleNames, node: int) -> tuple[Cell, ...]:
    schedule, layer, number = names.schedule, names.layer(node), names.number(node)
    start, end = int(schedule.start[node]), int(schedule.end[node])
    return (
        cells.count(node),
        Cell(layer.nest.name),
        cells.count(number),
        Cell(names.ranges(node) or "whole"),
        cells.count(int(layer.groups[number])),
        cells.count(int(schedule.core[node])),
        cells.cycles(start),
        cells.cycles(end),
        cells.cycles(end - start),
        cells.energy(names.onchip(node) + names.offchip(node)),
        cells.capacity(int(schedule.tensors.bits[node])),
    )


def core_table(schedule: Schedule) -> Table:
    """A row for each core that computes, then for those that only store."""
    rows = [*_computing(schedule), *_storing(schedule)]
    caption = f"Cores of {schedule.problem.accelerator.name}"
    return table(_CORES, rows, caption=caption)


def _computing(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    for load in core_loads(schedule):
        yield (
            cells.count(load.core.id),
            Cell(load.core.name),
            Cell(array_text(load.core.accelerator)),
            Cell(", ".join(load.core.operators)),
            cells.count(load.nodes),
            cells.cycles(load.busy),
            cells.share(load.busy, schedule.latency),
            cells.cycles(load.begins if load.nodes else None),
            cells.cycles(load.ends if load.nodes else None),
            cells.energy(load.energy),
        )


def _storing(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    for core in schedule.problem.accelerator.cores:
        if isinstance(core, StorageCore):
            nothing = (Cell(NONE),) * 6
            yield cells.count(core.id), Cell(core.name), Cell("memory only"), Cell(""), *nothing


def channel_table(schedule: Schedule) -> Table:
    """A row for each link and bus, the busiest first."""
    accelerator = schedule.problem.accelerator
    loads = {load.wire.name: load for load in wire_loads(schedule)}
    channels = {x.name: x for x in Interconnect(accelerator=accelerator).channels}
    rows = list[tuple[Cell, ...]]()
    for name in dict.fromkeys((*loads, *channels)):
        channel, load = channels[name], loads.get(name)
        rows.append(
            (
                Cell(name),
                Cell("no limit") if channel.bandwidth is None else cells.count(channel.bandwidth),
                cells.plain(channel.energy_per_bit),
                cells.plain(channel.energy_per_cycle),
                cells.count(load.transfers if load else 0),
                cells.capacity(load.bits if load else 0),
                cells.cycles(load.busy if load else 0),
                cells.share(load.busy if load else 0, schedule.latency),
            )
        )
    return table(_CHANNELS, rows, caption=f"Links and buses of {accelerator.name}")


def memory_table(schedule: Schedule) -> Table:
    """A row for each outermost memory."""
    rows = [
        (
            Cell(use.home.name),
            Cell(", ".join(map(str, use.home.cores))),
            cells.capacity(use.capacity),
            cells.capacity(use.peak),
            cells.share(use.peak, use.capacity),
        )
        for use in memory_uses(schedule)
    ]
    name = schedule.problem.accelerator.name
    return table(_MEMORIES, rows, caption=f"Outermost memories of {name}")


def energy_table(schedule: Schedule) -> Table:
    """A row for each component of the energy that is not zero."""
    bars = energy_bars([""], [schedule.energy])
    return parts_table("Energy by purpose", "Energy", bars, cells.energy)


# --- allocations: the front of a search, and schedules beside each other ---


def allocation_table(
    front: Sequence[Individual],
    space: AllocationSpace,
    reported: Individual | None = None,
    caption: str = "Pareto front of allocations",
) -> Table:
    """A row for each allocation on a Pareto front, by rising latency; ``space`` names its cores.

    The ``reported`` one is listed, too: it may need less memory than one of the front that it ties
    with in latency and energy.
    """
    chosen = () if reported is None else (reported,)
    found = {x.allocation: x.fitness for x in (*chosen, *front)}
    known = [(fitness, allocation) for allocation, fitness in found.items() if fitness is not None]
    known.sort(key=lambda pair: (pair[0].latency, pair[0].energy))
    rows = [
        (
            cells.count(place),
            *_fitness(fitness),
            Cell("yes" if reported is not None and allocation == reported.allocation else ""),
            Cell(shortened(allocation_text(allocation, space), _LONGEST)),
        )
        for place, (fitness, allocation) in enumerate(known, start=1)
    ]
    return table(_FRONT, rows, caption=caption)


def _fitness(fitness: Fitness) -> tuple[Cell, ...]:
    return (
        cells.cycles(fitness.latency),
        cells.energy(fitness.energy),
        cells.edp(fitness.edp),
        cells.capacity(fitness.memory),
    )


class Compared(NamedTuple):
    """A schedule in a comparison: its name, its number of nodes, what it costs."""

    name: str
    nodes: int
    fitness: Fitness
    workload: str = ""
    machine: str = ""
    status: str = ""
    link: str = ""


def comparison_table(schedules: Sequence[Compared]) -> Table:
    """A row for each schedule; changes are from the first one."""
    first = schedules[0].fitness
    rows = [
        (
            Cell(x.name, link=x.link),
            *cells.texts(x.workload, x.machine, x.status),
            cells.count(x.nodes),
            *_changed(first, x.fitness),
        )
        for x in schedules
    ]
    caption = "Totals; changes are those from the first schedule"
    return table(_COMPARED, rows, caption=caption)


def _changed(first: Fitness, fitness: Fitness) -> Iterator[Cell]:
    """Each figure, and how much more it is than that of the first schedule."""
    before = (first.latency, first.energy, first.edp, first.memory)
    after = (fitness.latency, fitness.energy, fitness.edp, fitness.memory)
    for cell, one, other in zip(_fitness(fitness), before, after, strict=True):
        yield cell
        yield cells.change(one, other)
