"""The pages about schedules: one schedule, comparisons, and the report of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from nestmap.pipeline.pages.report.comparison import ComparisonView
from nestmap.pipeline.pages.report.layout import Section, comparison_document, document
from nestmap.pipeline.pages.report.multicore.comparison import (
    Link,
    in_page,
    stream_comparison,
    stream_names,
)
from nestmap.pipeline.pages.report.multicore.provenance import stream_facts, unfinished_stream
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream
from nestmap.pipeline.pages.report.multicore.summary import stream_summary
from nestmap.pipeline.pages.report.multicore.tables import (
    accelerator_tables,
    allocations_table,
    layers_table,
    nodes_table,
)
from nestmap.pipeline.pages.report.provenance import Facts
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.stages import StageView, pipeline_stages
from nestmap.pipeline.pages.report.summary import Summary
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.gantt import gantt_charts
from nestmap.pipeline.render.charts.schedule.schedule_charts import (
    compared_totals,
    search_charts,
    time_charts,
    total_charts,
)
from nestmap.pipeline.render.tables.table import Table


@final
@dataclass(frozen=True, slots=True)
class _StreamView:
    """The template's data for a schedule; ``times`` are charts over its time."""

    anchor: str
    title: str
    unfinished: str
    latency: int
    summary: Summary
    times: tuple[Chart, ...]
    charts: tuple[Chart, ...]
    search: tuple[Chart, ...]
    allocations: Table | None
    layers: Table
    nodes: Table
    machine: str
    parts: tuple[Table, ...]
    stages: tuple[StageView, ...]
    facts: Facts


def stream_body(run: ReportedStream) -> Markup:
    """A schedule and the search for it."""
    schedule = run.schedule
    view = _StreamView(
        anchor=run.anchor,
        title=run.title,
        unfinished=unfinished_stream(run),
        latency=schedule.latency,
        summary=stream_summary(run),
        times=tuple(time_charts(schedule)),
        charts=tuple(total_charts(schedule)),
        search=tuple(search_charts(run.generations, schedule)),
        allocations=allocations_table(run),
        layers=layers_table(schedule),
        nodes=nodes_table(schedule),
        machine=schedule.problem.accelerator.name,
        parts=tuple(accelerator_tables(schedule)),
        stages=pipeline_stages(run.run.info.pipeline) if run.run else (),
        facts=stream_facts(run),
    )
    return render("stream", view)


def stream_comparison_body(runs: Sequence[ReportedStream], link: Link = in_page) -> Markup:
    """The comparison of schedules; changes are from the first one."""
    names = stream_names(runs)
    schedules = [(name, run.schedule) for name, run in zip(names, runs, strict=True)]
    view = ComparisonView(
        stream_comparison(runs, link),
        charts=tuple(compared_totals(schedules)),
        times=gantt_charts(schedules),
        latency=max(schedule.latency for _, schedule in schedules),
    )
    return render("comparison", view)


def stream_report(runs: Sequence[ReportedStream]) -> str:
    """One self-contained page about schedules on several cores."""
    bodies = [stream_body(run) for run in runs]
    if len(runs) == 1:
        return document(runs[0].title, bodies[0])
    sections = map(Section, [run.anchor for run in runs], stream_names(runs), bodies)
    title = f"{len(runs)} schedules compared"
    return comparison_document(title, stream_comparison_body(runs), tuple(sections))
