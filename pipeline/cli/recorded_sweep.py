"""Sweeps that are recorded: their front, figures and page."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import InputError
from nestmap.pipeline.cli.options.view import PlotOptions
from nestmap.pipeline.cli.plot_request import FOLDER
from nestmap.pipeline.cli.printing import show_text
from nestmap.pipeline.cli.sweep_front import show_front
from nestmap.pipeline.sweep.record.recorded import read_result
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors
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
        expected = f"the number of one of its {len(found.designs):,} designs"
        raise InputError(
            f"--design {number}", f"no such design in the sweep {found.space.name}", expected
        ) from None
    show_text((found.accelerator_yaml(design),))


def plot_recorded(options: PlotOptions, store: Store) -> None:
    """Draws the figures of a sweep into a folder.

    Raises:
        NestmapError: where an option is for runs, or a file cannot be written.
    """
    if options.what not in (None, "all") or options.against or options.layer:
        hint = "a sweep has figures of its own, which are all drawn"
        raise InputError.conflict(f"the sweep {options.run}", "options for runs", hint)
    folder = options.output or FOLDER
    if folder.suffix and not folder.is_dir():
        raise InputError(f"--output {folder}", "a file", "a folder, for the figures of a sweep")
    # matplotlib takes long to import
    from nestmap.pipeline.cli.plot_sweep import plot_sweep  # noqa: PLC0415

    with os_errors_as_input_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    plot_sweep(read_summary(options.run, store).view, folder)
