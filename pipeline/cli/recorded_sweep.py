"""Sweeps that are recorded: their front, figures and page."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.cli.printing import show_text
from nestmap.pipeline.cli.sweep_front import show_front
from nestmap.pipeline.sweep.record.recorded import read_result
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.store import Store


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
