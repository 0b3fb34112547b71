"""The page of a sweep: what was swept, its front as charts and as a table."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, final

from markupsafe import Markup

from nestmap.model import Objective
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.evaluation.objective import DesignQuantity
from nestmap.model.units import AreaUnit
from nestmap.pipeline.analysis.sweep.designs_view import objective_title
from nestmap.pipeline.format.numbers import area_unit
from nestmap.pipeline.pages.report.layout import document
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.summary import Fact
from nestmap.pipeline.render.charts import sweep_charts
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.tables.table import Table
from nestmap.pipeline.sweep.result.result_table import front_table, heading, notes
from nestmap.pipeline.sweep.result.summary import SweepSummary

DesignLink = Callable[[int], str]
"""The address of what is known of the design with a number; empty if there is none."""

SWEEP_ANCHOR: Final = "sweep"
"""The id of a sweep in its page."""


@final
@dataclass(frozen=True, slots=True)
class _SweepView:
    """The template's data for a sweep; without charts and table if no design is feasible."""

    title: str
    facts: tuple[Fact, ...]
    sentences: tuple[str, ...]
    charts: tuple[Chart, ...]
    table: Table | None


def sweep_body(
    result: SweepSummary, link: DesignLink = lambda _: "", more: Iterable[str] = ()
) -> Markup:
    """The page of a sweep; numbers of designs link to what is known of them.

    ``more`` are sentences about what the page leads to.
    """
    view = _SweepView(
        title=f"Sweep {result.space.name}",
        facts=tuple(_facts(result)),
        sentences=(*((heading(result),) if result.front else ()), *notes(result), *more),
        charts=sweep_charts(result.view) if result.front else (),
        table=replace(front_table(result, link), caption="Designs on the Pareto front")
        if result.front
        else None,
    )
    return render("sweep", view)


def sweep_document(result: SweepSummary) -> str:
    """The page of a sweep as one self-contained file."""
    return document(f"Sweep {result.space.name}", sweep_body(result))


def _facts(result: SweepSummary) -> Iterator[Fact]:
    yield Fact("Designs", cells.count(result.designs), f"of {cells.count(result.space.size).text}")
    yield Fact("On the front", cells.count(len({x.number for x in result.front})))
    yield Fact("Infeasible", cells.count(result.infeasible))
    for objective, best in result.best.items():
        fact = objective_fact(objective, best.figure(objective) or 0.0, result.area_unit)
        name = "EDP" if objective is Objective.EDP else str(objective)
        unit = f"{fact.note}, " if fact.note else ""
        how = f" for {best.mapped_for}" if len(result.mapped_for) > 1 else ""
        yield Fact(f"Least {name}", fact.cell, f"{unit}design {best.number}{how}")


def objective_fact(objective: SweepObjective, value: float, unit: AreaUnit | None) -> Fact:
    """The value of an objective, and its unit."""
    name = objective_title(objective)
    match objective:
        case ObjectiveFormula():
            return Fact(name, cells.plain(value))
        case DesignQuantity():
            return Fact(name, cells.plain(value), area_unit(unit))
        case Objective.ENERGY:
            return Fact(name, cells.energy(value))
        case Objective.LATENCY:
            return Fact(name, cells.cycles(value), "cycles")
        case Objective.EDP:
            return Fact(name, cells.edp(value), EDP_UNIT)
