"""``nestmap show --accelerator``: cores and their connections, memories with what they cost."""

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.model import Accelerator
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore, Core, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.interconnect import Channel, Interconnect
from nestmap.pipeline.cli.printing import show, show_prose, show_table
from nestmap.pipeline.format.mappings import array_text, core_ranges
from nestmap.pipeline.format.numbers import capacity, count
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.render.tables.accelerator import memory_costs_note, memory_table, part_table
from nestmap.pipeline.render.tables.table import Column, number_column, table
from nestmap.pipeline.render.text.accelerator import machine_facts
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.sweep.space.base_format import names_multicore

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


def show_accelerator(given: str) -> None:
    """Reads the accelerator, prints its memories with their energies and areas.

    Of several cores, prints a row for each kind of core and each channel, then the memories.

    Raises:
        InputError: where it cannot be read.
    """
    if names_multicore(given):
        _show_cores(read_multicore(given))
        return
    accelerator = read_accelerator(given)
    _show_memories(accelerator, accelerator.name)
    show_prose(memory_costs_note(accelerator))


def _show_memories(accelerator: Accelerator, name: str) -> None:
    show_prose(f"{printable(name)}: {array_text(accelerator)}")
    show_prose(" ".join(machine_facts(accelerator)))
    if accelerator.array.imc is not None:
        show([Line(), *table_lines(part_table(accelerator))])
    show_table(memory_table(accelerator))


def _show_cores(machine: MultiCoreAccelerator) -> None:
    show_prose(
        f"{printable(machine.name)}: {count(len(machine.cores))} cores, of which "
        f"{count(len(machine.compute_cores))} compute; core {machine.offchip} is off the chip."
    )
    kinds: dict[Core, list[Core]] = {}
    for core in machine.cores:
        kinds.setdefault(copy_with(core, {"id": 0, "coordinates": None}), []).append(core)
    rows = [(_numbers(cores), *_row(core)) for core, cores in kinds.items()]
    show_table(table(_CORES, rows))
    show([*table_lines(table(_CHANNELS, [*_channels(machine)])), Line()])
    for cores in kinds.values():
        if isinstance(cores[0], ComputeCore):
            name = f"Core{'s' * (len(cores) > 1)} {_numbers(cores)}, {cores[0].name}"
            _show_memories(cores[0].accelerator, name)
    for note in dict.fromkeys(memory_costs_note(x.accelerator) for x in machine.compute_cores):
        show_prose(note)


def _numbers(cores: Sequence[Core]) -> str:
    return core_ranges(", ".join(str(core.id) for core in cores)).replace("\u2013", "-")


def _row(core: Core) -> tuple[str, ...]:
    """What the table shows of a core."""
    tops = {level.name: level for level in core.top_levels.values()}.values()
    held = ", ".join(f"{x.name} {capacity(x.instance.size)}" for x in tops)
    if isinstance(core, StorageCore):
        return core.name, "memory only", "", held
    left = len(core.operators) - _MOST_OPERATORS
    runs = ", ".join(core.operators[:_MOST_OPERATORS]) or "all that fit"
    more = f" and {count(left)} more" if left > 0 else ""
    return core.name, array_text(core.accelerator), runs + more, held


def _channels(machine: MultiCoreAccelerator) -> Iterator[tuple[str, ...]]:
    """A row for each channel; the two directions of equal links are one."""
    left = [(x.name, *_costs(x)) for x in Interconnect(accelerator=machine).channels]
    while left:
        name, *costs = left.pop(0)
        sender, _, receiver = name.partition(" -> ")
        back = (f"{receiver} -> {sender}", *costs)
        if back in left:
            left.remove(back)
            name = f"{sender} <-> {receiver}"
        yield name, *costs


def _costs(channel: Channel) -> tuple[str, ...]:
    bandwidth = "no limit" if channel.bandwidth is None else count(channel.bandwidth)
    return bandwidth, f"{channel.energy_per_bit:.4g}", f"{channel.energy_per_cycle:.4g}"
