"""Tables of a schedule: layers, nodes, cores, channels, memories, Pareto front."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from nestmap.model.multicore.accelerator import StorageCore
from nestmap.model.multicore.allocation import Fitness
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.names import ScheduleNames
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream
from nestmap.pipeline.pages.report.summary import EDP_UNIT, edp
from nestmap.pipeline.render.charts.schedule.front import allocation_text
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.table import (
    Cell,
    Column,
    Row,
    Table,
    bar_column,
    number_column,
    table,
)
from nestmap.pipeline.render.text.split import tiles_text

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
    Column("Array"),
    Column("Runs", hint="operators; empty: all that layers have"),
    number_column("Nodes"),
    number_column("Busy", "cycles"),
    number_column("Share"),
    number_column("First start", "cycles"),
    number_column("Last end", "cycles"),
    number_column("Energy"),
)
_WIRES: Final = (
    Column("Wire"),
    number_column("Bandwidth", "bit/cycle"),
    number_column("Energy", "pJ/bit"),
    number_column("Energy", "pJ/busy cycle"),
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
_FRONT: Final = (
    number_column("#"),
    number_column("Latency", "cycles"),
    number_column("Energy"),
    number_column("EDP", EDP_UNIT),
    number_column("Memory", hint="peaks of the memories on the chip, added up"),
    Column("Reported"),
    Column("Cores of the layers", hint="by the number of the layer, where there is a choice"),
)


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


def accelerator_tables(schedule: Schedule) -> Iterator[Table]:
    """The utilization of the accelerator's cores, channels and memories."""
    name = schedule.problem.accelerator.name
    yield table(_CORES, [*_cores(schedule)], caption=f"Cores of {name}")
    yield table(_WIRES, [*_wires(schedule)], caption=f"Wires of {name}")
    yield table(_MEMORIES, [*_memories(schedule)], caption=f"Outermost memories of {name}")


def _cores(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    latency = schedule.latency
    for load in core_loads(schedule):
        yield (
            cells.count(load.core.id),
            Cell(load.core.name),
            Cell(array_text(load.core.accelerator)),
            Cell(", ".join(load.core.operators)),
            cells.count(load.nodes),
            cells.cycles(load.busy),
            cells.share(load.busy, latency),
            cells.cycles(load.begins) if load.nodes else Cell(NONE),
            cells.cycles(load.ends) if load.nodes else Cell(NONE),
            cells.energy(load.energy),
        )
    for core in schedule.problem.accelerator.cores:
        if isinstance(core, StorageCore):
            nothing = (Cell(NONE),) * 6
            yield cells.count(core.id), Cell(core.name), Cell("memory only"), Cell(""), *nothing


def _wires(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    loads = {load.wire.name: load for load in wire_loads(schedule)}
    for wire in Interconnect(accelerator=schedule.problem.accelerator).channels:
        load = loads.get(wire.name)
        yield (
            Cell(wire.name),
            Cell("no limit") if wire.bandwidth is None else cells.count(wire.bandwidth),
            cells.plain(wire.energy_per_bit),
            cells.plain(wire.energy_per_cycle),
            cells.count(load.transfers if load else 0),
            cells.capacity(load.bits if load else 0),
            cells.cycles(load.busy if load else 0),
            cells.share(load.busy if load else 0, schedule.latency),
        )


def _memories(schedule: Schedule) -> Iterator[tuple[Cell, ...]]:
    for use in memory_uses(schedule):
        yield (
            Cell(use.home.name),
            Cell(", ".join(map(str, use.home.cores))),
            cells.capacity(use.capacity),
            cells.capacity(use.peak),
            cells.share(use.peak, use.capacity),
        )


def allocations_table(run: ReportedStream) -> Table | None:
    """A row for each allocation on the last front; ``None`` if there was no search."""
    known = [
        (individual.fitness, individual.allocation)
        for individual in (run.generations[-1].front if run.generations else ())
        if individual.fitness is not None
    ]
    if not known:
        return None
    known.sort(key=lambda pair: (pair[0].latency, pair[0].energy))
    space = run.schedule.problem.space
    rows = [
        (
            cells.count(place),
            *fitness_cells(fitness),
            Cell("yes" if allocation == run.schedule.allocation else ""),
            Cell(allocation_text(allocation, space)),
        )
        for place, (fitness, allocation) in enumerate(known, start=1)
    ]
    return table(_FRONT, rows, caption="Pareto front of allocations")


def fitness_cells(fitness: Fitness) -> tuple[Cell, ...]:
    """Latency, energy, EDP and memory."""
    return (
        cells.cycles(fitness.latency),
        cells.energy(fitness.energy),
        edp(fitness.edp),
        cells.capacity(fitness.memory),
    )
