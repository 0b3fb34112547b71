"""``nestmap plot``: figures of a run, drawn from what the store has of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from nestmap.model import InputError, LayerResult, NetworkEvaluation, NetworkProblem, Objective
from nestmap.pipeline.cli.output import remark
from nestmap.pipeline.cli.targets import check_target
from nestmap.pipeline.figures.needs import ENDINGS, check_ending, check_matplotlib
from nestmap.pipeline.files import explained
from nestmap.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER: Final = Path("figures")
"""Where several figures go if nothing else is said."""


class Drawing(StrEnum):
    """What can be drawn."""

    LAYERS = "layers"
    MEMORIES = "memories"
    SCATTER = "scatter"
    ACCELERATOR = "accelerator"
    LOOPS = "loops"
    ROOFLINE = "roofline"
    UTILIZATION = "utilization"
    COMPARISON = "comparison"


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


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """A finished run."""

    id: UUID
    network: NetworkProblem
    evaluation: NetworkEvaluation
    objective: Objective


def run_plot(request: PlotRequest) -> None:
    """Draws, and says where the figures are.

    Raises:
        NestmapError: where matplotlib is missing, something given is not right, or a file cannot
            be written.
    """
    check_matplotlib()
    drawings = _wanted(request)
    paths = _paths(request, drawings)
    with Store.open_read_only(request.store) as store:
        run = _read(store, request.run)
        result = _layer(run, request.layer)
        for drawing in drawings:
            figure = _figure(drawing, request, store, run, result)
            if figure is not None:
                _save(figure, paths[drawing])


def _wanted(request: PlotRequest) -> tuple[Drawing, ...]:
    """What to draw."""
    what = request.what or ("all" if request.against is None else Drawing.COMPARISON.value)
    if what == "all":
        some = tuple(x for x in Drawing if x is not Drawing.COMPARISON or request.against)
    else:
        some = (Drawing(what),)
    if request.against is None and Drawing.COMPARISON in some:
        raise InputError("--what comparison", "one run", "another one as well: --against RUN")
    if request.against is not None and Drawing.COMPARISON not in some:
        raise InputError("--against", f"it beside --what {what}", "--what comparison or all")
    if request.layer is not None and not {Drawing.SCATTER, Drawing.LOOPS} & set(some):
        raise InputError("--layer", f"it beside --what {what}", "--what scatter, loops or all")
    return some


def _paths(request: PlotRequest, drawings: tuple[Drawing, ...]) -> dict[Drawing, Path]:
    """Where each drawing goes; finds out whether it can be written there."""
    output, (first, *others) = request.output, drawings
    if output is None:
        output = FOLDER if others else Path(f"{first}{ENDINGS[0]}")
    if output.is_dir() or not output.suffix:
        with explained(output):
            output.mkdir(parents=True, exist_ok=True)
        paths = {drawing: output / f"{drawing}{ENDINGS[0]}" for drawing in drawings}
    else:
        check_ending(output)
        if others:
            raise InputError(f"--output {output}", f"{len(drawings)} figures", "a folder for them")
        paths = {first: output}
    for path in paths.values():
        check_target("--output", path, (request.store,))
    return paths


def _read(store: Store, text: str) -> _Run:
    run = store.find_run(text)
    record = store.run(run)
    return _Run(run, store.problem(run), store.best(run), record.objective)


def _layer(run: _Run, name: str | None) -> LayerResult:
    """The layer that was asked for, or the one that costs most of the run's objective."""
    layers = run.evaluation.layers
    if name is None:
        return max(layers, key=lambda result: run.objective.of(result.cme))
    for result in layers:
        if result.cme.layer == name:
            return result
    known = ", ".join(result.cme.layer for result in layers[:20])
    more = f" and {len(layers) - 20} more" if len(layers) > 20 else ""
    raise InputError(f"--layer {name}", "no layer of that name in the run", f"{known}{more}")


def _figure(
    drawing: Drawing, request: PlotRequest, store: Store, run: _Run, result: LayerResult
) -> Figure | None:
    """A figure, or nothing where there is nothing to draw and others are wanted too."""
    match drawing:
        case Drawing.SCATTER:
            return _scatter(request, store, run, result)
        case Drawing.COMPARISON:
            return _comparison(run, _read(store, request.against or ""))
        case _:
            return _of_run(drawing, run, result)


def _of_run(drawing: Drawing, run: _Run, result: LayerResult) -> Figure:
    """A figure of the results of a run."""
    from nestmap.pipeline import figures  # noqa: PLC0415 (matplotlib takes long to import)

    evaluation, accelerator = run.evaluation, run.network.accelerator
    ways: dict[Drawing, Callable[[], Figure]] = {
        Drawing.LAYERS: lambda: figures.layers_figure(evaluation),
        Drawing.MEMORIES: lambda: figures.memories_figure(evaluation),
        Drawing.UTILIZATION: lambda: figures.utilization_figure(evaluation),
        Drawing.ACCELERATOR: lambda: figures.accelerator_figure(accelerator),
        Drawing.ROOFLINE: lambda: figures.roofline_figure(evaluation, accelerator),
        Drawing.LOOPS: lambda: figures.loops_figure(result.cme),
    }
    return ways[drawing]()


def _scatter(request: PlotRequest, store: Store, run: _Run, result: LayerResult) -> Figure | None:
    """All recorded mappings of a layer; of equal layers those of the first are recorded."""
    from nestmap.pipeline.figures import scatter_figure  # noqa: PLC0415

    name = result.cme.layer
    batches = store.evaluations(run.id, result.repeats or name)
    if not any(map(len, batches)):
        found = f"no recorded mapping of layer {name}"
        if request.what == Drawing.SCATTER:
            raise InputError(f"run {run.id}", found, "a run explored with --record all")
        remark(f"No scatter: run {run.id} has {found}.")
        return None
    return scatter_figure(batches, f"{name} on {result.cme.accelerator}")


def _comparison(first: _Run, second: _Run) -> Figure:
    """Two runs side by side, named by accelerator, and by id where that is the same."""
    from nestmap.pipeline.figures import NamedRun, comparison_figure  # noqa: PLC0415

    runs = (first, second)
    names = [run.network.accelerator.name for run in runs]
    if names[0] == names[1]:
        names = [f"{name} {str(run.id)[:8]}" for name, run in zip(names, runs, strict=True)]
    return comparison_figure(
        [NamedRun(name, run.evaluation) for name, run in zip(names, runs, strict=True)]
    )


def _save(figure: Figure, path: Path) -> None:
    from nestmap.pipeline.figures import save  # noqa: PLC0415

    save(figure, path)
    remark(f"Written to {path}.")
