"""``nestmap show --accelerator``: the memories of an accelerator, with what they cost."""

from __future__ import annotations

from nestmap.pipeline.cli.printing import show, show_prose
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.tables.results import memory_costs_note
from nestmap.pipeline.render.text.accelerator import array_facts, memory_table, part_table
from nestmap.pipeline.render.text.plain_table import Line, printable


def show_accelerator(given: str) -> None:
    """Reads the accelerator, prints its memories with their energies and areas.

    Raises:
        InputError: where it cannot be read.
    """
    accelerator = read_accelerator(given)
    show_prose(f"{printable(accelerator.name)}: {array_text(accelerator)}")
    show_prose(array_facts(accelerator))
    show([*part_table(accelerator), Line(), *memory_table(accelerator), Line()])
    show_prose(memory_costs_note(accelerator))
