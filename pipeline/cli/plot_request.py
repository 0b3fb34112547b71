"""The figures that ``nestmap plot`` draws, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nestmap.model import InputError
from nestmap.pipeline.cli.options.view import Drawing, PlotOptions
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import print_note
from nestmap.pipeline.render.figures.preconditions import ENDINGS, check_ending
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER: Final = Path("figures")
"""The default folder for several figures."""


def chosen_drawing(options: PlotOptions) -> Drawing:
    """The figure to draw: as given, else the comparison if there is another run, else all."""
    return options.what or ("all" if options.against is None else "comparison")


def check_against(options: PlotOptions, drawn: Sequence[Drawing]) -> None:
    """Checks that there is another run if, and only if, the comparison is drawn.

    Raises:
        InputError: where one is given without the other.
    """
    if options.against is None and "comparison" in drawn:
        raise InputError("--what comparison", "one run", "a second one: --against RUN")
    if options.against is not None and "comparison" not in drawn:
        hint = "use --what comparison or all"
        raise InputError.conflict("--against", f"--what {chosen_drawing(options)}", hint)


def figure_paths(options: PlotOptions, drawings: Sequence[Drawing]) -> dict[Drawing, Path]:
    """The path of each figure, after checking that it can be written.

    Raises:
        InputError: where a path cannot be written.
    """
    paths = _paths(options.output, drawings)
    for path in paths.values():
        check_target("--output", path, (options.store,))
    return paths


def _paths(output: Path | None, drawings: Sequence[Drawing]) -> dict[Drawing, Path]:
    first, *others = drawings
    if output is None:
        output = FOLDER if others else Path(f"{first}{ENDINGS[0]}")
    if output.is_dir() or not output.suffix:
        with os_errors_as_input_errors(output):
            output.mkdir(parents=True, exist_ok=True)
        return {drawing: output / f"{drawing}{ENDINGS[0]}" for drawing in drawings}
    check_ending(output)
    if others:
        hint = "give a folder"
        raise InputError.conflict(f"--output {output}", f"{len(drawings)} figures", hint)
    return {first: output}


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure, and prints its path.

    Raises:
        InputError: where the file cannot be written.
    """
    from nestmap.pipeline.render.figures import save  # noqa: PLC0415 (matplotlib takes long to import)

    save(figure, path)
    print_note(f"Written to {path}.")
