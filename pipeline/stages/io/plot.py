"""Stages that draw what passes through them; they need ``pip install nestmap[plot]``."""

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
    """All mappings that pass, drawn by energy and latency with the Pareto front.

    Passes everything on unchanged and keeps two numbers of each mapping. When a stream has ended,
    its figure is in ``folder``, named after the layer; a second stream of the same layer (another
    spatial mapping) gets ``layer-2`` and so on, and so does what earlier runs have left there. For
    one figure of a layer stand behind ``FlattenStage``.

    Raises:
        InputError: where matplotlib is not installed, or the folder cannot be written to.
    """

    folder: Path
    ending: Ending = ".png"

    @model_validator(mode="after")
    def _can_draw(self) -> PlotTemporalMappingsStage:
        check_matplotlib()  # now, and not after a long search
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
    """Figures of a network's evaluation: layers, memories, utilization, loops of each layer.

    Passes the evaluation on. The figures are in ``folder``, in place of those of an earlier run:
    ``layers``, ``memories``, ``utilization``, and ``loops`` of each different layer; with the
    ``accelerator``, ``accelerator`` and ``roofline`` as well.

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
    """A path that nobody else writes to: its part exists from now on."""
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
        part_of(path).unlink(missing_ok=True)  # who has just written that path is done with it
    raise AssertionError("numbers have no end")
