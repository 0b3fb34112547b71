"""The tables of several cores: each kind of core, and what connects them."""

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import Core, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.pipeline.format.mappings import array_text, core_ranges
from nestmap.pipeline.format.numbers import capacity, count
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell, Column, Table, number_column, table

_CORES: Final = (
    Column("Cores"),
    Column("Name"),
    Column("Array"),
    Column("Runs"),
    Column("Outermost memories"),
)
_CHANNELS: Final = (
    Column("Channel"),
    number_column("Bandwidth", "bit/cycle"),
    number_column("Energy", "pJ/bit"),
    number_column("Energy", "pJ/busy cycle"),
)
_MOST_OPERATORS: Final = 4


def kind_table(machine: MultiCoreAccelerator) -> Table:
    """A row for each kind of core, with the numbers of its cores."""
    rows = [(numbers_text(cores), *_kind(cores[0])) for cores in kinds_of(machine)]
    return table(_CORES, rows, caption=f"Cores of {machine.name}")


def kinds_of(machine: MultiCoreAccelerator) -> list[list[Core]]:
    """The cores, those that differ in number and place alone together."""
    kinds: dict[Core, list[Core]] = {}
    for core in machine.cores:
        kinds.setdefault(copy_with(core, {"id": 0, "coordinates": None}), []).append(core)
    return list(kinds.values())


def numbers_text(cores: Sequence[Core]) -> str:
    """The numbers of cores, consecutive ones as a range: ``0-3, 5``."""
    return core_ranges(", ".join(str(core.id) for core in cores)).replace("\u2013", "-")


def _kind(core: Core) -> tuple[str, ...]:
    tops = {level.name: level for level in core.top_levels.values()}.values()
    held = ", ".join(f"{x.name} {capacity(x.instance.size)}" for x in tops)
    if isinstance(core, StorageCore):
        return core.name, "memory only", "", held
    left = len(core.operators) - _MOST_OPERATORS
    runs = ", ".join(core.operators[:_MOST_OPERATORS]) or "all that fit"
    more = f" and {count(left)} more" if left > 0 else ""
    return core.name, array_text(core.accelerator), runs + more, held


def connection_table(machine: MultiCoreAccelerator) -> Table:
    """A row for each channel; the two directions of equal links are one."""
    caption = f"Links and buses of {machine.name}"
    return table(_CHANNELS, _connections(machine), caption=caption)


def _connections(machine: MultiCoreAccelerator) -> Iterator[tuple[Cell, ...]]:
    left = {
        x.name: (
            Cell("no limit") if x.bandwidth is None else cells.count(x.bandwidth),
            cells.plain(x.energy_per_bit),
            cells.plain(x.energy_per_cycle),
        )
        for x in Interconnect(accelerator=machine).channels
    }
    while left:
        name = next(iter(left))
        costs = left.pop(name)
        sender, _, receiver = name.partition(" -> ")
        back = f"{receiver} -> {sender}"
        if left.get(back) == costs:
            del left[back]
            name = f"{sender} <-> {receiver}"
        yield Cell(name), *costs
