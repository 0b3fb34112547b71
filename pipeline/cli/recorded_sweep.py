"""Sweeps that are recorded: their front, figures and page."""

from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.cli.printing import show_prose, show_table, show_text
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.sweep.record.recorded_summary import read_result, read_summary
from nestmap.pipeline.sweep.result.result_table import front_table, heading, notes
from nestmap.pipeline.sweep.result.summary import SweepSummary
from nestmap.store import Store

# --- prints the front of a sweep, and notes about its other designs ---


def show_front(found: SweepSummary) -> None:
    """Prints the front as a table."""
    if found.front:
        show_prose(printable(heading(found)))
        show_table(front_table(found))
    for note in notes(found):
        show_prose(printable(note))


def show_sweep(name: str, number: int | None, path: Path) -> None:
    """Prints the front of a sweep, or the accelerator of the design with a number.

    Raises:
        NestmapError: where there is no such sweep or design.
    """
    if number is None:
        with Store.open_read_only(path) as store:
            show_front(read_summary(name, store))
        return
    found = read_result(name, path)
    try:
        design = found.design(number)
    except KeyError:
        expected = f"the number of one of its {found.summary.designs:,} designs"
        raise InputError(
            f"--design {number}", f"no such design in the sweep {found.space.name}", expected
        ) from None
    show_text((found.accelerator_yaml(design),))
