"""What ``nestmap plot`` is asked, where its figures go, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from nestmap.model import InputError
from nestmap.pipeline.cli.output_checks import check_target
from nestmap.pipeline.cli.printing import remark
from nestmap.pipeline.render.figures.preconditions import ENDINGS, check_ending
from nestmap.pipeline.util.atomic_files import explained

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER: Final = Path("figures")
"""Where several figures go if nothing else is said."""


@final
@dataclass(frozen=True, slots=True)
class PlotRequest:
    """The arguments of the command.

    ``what`` is the name of a drawing or ``all``; without it all of a run, or its comparison with
    the run ``against``. ``layer`` is for those of one layer; ``output`` a file or a folder.
    """

    run: str
    what: str | None
    layer: str | None
    against: str | None
    output: Path | None
    store: Path

    @property
    def chosen(self) -> str:
        """What to draw: as given, else the comparison where there is another run, else all."""
        return self.what or ("all" if self.against is None else "comparison")

    def check_against(self, drawn: Sequence[str]) -> None:
        """Checks that there is another run where the comparison is drawn, and only there.

        Raises:
            InputError: where not.
        """
        if self.against is None and "comparison" in drawn:
            raise InputError("--what comparison", "one run", "another one as well: --against RUN")
        if self.against is not None and "comparison" not in drawn:
            found = f"it beside --what {self.chosen}"
            raise InputError("--against", found, "--what comparison or all")

    def paths(self, drawings: Sequence[str]) -> dict[str, Path]:
        """Where each drawing goes; finds out whether it can be written there.

        Raises:
            InputError: where it cannot.
        """
        output, (first, *others) = self.output, drawings
        if output is None:
            output = FOLDER if others else Path(f"{first}{ENDINGS[0]}")
        if output.is_dir() or not output.suffix:
            with explained(output):
                output.mkdir(parents=True, exist_ok=True)
            paths = {drawing: output / f"{drawing}{ENDINGS[0]}" for drawing in drawings}
        else:
            check_ending(output)
            if others:
                found = f"{len(drawings)} figures"
                raise InputError(f"--output {output}", found, "a folder for them")
            paths = {first: output}
        for path in paths.values():
            check_target("--output", path, (self.store,))
        return paths


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure, and says where it is.

    Raises:
        InputError: where it cannot be written.
    """
    from nestmap.pipeline.render.figures import save  # noqa: PLC0415 (matplotlib takes long to import)

    save(figure, path)
    remark(f"Written to {path}.")
