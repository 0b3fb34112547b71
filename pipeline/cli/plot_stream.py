"""``nestmap plot`` for a run on several cores: its schedule, and the search for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from nestmap.model import InputError
from nestmap.pipeline.cli.options.view import Drawing, PlotOptions
from nestmap.pipeline.cli.plot_request import (
    check_against,
    chosen_drawing,
    figure_paths,
    save_figure,
)
from nestmap.pipeline.cli.printing import print_note
from nestmap.pipeline.multicore.api import StreamResult, recorded_stream
from nestmap.pipeline.render import figures
from nestmap.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class _Drawn:
    """The data of a figure."""

    options: PlotOptions
    store: Store
    found: StreamResult


def plot_stream(options: PlotOptions, store: Store, run: UUID) -> None:
    """Draws a run on several cores; its schedule is recomputed from the recorded allocation.

    Raises:
        NestmapError: where an option is invalid, the run is not done, or a file cannot be written.
    """
    drawings = _wanted(options)
    paths = figure_paths(options, drawings)
    drawn = _Drawn(options, store, recorded_stream(run, store))
    for drawing in drawings:
        figure = DRAWINGS[drawing](drawn)
        if figure is not None:
            save_figure(figure, paths[drawing])


def _wanted(options: PlotOptions) -> list[Drawing]:
    """The figures to draw."""
    what = chosen_drawing(options)
    if what not in DRAWINGS and what != "all":
        hint = f"use one of {', '.join(DRAWINGS)} or all"
        raise InputError.conflict(f"--what {what}", "a run on several cores", hint)
    some: list[Drawing] = [x for x in DRAWINGS if x != "comparison" or options.against]
    if what != "all":
        some = [what]
    check_against(options, some)
    if options.layer is not None:
        raise InputError.conflict("--layer", "a run on several cores", "use --what alone")
    return some


def _schedule(drawn: _Drawn) -> Figure:
    return figures.schedule_figure(drawn.found.schedule)


def _memory_use(drawn: _Drawn) -> Figure:
    return figures.memory_use_figure(drawn.found.schedule)


def _links(drawn: _Drawn) -> Figure:
    return figures.link_use_figure(drawn.found.schedule)


def _data(drawn: _Drawn) -> Figure:
    return figures.data_sent_figure(drawn.found.schedule)


def _energy(drawn: _Drawn) -> Figure:
    return figures.schedule_energy_figure(drawn.found.schedule)


def _front(drawn: _Drawn) -> Figure | None:
    """The search; ``None`` for constraint programming alone, which has no generations."""
    found = drawn.found
    generations = drawn.store.generations(found.run)
    if not generations:
        nothing = "no generations: its engine is constraint programming alone"
        if drawn.options.what == "front":
            raise InputError(f"run {found.run}", nothing, "a run with a genetic search")
        print_note(f"No front: run {found.run} has {nothing}.")
        return None
    title = f"{found.workload} on {found.accelerator}"
    return figures.front_figure(generations, title, found.best)


def _comparison(drawn: _Drawn) -> Figure:
    """A comparison, with the other run first, as the reference."""
    store = drawn.store
    other = recorded_stream(store.find_run(drawn.options.against or ""), store)
    runs = (other, drawn.found)
    return figures.schedules_figure(
        [figures.NamedSchedule(_name(run), run.schedule) for run in runs]
    )


DRAWINGS: Final[Mapping[Drawing, Callable[[_Drawn], Figure | None]]] = MappingProxyType(
    {
        "schedule": _schedule,
        "memory-use": _memory_use,
        "links": _links,
        "data": _data,
        "energy": _energy,
        "front": _front,
        "comparison": _comparison,
    }
)
"""The figures of a run on several cores; a function returns ``None`` if it has no data."""


def _name(found: StreamResult) -> str:
    """The name of a run: its network, number of nodes, accelerator and id."""
    layers, nodes = len(found.problem.nodes.layers), len(found.problem.nodes)
    split = "layer by layer" if nodes == layers else f"{nodes:,} nodes"
    return f"{found.workload} {split} on {found.accelerator} ({str(found.run)[:8]})"
