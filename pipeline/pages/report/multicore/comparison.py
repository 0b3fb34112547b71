"""Compares schedules, such as layer by layer and fused: totals, and every layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from nestmap.pipeline.pages.report.comparison import Comparison
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream
from nestmap.pipeline.pages.report.provenance import status_text
from nestmap.pipeline.pages.report.stages import options_of
from nestmap.pipeline.pages.report.summary import EDP_UNIT, edp
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.columns import Column, number_column
from nestmap.pipeline.render.tables.table import Cell, Row, Table, table

Link = Callable[[ReportedStream], str]
"""The link to a schedule."""

_MISSING: Final = Cell(NONE)
_TOTALS: Final = (
    Column("Schedule"),
    Column("Workload"),
    Column("Machine"),
    Column("Status"),
    number_column("Nodes"),
    number_column("Latency", "cycles"),
    number_column("Change"),
    number_column("Energy"),
    number_column("Change"),
    number_column("EDP", EDP_UNIT),
    number_column("Change"),
    number_column("Memory", hint="peaks of the memories on the chip, added up"),
    number_column("Change"),
)


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
        totals=_totals(runs, names, link),
        differences=tuple(_differences(runs, names)),
        layers=_layers(runs, names),
    )


def _totals(runs: Sequence[ReportedStream], names: Sequence[str], link: Link) -> Table:
    first = runs[0].fitness
    rows: list[tuple[Cell, ...]] = []
    for run, name in zip(runs, names, strict=True):
        problem, fitness = run.schedule.problem, run.fitness
        status = status_text(run.run.record) if run.run else ""
        rows.append(
            (
                Cell(name, link=link(run)),
                *cells.texts(problem.nodes.name, problem.accelerator.name, status),
                cells.count(len(problem.nodes)),
                cells.cycles(fitness.latency),
                cells.change(first.latency, fitness.latency),
                cells.energy(fitness.energy),
                cells.change(first.energy, fitness.energy),
                edp(fitness.edp),
                cells.change(first.edp, fitness.edp),
                cells.capacity(fitness.memory),
                cells.change(first.memory, fitness.memory),
            )
        )
    return table(_TOTALS, rows, caption="Totals; changes are those from the first schedule")


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
