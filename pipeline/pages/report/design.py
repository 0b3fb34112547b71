"""The page of a design of a sweep: what its networks cost, its runs, its accelerator as YAML."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, final
from uuid import UUID

from markupsafe import Markup

from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.summary import Fact
from nestmap.pipeline.pages.report.sweep_page import objective_fact
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.record.question import SweepQuestion, key_tag
from nestmap.pipeline.sweep.space.base_format import is_multicore
from nestmap.pipeline.sweep.space.swept_space import design_yaml
from nestmap.store import Store, SweepRecord

_RUNS: Final = """
SELECT runs.id, workloads.name, runs.objective
FROM runs JOIN workloads ON workloads.hash = runs.workload
WHERE runs.accelerator = $accelerator AND list_contains(runs.tags, $tag)
ORDER BY runs.started, runs.id
"""


@final
@dataclass(frozen=True, slots=True)
class DesignLinks:
    """The targets of links in the page of a design: its sweep, and a run if it can be shown."""

    sweep: str
    run: Callable[[UUID], str]


@final
@dataclass(frozen=True, slots=True)
class NetworkLine:
    """What a network costs on a design, once: energy, latency and gap."""

    name: str
    mapped_for: str
    weight: str
    figures: tuple[Cell, ...]


@final
@dataclass(frozen=True, slots=True)
class RunLink:
    """A run of a design, and what it is mapped for."""

    workload: str
    address: str


@final
@dataclass(frozen=True, slots=True)
class DesignView:
    """A design: parameters, objectives, networks, runs, its accelerator as lines of YAML.

    Objectives have their lowest values.
    ``anchor`` is what the ids of its elements begin with, ``command`` the one that reads the
    accelerator.
    """

    anchor: str
    title: str
    sweep: str
    sweep_name: str
    parameters: tuple[tuple[str, str], ...]
    objectives: tuple[Fact, ...]
    networks: tuple[NetworkLine, ...]
    runs: tuple[RunLink, ...]
    reason: str
    yaml: tuple[str, ...]
    command: str


def design_anchor(number: int) -> str:
    """The id of a design in the file of a report."""
    return f"design-{number}"


def design_body(
    store: Store, sweep: SweepRecord, points: DesignPoints, links: DesignLinks
) -> Markup:
    """The page of a design, mapped for each objective in turn.

    Raises:
        StoreError: if the store cannot be read, or this version cannot read the sweep.
    """
    design = points[0]
    asked = None if design.accelerator is None else SweepQuestion.read(sweep)
    view = DesignView(
        anchor=design_anchor(design.number),
        title=f"Design {design.number}",
        sweep=links.sweep,
        sweep_name=sweep.info.name,
        parameters=tuple((name, str(value)) for name, value in design.parameters),
        objectives=tuple(_objectives(asked, points)) if asked else (),
        networks=tuple(_network(point, x) for point in points for x in point.networks),
        runs=tuple(_links(store, sweep, design, links)),
        reason=next((x.reason for x in points if x.reason), ""),
        yaml=tuple(_yaml(asked, design).splitlines()) if asked else (),
        command=_command(asked) if asked else "",
    )
    return render("design", view)


def runs_of_design(
    store: Store, sweep: SweepRecord, design: DesignResult
) -> Iterator[tuple[UUID, str]]:
    """The runs that a sweep has recorded of a design: network, and what it is mapped for."""
    asked = {"accelerator": str(design.accelerator), "tag": key_tag(sweep.info.key)}
    for row in store.query(_RUNS, asked).rows():
        yield UUID(str(row["id"])), f"{row['name']}, for {row['objective']}"


def _links(
    store: Store, sweep: SweepRecord, design: DesignResult, links: DesignLinks
) -> Iterator[RunLink]:
    for run, network in runs_of_design(store, sweep, design):
        address = links.run(run)
        if address:
            yield RunLink(network, address)


def _objectives(asked: SweepQuestion, points: DesignPoints) -> Iterator[Fact]:
    """The lowest values of the objectives of the sweep, if the design is feasible."""
    for objective in asked.space.objectives:
        values = [(x, n) for n, y in enumerate(points) if (x := y.figure(objective)) is not None]
        if values:
            value, place = min(values)
            fact = objective_fact(objective, value, asked.base.area_unit)
            how = f"mapped for {points[place].mapped_for}" if len(points) > 1 else ""
            yield replace(fact, note=", ".join(filter(None, (fact.note, how))))


def _yaml(asked: SweepQuestion, design: DesignResult) -> str:
    return design_yaml(
        asked.space,
        asked.base,
        design,
        static_energy=asked.static_energy,
        is_reference=asked.plan.is_reference,
    )


def _command(asked: SweepQuestion) -> str:
    command = "nestmap stream" if is_multicore(asked.base.values) else "nestmap explore"
    return f"{command} --reference" if asked.plan.is_reference else command


def _network(point: DesignResult, figures: NetworkFigures) -> NetworkLine:
    costs = (cells.energy(figures.energy), cells.cycles(figures.latency))
    weight = f"{figures.weight:g}"
    return NetworkLine(
        figures.network, point.mapped_for.value, weight, (*costs, cells.gap(figures.gap))
    )
