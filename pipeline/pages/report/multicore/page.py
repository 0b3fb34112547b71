"""The pages about schedules: one schedule, comparisons, and the report of several."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from markupsafe import Markup

from nestmap.model.multicore.allocation import Individual
from nestmap.model.multicore.schedule import TransferKind
from nestmap.pipeline.analysis.schedule.energy import energy_bars
from nestmap.pipeline.analysis.schedule.names import allocation_text
from nestmap.pipeline.analysis.schedule.resource_loads import wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import capacity, count, cycles, share, with_micro
from nestmap.pipeline.pages.report.comparison import Comparison, ComparisonView
from nestmap.pipeline.pages.report.layout import Section, comparison_document, document
from nestmap.pipeline.pages.report.multicore.reported_run import RecordedRun, ReportedStream
from nestmap.pipeline.pages.report.provenance import Facts, again, hosted, state_text, status_text
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.stages import Option, StageView, options_of, pipeline_stages
from nestmap.pipeline.pages.report.summary import Fact, Summary, largest
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.gantt import gantt_charts
from nestmap.pipeline.render.charts.schedule.schedule_charts import (
    compared_totals,
    search_charts,
    time_charts,
    total_charts,
)
from nestmap.pipeline.render.charts.schedule.totals import busy_share, load_bars
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT, NONE
from nestmap.pipeline.render.tables.network import parts_table
from nestmap.pipeline.render.tables.schedule import (
    Compared,
    allocation_table,
    channel_table,
    comparison_table,
    core_table,
    energy_table,
    layers_table,
    memory_table,
    nodes_table,
)
from nestmap.pipeline.render.tables.table import Cell, Column, Row, Table, number_column
from nestmap.pipeline.render.text.multicore import bound_note, problem_note

# --- compares schedules, such as layer by layer and fused: totals, and every layer ---

Link = Callable[[ReportedStream], str]
"""The link to a schedule."""

_MISSING: Final = Cell(NONE)


class _Span(NamedTuple):
    """The start and end of a layer in a schedule, and its cores."""

    start: int
    end: int
    cores: str


def stream_names(runs: Sequence[ReportedStream]) -> tuple[str, ...]:
    """The label of each schedule: its split, with accelerator and run if needed."""
    names = [run.splitting for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.schedule.problem.accelerator.name}, {run.splitting}" for run in runs]
    counts = Counter(names)
    return tuple(
        f"{name}, {run.anchor}" if counts[name] > 1 else name
        for name, run in zip(names, runs, strict=True)
    )


def in_page(run: ReportedStream) -> str:
    """The link to a schedule in a page with all of them."""
    return f"#{run.anchor}"


def stream_comparison(runs: Sequence[ReportedStream], link: Link = in_page) -> Comparison:
    """Compares two or more schedules; changes are from the first one."""
    names = stream_names(runs)
    return Comparison(
        title=f"{len(runs)} schedules compared",
        totals=comparison_table(
            [_compared(run, name, link) for run, name in zip(runs, names, strict=True)]
        ),
        differences=tuple(_differences(runs, names)),
        layers=_layers(runs, names),
    )


def _compared(run: ReportedStream, name: str, link: Link) -> Compared:
    problem = run.schedule.problem
    return Compared(
        name=name,
        nodes=len(problem.nodes),
        fitness=run.fitness,
        workload=problem.nodes.name,
        machine=problem.accelerator.name,
        status=status_text(run.run.record) if run.run else "",
        link=link(run),
    )


def _layers(runs: Sequence[ReportedStream], names: Sequence[str]) -> Table:
    """A row for each layer of any schedule, matched by name: times and cores."""
    found = [dict(_spans(run)) for run in runs]
    layers = dict.fromkeys(name for spans in found for name in spans)
    columns = [
        column
        for name in names
        for column in (
            number_column(f"Start {name}", "cycles"),
            number_column(f"End {name}", "cycles"),
            Column(f"Cores {name}"),
        )
    ]
    rows = [
        Row(
            (
                cells.count(place),
                Cell(layer),
                *(cell for spans in found for cell in _cells(spans.get(layer))),
            )
        )
        for place, layer in enumerate(layers, start=1)
    ]
    return Table(
        "Layers: when they run, and on which cores",
        (number_column("#"), Column("Layer"), *columns),
        tuple(rows),
        head=1,
    )


def _spans(run: ReportedStream) -> Iterator[tuple[str, _Span]]:
    schedule, nodes = run.schedule, run.schedule.problem.nodes
    for place, layer in enumerate(nodes.layers):
        here = slice(int(nodes.first_nodes[place]), int(nodes.first_nodes[place + 1]))
        cores = ", ".join(map(str, np.unique(schedule.core[here]).tolist()))
        span = _Span(int(schedule.start[here].min()), int(schedule.end[here].max()), cores)
        yield layer.nest.name, span


def _cells(span: _Span | None) -> tuple[Cell, ...]:
    if span is None:
        return (_MISSING,) * 3
    return cells.cycles(span.start), cells.cycles(span.end), Cell(span.cores)


def _differences(runs: Sequence[ReportedStream], names: Sequence[str]) -> Iterator[str]:
    for run, name in zip(runs[1:], names[1:], strict=True):
        parts = list(_different(runs[0], run))
        yield f"{name}: {'; '.join(parts)}." if parts else f"{name}: same inputs as {names[0]}."


def _different(first: ReportedStream, run: ReportedStream) -> Iterator[str]:
    before, after = first.schedule.problem, run.schedule.problem
    if before.nodes.name != after.nodes.name:
        yield "another workload"
    elif before.nodes.content_hash != after.nodes.content_hash:
        yield f"different split: {run.splitting}, instead of {first.splitting}"
    if before.accelerator != after.accelerator:
        yield "another accelerator"
    if first.run and run.run:
        known = {option.name: option.value for option in options_of(first.run.info.options)}
        for option in options_of(run.run.info.options):
            if known.get(option.name) != option.value and not option.name.startswith("split"):
                yield f"{option.name}: {option.value}, not {known.get(option.name, 'said')}"


# --- summarizes a schedule in words and numbers ---


def stream_summary(run: ReportedStream) -> Summary:
    """The summary of a schedule: energy by component, time of the cores by activity."""
    loads = load_bars(run.schedule)
    return Summary(
        facts=tuple(_facts(run)),
        sentences=tuple(map(with_micro, _sentences(run))),
        energy=energy_table(run.schedule),
        latency=parts_table("Cycles of all cores by activity", "Cycles", loads, cells.cycles),
        notes=tuple(map(with_micro, _notes(run))),
    )


def _facts(run: ReportedStream) -> Iterator[Fact]:
    schedule, fitness = run.schedule, run.fitness
    nodes = schedule.problem.nodes
    cores = len(schedule.problem.accelerator.compute_cores)
    yield Fact("Latency", cells.cycles(schedule.latency), "cycles")
    yield Fact("Energy", cells.energy(fitness.energy))
    yield Fact("EDP", cells.edp(fitness.edp), EDP_UNIT)
    yield Fact("Memory", cells.capacity(fitness.memory), "peaks on the chip, added up")
    yield Fact("Busy", cells.share(busy_share(schedule)), f"{cores} cores, on average")
    yield Fact("Nodes", cells.count(len(schedule.core)), f"{count(len(nodes.layers))} layers")
    yield Fact("Transfers", cells.count(len(schedule.transfers)), _evicted(run))
    if run.generations:
        yield Fact("Allocations", cells.count(run.generations[-1].evaluations), "scheduled")


def _evicted(run: ReportedStream) -> str:
    found = int((run.schedule.transfers.kind == TransferKind.EVICTION).sum())
    return f"{count(found)} of them evictions" if found else "no evictions"


def _sentences(run: ReportedStream) -> Iterator[str]:
    schedule = run.schedule
    yield (
        f"{cycles(schedule.latency)} cycles and {cells.energy(schedule.energy.total).text} for the "
        f"whole network, {run.splitting}."
    )
    energies = energy_bars([""], [schedule.energy])
    if any(energies.totals):
        yield f"Energy goes to {largest(energies)}."
    yield f"The cores: {largest(load_bars(schedule))}."
    yield from _busiest(run)
    yield problem_note(schedule.problem)
    if run.bound is not None:
        yield bound_note(run.bound)


def _busiest(run: ReportedStream) -> Iterator[str]:
    """The busiest channel and the fullest memory."""
    schedule = run.schedule
    wires = wire_loads(schedule)
    if wires and schedule.latency:
        most = wires[0]
        yield f"Busiest wire: {most.wire.name}, {share(most.busy / schedule.latency)} of the time."
    uses = [use for use in memory_uses(schedule) if use.peak and not use.offchip]
    if uses:
        full = max(uses, key=lambda use: use.peak / use.capacity)
        yield (
            f"Fullest memory on the chip: {full.home}, at most {capacity(full.peak)} of "
            f"{capacity(full.capacity)} ({share(full.peak / full.capacity)})."
        )


def _notes(run: ReportedStream) -> Iterator[str]:
    problem = run.schedule.problem
    yield (
        f"Ranges and bits by the {problem.counting.value} counting; candidate rule: "
        f"{problem.options.rule.value}."
    )
    if problem.options.prefetch:
        named = ", ".join(problem.options.prefetch)
        yield f"Sent before anything runs: {named}."


# --- provenance of a run on several cores: inputs, time, host, commands to repeat it ---


def stream_facts(run: ReportedStream) -> Facts:
    """The facts of a run; for a schedule without a recorded run, those of its inputs."""
    known = run.run
    return Facts(
        run=(*(_of_run(known) if known else ()), *_of_search(run)),
        versions=_versions(known) if known else (),
        options=_options(known) if known else (),
        hashes=tuple(_hashes(run)),
        again=tuple(again(known.record, complete=run.complete)) if known else (),
    )


def _of_run(known: RecordedRun) -> Iterator[Option]:
    yield from hosted(known.record)
    yield Option("Objective", known.record.objective.value)
    seed = known.info.seed
    yield Option("Seed", "none: nothing is drawn at random" if seed is None else str(seed))


def _of_search(run: ReportedStream) -> Iterator[Option]:
    schedule = run.schedule
    if run.generations:
        last = run.generations[-1]
        yield Option("Generations", count(last.number + 1))
        yield Option("Allocations scheduled", count(last.evaluations))
        yield Option("Last better front", f"generation {last.improved}")
    yield Option("Allocation", allocation_text(schedule.allocation, schedule.problem.space))


def _versions(known: RecordedRun) -> tuple[Option, ...]:
    return (Option("nestmap", known.info.version), *options_of(known.info.versions))


def _options(known: RecordedRun) -> tuple[Option, ...]:
    return options_of(known.info.options)


def _hashes(run: ReportedStream) -> Iterator[Option]:
    problem = run.schedule.problem
    yield Option(f"Nodes of {problem.nodes.name}", problem.nodes.content_hash)
    yield Option(f"Accelerator {problem.accelerator.name}", problem.accelerator.content_hash)
    if run.run is not None:
        yield Option("Workload", run.run.info.workload.content_hash)
        yield Option("Core mapping", run.run.info.mapping.content_hash)


def unfinished_stream(run: ReportedStream) -> str:
    """A note on an incomplete run; empty for a complete one."""
    if run.complete or run.run is None:
        return ""
    number = run.generations[-1].number if run.generations else 0
    return (
        f"{state_text(run.run.record)} The schedule is the best that it has recorded so far, up to "
        f"generation {count(number)}; it is not its result."
    )


# --- the pages about schedules: one schedule, comparisons, and the report of several ---


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
        allocations=_allocations(run),
        layers=layers_table(schedule),
        nodes=nodes_table(schedule),
        machine=schedule.problem.accelerator.name,
        parts=(core_table(schedule), channel_table(schedule), memory_table(schedule)),
        stages=pipeline_stages(run.run.info.pipeline) if run.run else (),
        facts=stream_facts(run),
    )
    return render("stream", view)


def _allocations(run: ReportedStream) -> Table | None:
    """The allocations on the last front; ``None`` if there was no search."""
    front = run.generations[-1].front if run.generations else ()
    if not any(x.fitness for x in front):
        return None
    reported = Individual(allocation=run.schedule.allocation, fitness=run.fitness)
    return allocation_table(front, run.schedule.problem.space, reported)


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
