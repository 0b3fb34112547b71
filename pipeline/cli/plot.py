"""``nestmap plot``: figures of a run, drawn from what the store has of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, final
from uuid import UUID

from nestmap.model import InputError, LayerResult, NetworkEvaluation, NetworkProblem, Objective
from nestmap.pipeline.cli.plot_request import PlotRequest, save_figure
from nestmap.pipeline.cli.printing import remark
from nestmap.pipeline.render.figures.preconditions import check_matplotlib
from nestmap.store import RunKind, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    with Store.open_read_only(request.store) as store:
        run = store.find_run(request.run)
        if store.run(run).kind is RunKind.STREAM:
            from nestmap.pipeline.cli.plot_stream import plot_stream  # noqa: PLC0415 (imports much)

            plot_stream(request, store, run)
        else:
            _plot(request, store)


def _plot(request: PlotRequest, store: Store) -> None:
    """Draws a run of one core."""
    drawings = _wanted(request)
    paths = request.paths(drawings)
    run = _read(store, request.run)
    result = _layer(run, request.layer)
    for drawing in drawings:
        figure = _figure(drawing, request, store, run, result)
        if figure is not None:
            save_figure(figure, paths[drawing])


def _wanted(request: PlotRequest) -> tuple[Drawing, ...]:
    """What to draw."""
    what, known = request.chosen, [str(x) for x in Drawing]
    if what not in (*known, "all"):
        expected = f"one of {', '.join(known)} or all"
        raise InputError(f"--what {what}", "a run of one core", expected)
    every = tuple(x for x in Drawing if x is not Drawing.COMPARISON or request.against)
    some = every if what == "all" else (Drawing(what),)
    request.check_against(some)
    if request.layer is not None and not {Drawing.SCATTER, Drawing.LOOPS} & set(some):
        raise InputError("--layer", f"it beside --what {what}", "--what scatter, loops or all")
    return some


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
    from nestmap.pipeline.render import figures  # noqa: PLC0415 (matplotlib takes long to import)

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
    from nestmap.pipeline.render.figures import scatter_figure  # noqa: PLC0415

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
    from nestmap.pipeline.analysis.network.run_comparison import NamedRun  # noqa: PLC0415
    from nestmap.pipeline.render.figures import comparison_figure  # noqa: PLC0415

    runs = (first, second)
    names = [run.network.accelerator.name for run in runs]
    if names[0] == names[1]:
        names = [f"{name} {str(run.id)[:8]}" for name, run in zip(names, runs, strict=True)]
    return comparison_figure(
        [NamedRun(name, run.evaluation) for name, run in zip(names, runs, strict=True)]
    )
