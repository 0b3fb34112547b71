"""``nestmap show --accelerator``: cores and their connections, memories with what they cost."""

from nestmap.model import Accelerator
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.pipeline.cli.printing import show, show_prose, show_table
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.render.tables.accelerator import memory_costs_note, memory_table, part_table
from nestmap.pipeline.render.tables.cores import (
    connection_table,
    kind_table,
    kinds_of,
    numbers_text,
)
from nestmap.pipeline.render.text.accelerator import machine_facts
from nestmap.pipeline.render.text.multicore import machine_sentence
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.sweep.space.base_format import names_multicore


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
    show_prose(machine_sentence(machine))
    show([Line(), *table_lines(kind_table(machine))])
    show_table(connection_table(machine))
    for cores in kinds_of(machine):
        if isinstance(cores[0], ComputeCore):
            name = f"Core{'s' * (len(cores) > 1)} {numbers_text(cores)}, {cores[0].name}"
            _show_memories(cores[0].accelerator, name)
    for note in dict.fromkeys(memory_costs_note(x.accelerator) for x in machine.compute_cores):
        show_prose(note)
