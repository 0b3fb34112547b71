"""``nestmap plot``: draws figures of a recorded run or sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from nestmap.model import InputError, LayerResult, NetworkEvaluation, NetworkProblem, Objective
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.cli.options.view import Drawing, PlotOptions
from nestmap.pipeline.cli.plot_request import (
    check_against,
    chosen_drawing,
    figure_paths,
    save_figure,
)
from nestmap.pipeline.cli.printing import print_note
from nestmap.pipeline.cli.sweep_or_run import is_sweep
from nestmap.pipeline.render import figures
from nestmap.pipeline.render.figures.preconditions import check_matplotlib
from nestmap.store import RunKind, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """A finished run."""

    id: UUID
    network: NetworkProblem
    evaluation: NetworkEvaluation
    objective: Objective

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.network.workload.name


@final
@dataclass(frozen=True, slots=True)
class _Drawn:
    """The data of a figure; ``result`` is that of the layer of scatter and loops."""

    options: PlotOptions
    store: Store
    run: _Run
    result: LayerResult


def run_plot(options: PlotOptions) -> None:
    """Draws the figures, and prints their paths.

    Raises:
        NestmapError: where matplotlib is missing, an option is invalid, or a file cannot be
            written.
    """
    check_matplotlib()
    with Store.open_read_only(options.store) as store:
        if is_sweep(store, options.run):
            from nestmap.pipeline.cli.recorded_sweep import (  # noqa: PLC0415 (for sweeps alone)
                plot_recorded,
            )

            plot_recorded(options, store)
            return
        run = store.find_run(options.run)
        if store.run(run).kind is RunKind.STREAM:
            from nestmap.pipeline.cli.plot_stream import plot_stream  # noqa: PLC0415 (slow to import)

            plot_stream(options, store, run)
        else:
            _plot(options, store)


def _plot(options: PlotOptions, store: Store) -> None:
    """Draws a run on one core."""
    drawings = _wanted(options)
    paths = figure_paths(options, drawings)
    run = _read(store, options.run)
    drawn = _Drawn(options, store, run, _layer(run, options.layer))
    for drawing in drawings:
        figure = DRAWINGS[drawing](drawn)
        if figure is not None:
            save_figure(figure, paths[drawing])


def _wanted(options: PlotOptions) -> list[Drawing]:
    """The figures to draw."""
    what = chosen_drawing(options)
    if what not in DRAWINGS and what != "all":
        hint = f"use one of {', '.join(DRAWINGS)} or all"
        raise InputError.conflict(f"--what {what}", "a run on one core", hint)
    some: list[Drawing] = [x for x in DRAWINGS if x != "comparison" or options.against]
    if what != "all":
        some = [what]
    check_against(options, some)
    if options.layer is not None and not {"scatter", "loops"} & set(some):
        hint = "use --what scatter, loops or all"
        raise InputError.conflict("--layer", f"--what {what}", hint)
    return some


def _read(store: Store, text: str) -> _Run:
    run = store.find_run(text)
    record = store.run(run)
    return _Run(run, store.problem(run), store.best(run), record.objective)


def _layer(run: _Run, name: str | None) -> LayerResult:
    """The given layer, or the layer with the highest cost in the run's objective."""
    layers = run.evaluation.layers
    if name is None:
        return max(layers, key=lambda result: run.objective.of(result.cme))
    for result in layers:
        if result.cme.layer == name:
            return result
    known = ", ".join(result.cme.layer for result in layers[:20])
    more = f" and {len(layers) - 20} more" if len(layers) > 20 else ""
    raise InputError(f"--layer {name}", "no layer of that name in the run", f"{known}{more}")


def _layers(drawn: _Drawn) -> Figure:
    return figures.layers_figure(drawn.run.evaluation, drawn.run.name)


def _memories(drawn: _Drawn) -> Figure:
    return figures.memories_figure(drawn.run.evaluation, drawn.run.name)


def _utilization(drawn: _Drawn) -> Figure:
    return figures.utilization_figure(drawn.run.evaluation, drawn.run.name)


def _accelerator(drawn: _Drawn) -> Figure:
    run = drawn.run
    return figures.accelerator_figure(run.network.accelerator, run.evaluation)


def _roofline(drawn: _Drawn) -> Figure:
    run = drawn.run
    return figures.roofline_figure(run.evaluation, run.network.accelerator, run.name)


def _loops(drawn: _Drawn) -> Figure:
    return figures.loops_figure(drawn.result.cme, drawn.run.name)


def _scatter(drawn: _Drawn) -> Figure | None:
    """All recorded mappings of a layer; equal layers share those of the first one."""
    result, run = drawn.result, drawn.run.id
    name = result.cme.layer
    batches = drawn.store.evaluations(run, result.repeats or name)
    if not any(map(len, batches)):
        found = f"no recorded mapping of layer {name}"
        if drawn.options.what == "scatter":
            raise InputError(f"run {run}", found, "a run explored with --record all")
        print_note(f"No scatter: run {run} has {found}.")
        return None
    return figures.scatter_figure(batches, f"{drawn.run.name}, {name} on {result.cme.accelerator}")


def _comparison(drawn: _Drawn) -> Figure:
    """Two runs side by side, named by what differs: accelerator, network, or else the id."""
    runs = (drawn.run, _read(drawn.store, drawn.options.against or ""))
    networks = dict.fromkeys(run.name for run in runs)
    names = [run.network.accelerator.name for run in runs]
    if len(networks) > 1:
        names = [f"{run.name} on {name}" for name, run in zip(names, runs, strict=True)]
    if names[0] == names[1]:
        names = [f"{name} {str(run.id)[:8]}" for name, run in zip(names, runs, strict=True)]
    return figures.comparison_figure(
        [NamedRun(name, run.evaluation) for name, run in zip(names, runs, strict=True)],
        " and ".join(networks),
    )


DRAWINGS: Final[Mapping[Drawing, Callable[[_Drawn], Figure | None]]] = MappingProxyType(
    {
        "layers": _layers,
        "memories": _memories,
        "scatter": _scatter,
        "accelerator": _accelerator,
        "loops": _loops,
        "roofline": _roofline,
        "utilization": _utilization,
        "comparison": _comparison,
    }
)
"""The figures of a run on one core; a function returns ``None`` if it has no data."""
