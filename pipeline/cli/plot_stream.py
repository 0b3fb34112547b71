"""``nestmap plot`` of a run of several cores: its schedule, and how it was found."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from nestmap.model import InputError
from nestmap.pipeline.cli.plot_request import PlotRequest, save_figure
from nestmap.pipeline.cli.printing import remark
from nestmap.pipeline.multicore.api import StreamResult, recorded_stream
from nestmap.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StreamDrawing(StrEnum):
    """What can be drawn of a run of several cores."""

    SCHEDULE = "schedule"
    MEMORY_USE = "memory-use"
    LINKS = "links"
    DATA = "data"
    ENERGY = "energy"
    FRONT = "front"
    COMPARISON = "comparison"


def plot_stream(request: PlotRequest, store: Store, run: UUID) -> None:
    """Draws a run of several cores: its schedule is made again from what is recorded.

    Raises:
        NestmapError: where something given is not right, the run is not done, or a file cannot be
            written.
    """
    drawings = _wanted(request)
    paths = request.paths(drawings)
    found = recorded_stream(run, store)
    for drawing in drawings:
        figure = _figure(drawing, request, store, found)
        if figure is not None:
            save_figure(figure, paths[drawing])


def _wanted(request: PlotRequest) -> tuple[StreamDrawing, ...]:
    """What to draw."""
    known, what = [str(x) for x in StreamDrawing], request.chosen
    if what not in (*known, "all"):
        expected = f"one of {', '.join(known)} or all"
        raise InputError(f"--what {what}", "a run of several cores", expected)
    every = tuple(x for x in StreamDrawing if x is not StreamDrawing.COMPARISON or request.against)
    some = every if what == "all" else (StreamDrawing(what),)
    request.check_against(some)
    if request.layer is not None:
        raise InputError("--layer", "a run of several cores", "--what alone")
    return some


def _figure(
    drawing: StreamDrawing, request: PlotRequest, store: Store, found: StreamResult
) -> Figure | None:
    """A figure, or nothing where there is nothing to draw and others are wanted too."""
    from nestmap.pipeline.render import figures  # noqa: PLC0415 (matplotlib takes long to import)

    schedule = found.schedule
    ways: dict[StreamDrawing, Callable[[], Figure | None]] = {
        StreamDrawing.SCHEDULE: lambda: figures.schedule_figure(schedule),
        StreamDrawing.MEMORY_USE: lambda: figures.memory_use_figure(schedule),
        StreamDrawing.LINKS: lambda: figures.link_use_figure(schedule),
        StreamDrawing.DATA: lambda: figures.data_sent_figure(schedule),
        StreamDrawing.ENERGY: lambda: figures.schedule_energy_figure(schedule),
        StreamDrawing.FRONT: lambda: _front(request, store, found),
        StreamDrawing.COMPARISON: lambda: _comparison(request, store, found),
    }
    return ways[drawing]()


def _front(request: PlotRequest, store: Store, found: StreamResult) -> Figure | None:
    """The search; none by constraints alone, since that has no generations."""
    from nestmap.pipeline.render.figures import front_figure  # noqa: PLC0415

    generations = store.generations(found.run)
    if not generations:
        nothing = "no generation: the constraints alone have searched"
        if request.what == StreamDrawing.FRONT:
            raise InputError(f"run {found.run}", nothing, "a run with a genetic search")
        remark(f"No front: run {found.run} has {nothing}.")
        return None
    title = f"{found.workload} on {found.accelerator}"
    return front_figure(generations, title, found.best)


def _comparison(request: PlotRequest, store: Store, found: StreamResult) -> Figure:
    """The other run first: what this one is compared with."""
    from nestmap.pipeline.render.figures import NamedSchedule, schedules_figure  # noqa: PLC0415

    other = recorded_stream(store.find_run(request.against or ""), store)
    return schedules_figure([NamedSchedule(_name(run), run.schedule) for run in (other, found)])


def _name(found: StreamResult) -> str:
    """The network, how many nodes it has, the machine, the run."""
    layers, nodes = len(found.problem.nodes.layers), len(found.problem.nodes)
    split = "layer by layer" if nodes == layers else f"{nodes:,} nodes"
    return f"{found.workload} {split} on {found.accelerator} ({str(found.run)[:8]})"
