"""Stages that draw charts of the items; they need ``pip install nestmap[plot]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from nestmap.model import Accelerator, EvaluationBatch, Frozen, NetworkEvaluation
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors, part_of
from nestmap.pipeline.util.image_files import check_drawing, file_name

Ending = Literal[".png", ".svg", ".pdf"]


class PlotTemporalMappingsStage(
    Frozen, Stage[Iterable[EvaluationBatch], Iterator[EvaluationBatch]], frozen=True
):
    """Draws all mappings of a stream by energy and latency, with their Pareto front.

    Passes the stream on unchanged and holds two numbers per mapping. At the end of a stream it
    saves the chart in ``folder``, named after the layer. Existing files are not overwritten: the
    next stream of the same layer (another spatial mapping, or a later run) becomes ``layer-2``,
    and so on. For one chart per layer, place the stage after ``FlattenStage``.

    Raises:
        InputError: if vl-convert is not installed, or the folder cannot be written to.
    """

    folder: Path
    ending: Ending = ".png"

    @model_validator(mode="after")
    def _can_draw(self) -> PlotTemporalMappingsStage:
        check_drawing()  # now, not after a long search
        return self

    def __call__(self, batches: Iterable[EvaluationBatch], /) -> Iterator[EvaluationBatch]:
        from nestmap.pipeline.analysis.network.scatter import Costs  # noqa: PLC0415
        from nestmap.pipeline.render.charts.mappings import mappings_chart  # noqa: PLC0415 (slow)

        costs = Costs()
        for batch in batches:
            costs.observe(batch)
            yield batch
        if found := costs.clouds:
            title = f"Mappings of {costs.layer} on {costs.accelerator}"
            with os_errors_as_input_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                path = _claimed(self.folder / file_name(costs.layer), self.ending)
            mappings_chart("mappings", found, title).save(path)


class VisualizationStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Draws charts of a network's evaluation, and passes the evaluation on.

    It saves ``energy``, ``latency``, ``memories``, ``utilization`` and the ``loops`` of each
    distinct layer in ``folder``, overwriting those of an earlier run. If an ``accelerator`` is
    given, it also saves ``roofline`` and ``accelerator``.

    Raises:
        InputError: if vl-convert is not installed, or the folder cannot be written to.
    """

    folder: Path
    ending: Ending = ".png"
    accelerator: Accelerator | None = None

    @model_validator(mode="after")
    def _can_draw(self) -> VisualizationStage:
        check_drawing()
        return self

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        from nestmap.pipeline.render.charts.roofline import roofline_chart  # noqa: PLC0415 (slow)
        from nestmap.pipeline.render.charts.run import layer_charts  # noqa: PLC0415
        from nestmap.pipeline.render.svg.accelerator import accelerator_picture  # noqa: PLC0415
        from nestmap.pipeline.render.svg.loops import loops_picture  # noqa: PLC0415

        with os_errors_as_input_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        for chart in layer_charts(evaluation):
            chart.save(self.folder / f"{chart.name}{self.ending}")
        if self.accelerator is not None:
            roofline = roofline_chart(evaluation, self.accelerator)
            roofline.save(self.folder / f"roofline{self.ending}")
            picture = accelerator_picture(self.accelerator, evaluation)
            picture.save(self.folder / f"accelerator{self.ending}")
        taken = Counter[str]()
        for result in evaluation.layers:
            if result.repeats is None:
                name = file_name(result.cme.layer)
                taken[name] += 1
                number = f"-{taken[name]}" if taken[name] > 1 else ""
                path = self.folder / f"loops-{name}{number}{self.ending}"
                loops_picture(result.cme).save(path)
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
