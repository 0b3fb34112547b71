"""``nestmap plot``: draws the charts of a recorded run or sweep."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, final
from uuid import UUID

from nestmap.model import InputError, LayerResult, NetworkEvaluation, NetworkProblem, Objective
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.scatter import clouds
from nestmap.pipeline.analysis.sweep.designs_view import DesignsView
from nestmap.pipeline.cli.options.view import PlotOptions
from nestmap.pipeline.cli.printing import check_target, print_note
from nestmap.pipeline.cli.store_target import is_sweep
from nestmap.pipeline.multicore.api import StreamResult, recorded_stream
from nestmap.pipeline.render.charts import (
    Chart,
    comparison_charts,
    mappings_chart,
    run_charts,
    sweep_charts,
)
from nestmap.pipeline.render.charts.schedule.gantt import gantt_charts
from nestmap.pipeline.render.charts.schedule.schedule_charts import (
    compared_totals,
    search_charts,
    time_charts,
    total_charts,
)
from nestmap.pipeline.render.charts.sweep_parameters import importance_chart, parameters_chart
from nestmap.pipeline.render.svg.accelerator import accelerator_picture
from nestmap.pipeline.render.svg.loops import Picture, loops_picture
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors
from nestmap.pipeline.util.image_files import check_drawing, check_ending
from nestmap.store import RunKind, Store

Drawings: TypeAlias = Mapping[str, Callable[[], Chart | Picture]]
"""What can be drawn, by name; a call raises an ``InputError`` if there is no data for it."""

FOLDER: Final = Path("figures")
"""The default folder for several charts."""

_ENDING: Final = ".png"
_ALL: Final = "all"
_OF_A_LAYER: Final = ("mappings", "loops")


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """A finished run on one core."""

    id: UUID
    network: NetworkProblem
    evaluation: NetworkEvaluation
    objective: Objective

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.network.workload.name


def run_plot(options: PlotOptions) -> None:
    """Draws the charts, and prints their paths.

    Raises:
        NestmapError: if vl-convert is missing, an option is invalid, or a file cannot be written.
    """
    check_drawing()
    if options.output is not None and options.output.suffix and not options.output.is_dir():
        check_ending(options.output)
    with Store.open_read_only(options.store) as store:
        chosen = _chosen(options, *_drawings(options, store))
        _save_all(chosen, _paths(options, list(chosen)), skips=options.what in {None, _ALL})


def _drawings(options: PlotOptions, store: Store) -> tuple[Drawings, Drawings]:
    """What can be drawn of a run or sweep, and of its comparison with another run."""
    if is_sweep(store, options.run):
        _check_no_layer(options, "a sweep")
        if options.against is not None:
            hint = "a sweep is compared with no other"
            raise InputError.conflict("--against", f"the sweep {options.run}", hint)
        return sweep_drawings(read_summary(options.run, store).view), {}
    run = store.find_run(options.run)
    if store.run(run).kind is RunKind.STREAM:
        _check_no_layer(options, "a run on several cores")
        return _stream_drawings(run, options, store)
    return _run_drawings(options, store)


def plot_sweep(view: DesignsView, folder: Path) -> None:
    """Draws the charts of a sweep into a folder; notes say which of them have no data.

    Raises:
        InfeasibleError: if no design is feasible.
        InputError: if a file cannot be written.
    """
    drawings = sweep_drawings(view)
    paths = {name: folder / f"{name}{_ENDING}" for name in drawings}
    _save_all(drawings, paths, skips=True)


def sweep_drawings(view: DesignsView) -> Drawings:
    """The charts of a sweep."""
    charts = _given(sweep_charts(view))
    more: Drawings = {
        "parameters": lambda: parameters_chart(view),
        "importance": lambda: importance_chart(view),
    }
    return {**charts, **more}


def _given(drawn: Iterable[Chart | Picture]) -> dict[str, Callable[[], Chart | Picture]]:
    """What is drawn already, by name."""

    def constant(each: Chart | Picture) -> Callable[[], Chart | Picture]:
        return lambda: each

    return {each.name: constant(each) for each in drawn}


def _check_no_layer(options: PlotOptions, what: str) -> None:
    if options.layer is not None:
        raise InputError.conflict("--layer", what, "use --what alone")


def _stream_drawings(run: UUID, options: PlotOptions, store: Store) -> tuple[Drawings, Drawings]:
    """The charts of a run on several cores, whose schedule is recomputed, and the comparison."""
    found = recorded_stream(run, store)
    schedule = found.schedule
    search = search_charts(store.generations(run), schedule)
    single = _given((*time_charts(schedule), *total_charts(schedule), *search))
    if options.against is None:
        return single, {}
    other = recorded_stream(store.find_run(options.against), store)
    named = [(_stream_name(each), each.schedule) for each in (other, found)]
    return single, _given((*compared_totals(named), *gantt_charts(named)))


def _stream_name(found: StreamResult) -> str:
    """The name of a run: its network, number of nodes, accelerator and id."""
    layers, nodes = len(found.problem.nodes.layers), len(found.problem.nodes)
    split = "layer by layer" if nodes == layers else f"{nodes:,} nodes"
    return f"{found.workload} {split} on {found.accelerator} ({str(found.run)[:8]})"


def _run_drawings(options: PlotOptions, store: Store) -> tuple[Drawings, Drawings]:
    """The charts of a run on one core, and the comparison."""
    run = _read(store, options.run)
    result = _layer(run, options.layer)
    accelerator, evaluation = run.network.accelerator, run.evaluation
    more: Drawings = {
        "mappings": lambda: _mappings(store, run, result),
        "accelerator": lambda: accelerator_picture(accelerator, evaluation),
        "loops": lambda: loops_picture(result.cme, run.name),
    }
    single = {**_given(run_charts(evaluation, accelerator)), **more}
    if options.against is None:
        return single, {}
    runs = (run, _read(store, options.against))
    names = [each.network.accelerator.name for each in runs]
    if runs[0].name != runs[1].name:
        names = [f"{each.name} on {name}" for name, each in zip(names, runs, strict=True)]
    if names[0] == names[1]:
        names = [f"{name} {str(each.id)[:8]}" for name, each in zip(names, runs, strict=True)]
    named = [NamedRun(name, each.evaluation) for name, each in zip(names, runs, strict=True)]
    return single, _given(comparison_charts(named))


def _read(store: Store, text: str) -> _Run:
    run = store.find_run(text)
    return _Run(run, store.problem(run), store.best(run), store.run(run).objective)


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


def _mappings(store: Store, run: _Run, result: LayerResult) -> Chart:
    """All recorded mappings of a layer; equal layers share those of the first one."""
    name = result.cme.layer
    tried = clouds(store.costs(run.id, result.repeats or name))
    if not tried:
        found = f"no recorded mapping of layer {name}"
        raise InputError(f"run {run.id}", found, "a run explored with --record all")
    return mappings_chart("mappings", tried, f"Mappings of {name}", result.cme)


def _chosen(options: PlotOptions, single: Drawings, compared: Drawings) -> Drawings:
    """What to draw: as named; else the comparison if there is another run, else all of the run.

    Raises:
        InputError: if there is none of that name, or another option is for others.
    """
    what, known = options.what, {**single, **compared}
    if what is None or what == _ALL:
        chosen: Drawings = compared if what is None and compared else known
    elif what in known:
        chosen = {what: known[what]}
    else:
        raise InputError(
            f"--what {what}", "no such chart here", f"all or one of {', '.join(known)}"
        )
    if options.against is not None and not chosen.keys() & compared.keys():
        hint = f"use one of {', '.join(compared)}"
        raise InputError.conflict("--against", f"--what {what}", hint)
    if options.layer is not None and not chosen.keys() & set(_OF_A_LAYER):
        hint = f"use --what {', '.join(_OF_A_LAYER)} or all"
        raise InputError.conflict("--layer", f"--what {what}", hint)
    return chosen


def _paths(options: PlotOptions, names: list[str]) -> dict[str, Path]:
    """The path of each chart.

    Raises:
        InputError: if a path cannot be written.
    """
    output, (first, *others) = options.output, names
    if output is None:
        output = FOLDER if others else Path(f"{first}{_ENDING}")
    if output.is_dir() or not output.suffix:
        with os_errors_as_input_errors(output):
            output.mkdir(parents=True, exist_ok=True)
        paths = {name: output / f"{name}{_ENDING}" for name in names}
    elif others:
        raise InputError.conflict(f"--output {output}", f"{len(names)} charts", "give a folder")
    else:
        paths = {first: output}
    for path in paths.values():
        check_target("--output", path, (options.store,))
    return paths


def _save_all(drawings: Drawings, paths: Mapping[str, Path], *, skips: bool) -> None:
    """Writes charts, and prints their paths; ``skips``: a note says which have no data."""
    for name, draw in drawings.items():
        try:
            drawn = draw()
        except InputError as error:
            if not skips:
                raise
            print_note(f"No chart {name}: {error}.")
            continue
        drawn.save(paths[name])
        print_note(f"Written to {paths[name]}.")
