"""The charts of a schedule, of several, and of the search for one."""

from collections.abc import Iterable, Iterator, Sequence

from nestmap.model.multicore.allocation import Generation
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.search_progress import front_view
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.front import front_chart
from nestmap.pipeline.render.charts.schedule.gantt import gantt_chart
from nestmap.pipeline.render.charts.schedule.totals import (
    energies_chart,
    layers_chart,
    loads_chart,
    sent_charts,
    times_chart,
)
from nestmap.pipeline.render.charts.schedule.utilization import (
    memory_chart,
    overview_chart,
    wire_chart,
)


def time_charts(schedule: Schedule) -> Iterator[Chart]:
    """The charts over time: cores that run, all events, memories in use, channels in use."""
    yield overview_chart(schedule)
    yield gantt_chart(schedule)
    for chart in (memory_chart(schedule), wire_chart(schedule)):
        if chart is not None:
            yield chart


def total_charts(schedule: Schedule) -> Iterator[Chart]:
    """The totals: energy by part and by layer, time of the cores, data sent."""
    yield energies_chart([schedule.problem.nodes.name], [schedule.energy])
    yield layers_chart(schedule)
    yield loads_chart(schedule)
    yield from sent_charts(schedule)


def search_charts(generations: Iterable[Generation], schedule: Schedule) -> Iterator[Chart]:
    """The allocations that a search has found; nothing if none of them could be scheduled."""
    view = front_view(generations)
    if view.allocations:
        yield front_chart(view, schedule.problem.space, schedule.allocation)


def compared_totals(named: Sequence[tuple[str, Schedule]]) -> Iterator[Chart]:
    """Energy and latency of schedules side by side."""
    names = [name for name, _ in named]
    yield energies_chart(names, [schedule.energy for _, schedule in named])
    yield times_chart(named)
