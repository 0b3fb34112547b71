"""The front of a sweep as a table."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from nestmap.model import Objective
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import ObjectiveFormula
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Aggregate
from nestmap.pipeline.format.numbers import area_unit, count, gap_text
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Align, Cell, Column, Table, number_column, table
from nestmap.pipeline.sweep.result.summary import SweepSummary

MOST_REASONS = 3
"""How many reasons of designs without figures are told."""


def front_table(result: SweepSummary, link: Callable[[int], str] = lambda _: "") -> Table:
    """A row for each point on the front: design, parameters, what it is mapped for, and figures.

    ``link`` gives the address of what is known of the design with a number.
    """
    first = result.front[0].parameters if result.front else ()
    parameters = [
        Column(name, align=Align.LEFT if isinstance(value, str | bool) else Align.RIGHT)
        for name, value in first
    ]
    goals = result.space.objectives
    figures = [number_column("Energy"), number_column("Latency", "cycles")]
    edp = [number_column("EDP", "pJ x cycles")] if Objective.EDP in goals else []
    others = [number_column(str(x)) for x in goals if isinstance(x, ObjectiveFormula)]
    gaps = [number_column("Gap")] if any(x.gap for x in result.front) else []
    mapped = [Column(_how(result))] if len(result.mapped_for) > 1 else []
    design = [number_column("Design"), *parameters, *mapped]
    columns = [*design, *figures, *edp, number_column("Area", area_unit(result.area_unit)), *others]
    rows = [(*_cells(result, x, link), *(cells.gap(x.gap) for _ in gaps)) for x in result.front]
    return table([*columns, *gaps], rows)


def _how(result: SweepSummary) -> str:
    return "Scheduled for" if result.is_scheduled else "Mapped for"


def _cells(
    result: SweepSummary, design: DesignResult, link: Callable[[int], str]
) -> Iterator[Cell]:
    goals = result.space.objectives
    yield replace(cells.count(design.number), link=link(design.number))
    yield from (_value(value) for _, value in design.parameters)
    if len(result.mapped_for) > 1:
        yield Cell(design.mapped_for.value)
    yield cells.energy(design.energy or 0)
    yield cells.cycles(design.latency or 0)
    if Objective.EDP in goals:
        yield cells.plain(design.edp or 0)
    yield cells.plain(design.area or 0)
    for goal in goals:
        if isinstance(goal, ObjectiveFormula):
            yield cells.plain(design.figure(goal) or 0)


def _value(value: Value) -> Cell:
    """A parameter as designs are named by it; texts have no exact value."""
    return Cell(str(value), "" if isinstance(value, str | bool) else repr(value))


def heading(result: SweepSummary) -> str:
    """What the table shows."""
    goals = ", ".join(map(str, result.space.objectives))
    networks = "; ".join(
        x.name if x.weight == 1 else f"{x.weight:g} x {x.name}" for x in result.space.networks
    )
    of = "the worst of " if result.space.aggregate is Aggregate.WORST else ""
    return f"{result.space.name}: the designs with the lowest {goals} for {of}{networks}"


def notes(result: SweepSummary) -> Iterator[str]:
    """How many designs there are, on the front and without figures, and why."""
    designs = f"{count(result.designs)} design{'s' * (result.designs != 1)}"
    of = "" if result.designs == result.space.size else f" of {count(result.space.size)}"
    how = "network is scheduled" if result.is_scheduled else "layer is mapped"
    best = len({x.number for x in result.front})
    points = f" with {count(len(result.front))} points" if len(result.front) > best else ""
    turn = " in turn" if len(result.mapped_for) > 1 else ""
    yield (
        f"{designs}{of} explored, {count(best)} on the front{points}; each {how} for "
        f"{', '.join(result.mapped_for)}{turn}."
    )
    if result.unproven:
        are = "is" if result.unproven == 1 else "are"
        yield (
            f"{count(result.unproven)} {are} not proven: the optimum of a network is at most "
            f"{gap_text(result.gap)} lower."
        )
    if result.rejected:
        yield f"{count(result.rejected)} more do not meet the constraints."
    if result.reasons:
        yield f"{count(result.infeasible)} have no figures:"
    for reason in result.reasons[:MOST_REASONS]:
        more = f" and {count(reason.designs - 1)} more" if reason.designs > 1 else ""
        yield f"  design {count(reason.first)}{more}: {reason.text}"
    if len(result.reasons) > MOST_REASONS:
        others = len(result.reasons) - MOST_REASONS
        yield f"  {count(others)} more reason{'s' * (others != 1)}: --output FILE has them all."
