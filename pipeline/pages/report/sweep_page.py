"""The page of a sweep: what was swept, its front as charts and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from markupsafe import Markup

from nestmap.model.design_space.objective import AnyObjective, DesignObjective, ObjectiveFormula
from nestmap.pipeline.pages.report.charts import sweep_charts
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.layout import document
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.summary import EDP_UNIT, Fact, edp
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell, Table
from nestmap.pipeline.sweep.result_table import front_table, heading, notes
from nestmap.pipeline.sweep.summary import SweepSummary

DesignLink = Callable[[int], str]
"""The address of what is known of the design with a number; empty if there is none."""

_NAMES: Final[Mapping[AnyObjective, str]] = {DesignObjective.EDP: "EDP"}


@final
@dataclass(frozen=True, slots=True)
class _SweepView:
    """The template's data for a sweep; without charts and table if no design is feasible."""

    title: str
    facts: tuple[Fact, ...]
    sentences: tuple[str, ...]
    charts: tuple[Chart, ...]
    table: Table | None


def sweep_body(result: SweepSummary, link: DesignLink = lambda _: "") -> Markup:
    """The page of a sweep; numbers of designs link to what is known of them."""
    view = _SweepView(
        title=f"Sweep {result.space.name}",
        facts=tuple(_facts(result)),
        sentences=(*((heading(result),) if result.front else ()), *notes(result)),
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
    yield Fact("On the front", cells.count(len(result.front)))
    yield Fact("Infeasible", cells.count(result.infeasible))
    for objective, best in result.best.items():
        cell, unit = _figure(objective, best.figure(objective) or 0.0)
        name = _NAMES.get(objective, str(objective))
        yield Fact(f"Least {name}", cell, f"{unit}design {best.number}")


def _figure(objective: AnyObjective, value: float) -> tuple[Cell, str]:
    match objective:
        case DesignObjective.ENERGY:
            return cells.energy(value), ""
        case DesignObjective.LATENCY:
            return cells.cycles(value), "cycles, "
        case DesignObjective.EDP:
            return edp(value), f"{EDP_UNIT}, "
        case DesignObjective.AREA | ObjectiveFormula():
            return cells.plain(value), ""
