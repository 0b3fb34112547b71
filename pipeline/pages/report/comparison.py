"""Compares runs: totals, differences in inputs and search, and every layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import CostModelEvaluation
from nestmap.pipeline.explore.accelerator_diff import differences
from nestmap.pipeline.pages.report.provenance import status_text
from nestmap.pipeline.pages.report.render import Links
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.pages.report.stages import options_of
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.tables.table import Cell, Column, Row, Table, number_column, table

_MOST: Final = 6
"""The maximum number of accelerator differences that are listed."""

_MISSING: Final = Cell(cells.NONE)


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Two tables, and the differences in sentences."""

    title: str
    totals: Table
    differences: tuple[str, ...]
    layers: Table


@final
@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The template's data for a comparison; ``times`` are charts over ``latency`` cycles."""

    comparison: Comparison
    charts: tuple[Chart, ...]
    times: tuple[Chart, ...] = ()
    latency: int = 0


def run_names(runs: Sequence[ReportedRun]) -> tuple[str, ...]:
    """The label of each run: its accelerator, and its id if several are equal."""
    names = [run.record.accelerator for run in runs]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{run.record.accelerator} {str(run.id)[:8]}" for run in runs)


def comparison(runs: Sequence[ReportedRun], links: Links) -> Comparison:
    """Compares two or more runs; changes are from the first one."""
    names = run_names(runs)
    return Comparison(
        title=f"{len(runs)} runs compared",
        totals=_totals(runs, names, links),
        differences=tuple(_all_differences(runs, names)),
        layers=_layers(runs, names, links),
    )


def _totals(runs: Sequence[ReportedRun], names: Sequence[str], links: Links) -> Table:
    columns = (
        Column("Run"),
        Column("Workload"),
        Column("Objective"),
        Column("Status"),
        number_column("Energy"),
        number_column("Change"),
        number_column("Latency", "cycles"),
        number_column("Change"),
        number_column("EDP", EDP_UNIT),
        number_column("Change"),
        number_column("MAC util."),
        number_column("Mappings", "evaluated"),
    )
    first = runs[0].evaluation
    rows: list[tuple[Cell, ...]] = []
    for run, name in zip(runs, names, strict=True):
        total = run.evaluation
        rows.append(
            (
                Cell(name, link=links.run(run)),
                *cells.texts(run.record.workload, run.record.objective, status_text(run.record)),
                cells.energy(total.energy),
                cells.change(first.energy, total.energy),
                cells.cycles(total.latency),
                cells.change(first.latency, total.latency),
                cells.edp(total.edp),
                cells.change(first.edp, total.edp),
                cells.share(total.utilization),
                cells.count(total.evaluations),
            )
        )
    return table(columns, rows, caption="Totals; changes are those from the first run")


def _layers(runs: Sequence[ReportedRun], names: Sequence[str], links: Links) -> Table:
    """A row for each layer of any run, matched by name."""
    found = [{x.cme.layer: x.cme for x in run.evaluation.layers} for run in runs]
    layers = dict.fromkeys(name for cmes in found for name in cmes)
    columns = [
        column
        for title, unit in (("Energy", ""), ("Latency", "cycles"))
        for column in _columns(title, unit, names)
    ]
    rows = [
        Row(
            (
                cells.count(place),
                Cell(layer, link=_home(layer, runs, links)),
                *_figures([cmes.get(layer) for cmes in found]),
            )
        )
        for place, layer in enumerate(layers, start=1)
    ]
    return Table(
        "Layers; changes are those from the first run",
        (
            number_column("#"),
            Column("Layer"),
            *columns,
            Column("Mapping", hint="against the first run"),
        ),
        tuple(rows),
        head=1,
    )


def _columns(title: str, unit: str, names: Sequence[str]) -> Iterator[Column]:
    for i, name in enumerate(names):
        yield number_column(f"{title} {name}", unit)
        if i:
            yield number_column(f"{title} change")


def _home(layer: str, runs: Sequence[ReportedRun], links: Links) -> str:
    """A link to the explanation in the first run that has the layer."""
    return next(links.layer(run, layer) for run in runs if layer in run.results)


def _figures(cmes: Sequence[CostModelEvaluation | None]) -> tuple[Cell, ...]:
    """Energies, latencies, their changes, and whether the mappings are equal."""
    first = cmes[0]
    energies = [cells.energy(x.energy) if x else _MISSING for x in cmes]
    latencies = [cells.cycles(x.latency) if x else _MISSING for x in cmes]
    ratios = [
        (cells.change(first.energy, x.energy), cells.change(first.latency, x.latency))
        if first and x
        else (_MISSING, _MISSING)
        for x in cmes
    ]
    return (
        *_between(energies, [ratio[0] for ratio in ratios]),
        *_between(latencies, [ratio[1] for ratio in ratios]),
        Cell(_same(cmes)),
    )


def _between(figures: Sequence[Cell], changes: Sequence[Cell]) -> Iterator[Cell]:
    """The value of the first run, then value and change of each further run."""
    for i, (figure, change) in enumerate(zip(figures, changes, strict=True)):
        yield figure
        if i:
            yield change


def _same(cmes: Sequence[CostModelEvaluation | None]) -> str:
    """Whether all runs map a layer alike; if not, the difference."""
    present = [x for x in cmes if x is not None]
    if len(present) < len(cmes):
        return "not in all runs"
    if len({x.spatial_mapping for x in present}) > 1:
        return "other spatial mapping"
    if len({x.temporal_mapping.order for x in present}) > 1:
        return "other order of loops"
    return "same" if len({x.temporal_mapping for x in present}) == 1 else "other use of memories"


def _all_differences(runs: Sequence[ReportedRun], names: Sequence[str]) -> Iterator[str]:
    first = runs[0]
    for run, name in zip(runs[1:], names[1:], strict=True):
        parts = [*_inputs(first, run), *_options(first, run)]
        yield f"{name}: {'; '.join(parts)}." if parts else f"{name}: same inputs as {names[0]}."


def _inputs(first: ReportedRun, run: ReportedRun) -> Iterator[str]:
    """The differences in inputs."""
    before, after = first.network, run.network
    if before.workload != after.workload:
        yield "another workload, or another version of it"
    if before.constraints != after.constraints:
        yield "other mapping constraints"
    if before.accelerator == after.accelerator:
        return
    found = differences(before.accelerator, after.accelerator)
    yield from map(str, found[:_MOST])
    if len(found) > _MOST:
        yield f"{len(found) - _MOST} more differences of the accelerators"
    if not found:
        yield "an accelerator with other energies, areas or names"


def _options(first: ReportedRun, run: ReportedRun) -> Iterator[str]:
    """The differences in the search and the versions."""
    for what, before, after in (
        ("", first.info.options, run.info.options),
        ("version of ", first.info.versions, run.info.versions),
    ):
        known = {option.name: option.value for option in options_of(before)}
        for option in options_of(after):
            old = known.get(option.name, "none")
            if option.value != old:
                yield f"{what}{option.name} {option.value} instead of {old}"
