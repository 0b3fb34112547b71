"""Stages that draw figures of the items; they need ``pip install nestmap[plot]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from nestmap.model import Accelerator, EvaluationBatch, Frozen, NetworkEvaluation
from nestmap.pipeline.render.figures.preconditions import check_matplotlib, file_name
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors, part_of

Ending = Literal[".png", ".svg", ".pdf"]


class PlotTemporalMappingsStage(
    Frozen, Stage[Iterable[EvaluationBatch], Iterator[EvaluationBatch]], frozen=True
):
    """Draws all mappings of a stream by energy and latency, with their Pareto front.

    Passes the stream on unchanged and holds two numbers per mapping. At the end of a stream it
    saves the figure in ``folder``, named after the layer. Existing files are not overwritten: the
    next stream of the same layer (another spatial mapping, or a later run) becomes ``layer-2``,
    and so on. For one figure per layer, place the stage after ``FlattenStage``.

    Raises:
        InputError: where matplotlib is not installed, or the folder cannot be written to.
    """

    folder: Path
    ending: Ending = ".png"

    @model_validator(mode="after")
    def _can_draw(self) -> PlotTemporalMappingsStage:
        check_matplotlib()  # now, not after a long search
        return self

    def __call__(self, batches: Iterable[EvaluationBatch], /) -> Iterator[EvaluationBatch]:
        from nestmap.pipeline.analysis.network.scatter import Costs  # noqa: PLC0415
        from nestmap.pipeline.render.figures.image_files import save  # noqa: PLC0415 (takes long)
        from nestmap.pipeline.render.figures.scatter import draw_scatter  # noqa: PLC0415

        costs = Costs()
        for batch in batches:
            costs.observe(batch)
            yield batch
        if found := costs.clouds:
            figure = draw_scatter(found, f"{costs.layer} on {costs.accelerator}")
            with os_errors_as_input_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                path = _claimed(self.folder / file_name(costs.layer), self.ending)
            save(figure, path)


class VisualizationStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Draws figures of a network's evaluation, and passes the evaluation on.

    It saves ``layers``, ``memories``, ``utilization`` and the ``loops`` of each distinct layer in
    ``folder``, overwriting those of an earlier run. If an ``accelerator`` is given, it also saves
    the figures ``accelerator`` and ``roofline``.

    Raises:
        InputError: where matplotlib is not installed, or the folder cannot be written to.
    """

    folder: Path
    ending: Ending = ".png"
    accelerator: Accelerator | None = None

    @model_validator(mode="after")
    def _can_draw(self) -> VisualizationStage:
        check_matplotlib()
        return self

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        from nestmap.pipeline.render.figures.all_figures import network_figures  # noqa: PLC0415
        from nestmap.pipeline.render.figures.image_files import save  # noqa: PLC0415

        with os_errors_as_input_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        for name, figure in network_figures(evaluation, self.accelerator):
            save(figure, self.folder / f"{name}{self.ending}")
        return evaluation


def _claimed(wanted: Path, ending: Ending) -> Path:
    """Reserves a path that no other process writes to, by creating its temporary file."""
    for number in count(1):
        path = wanted.with_name(f"{wanted.name}{'' if number == 1 else f'-{number}'}{ending}")
        if path.exists():
            continue
        try:
            part_of(path).touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():
            return path
        part_of(path).unlink(missing_ok=True)  # another process has just finished that path
    raise AssertionError("unreachable: count is infinite")
