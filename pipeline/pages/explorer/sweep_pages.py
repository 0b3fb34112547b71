"""Builds the pages of sweeps: all of them, one, and a design with its runs and its accelerator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final
from uuid import UUID

from starlette.responses import HTMLResponse

from nestmap.model import StoreError
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.pipeline.pages.explorer.render import page, render
from nestmap.pipeline.pages.explorer.store_site import MissingError, Site
from nestmap.pipeline.pages.explorer.urls import SWEEPS, design_address, run_address, sweep_address
from nestmap.pipeline.pages.report.sweep_page import sweep_body
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell
from nestmap.pipeline.sweep.base_format import is_multicore
from nestmap.pipeline.sweep.design_yaml import design_yaml
from nestmap.pipeline.sweep.question import SweepQuestion, key_tag
from nestmap.pipeline.sweep.recorded_summary import read_summary
from nestmap.store import Store, SweepRecord

_POSITION: Final = "SELECT position FROM sweep_designs WHERE sweep = $sweep AND number = $number"
_RUNS: Final = """
SELECT runs.id, workloads.name FROM runs JOIN workloads ON workloads.hash = runs.workload
WHERE runs.accelerator = $accelerator AND list_contains(runs.tags, $tag)
ORDER BY runs.started, runs.id
"""


@final
@dataclass(frozen=True, slots=True)
class SweepLine:
    """A sweep in the list of all."""

    name: str
    address: str
    status: str
    started: str
    objectives: str
    figures: tuple[Cell, ...]


@final
@dataclass(frozen=True, slots=True)
class SweepsView:
    """All sweeps, newest first."""

    store: str
    sweeps: tuple[SweepLine, ...]


@final
@dataclass(frozen=True, slots=True)
class NetworkLine:
    """What a network costs on a design, once: energy, latency and gap."""

    name: str
    weight: str
    figures: tuple[Cell, ...]


@final
@dataclass(frozen=True, slots=True)
class RunLink:
    """A run of a design."""

    workload: str
    address: str


@final
@dataclass(frozen=True, slots=True)
class DesignView:
    """A design: parameters, what its networks cost, its runs, its accelerator as lines of YAML.

    ``command`` is the one that reads this accelerator.
    """

    title: str
    sweep: str
    sweep_name: str
    parameters: tuple[tuple[str, str], ...]
    networks: tuple[NetworkLine, ...]
    runs: tuple[RunLink, ...]
    reason: str
    yaml: tuple[str, ...]
    command: str


def sweeps_page(site: Site) -> HTMLResponse:
    """The page of all sweeps."""
    with site.open() as store:
        lines = tuple(map(_line, store.sweeps()))
    return page("Sweeps", render("sweeps", SweepsView(str(site.path), lines)), SWEEPS)


def sweep_page(site: Site, key: str) -> HTMLResponse:
    """The page of a sweep, as in the report; designs link to their pages."""
    with site.open() as store:
        sweep = _find(store, key)
        if not sweep.state.designs:
            raise MissingError(f"sweep {sweep.info.name}: found no design yet; expected one soon")
        state = (sweep.info.key, sweep.state.designs, sweep.state.is_complete)
        body = site.kept.get(
            (site.path.stat().st_ino, *state),
            lambda: sweep_body(
                read_summary(key, store), lambda number: design_address(key, number)
            ),
        )
    return page(f"Sweep {sweep.info.name}", body)


def design_page(site: Site, key: str, text: str) -> HTMLResponse:
    """The page of a design of a sweep, by its number."""
    with site.open() as store:
        sweep = _find(store, key)
        design = _find_design(store, sweep, text)
        lines, command = _accelerator(sweep, design)
        view = DesignView(
            title=f"Design {design.number}",
            sweep=sweep_address(key),
            sweep_name=sweep.info.name,
            parameters=tuple((name, str(value)) for name, value in design.parameters),
            networks=tuple(map(_network, design.networks)),
            runs=tuple(_runs(store, sweep, design)),
            reason=design.reason or "",
            yaml=lines,
            command=command,
        )
    return page(f"{view.title} of {view.sweep_name}", render("design", view))


def _find(store: Store, key: str) -> SweepRecord:
    try:
        return store.find_sweep(key)
    except StoreError as error:
        raise MissingError(str(error)) from None


def _find_design(store: Store, sweep: SweepRecord, text: str) -> DesignResult:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 38 else -1
    asked: dict[str, str | int] = {"sweep": sweep.info.key, "number": number}
    found = [int(str(x["position"])) for x in store.query(_POSITION, asked).rows()]
    if not found:
        raise MissingError(
            f"sweep {sweep.info.name}: found no design {text!r}; expected the number of one of its "
            f"{sweep.state.designs:,} designs"
        )
    return store.sweep_designs(sweep, found)[0]


def _accelerator(sweep: SweepRecord, design: DesignResult) -> tuple[tuple[str, ...], str]:
    """The lines of a design's accelerator, and the command that reads it; none if it is refused."""
    if design.accelerator is None:
        return (), ""
    asked = SweepQuestion.read(sweep)
    text = design_yaml(asked.space, asked.base, asked.static_energy, design)
    command = "nestmap stream" if is_multicore(asked.base.values) else "nestmap explore"
    return tuple(text.splitlines()), command


def _runs(store: Store, sweep: SweepRecord, design: DesignResult) -> Iterator[RunLink]:
    asked = {"accelerator": str(design.accelerator), "tag": key_tag(sweep.info.key)}
    for row in store.query(_RUNS, asked).rows():
        yield RunLink(str(row["name"]), run_address(UUID(str(row["id"]))))


def _network(figures: NetworkFigures) -> NetworkLine:
    costs = (cells.energy(figures.energy), cells.cycles(figures.latency))
    gap = Cell(cells.NONE) if figures.gap is None else Cell(f"{figures.gap:.1%}", repr(figures.gap))
    return NetworkLine(figures.network, f"{figures.weight:g}", (*costs, gap))


def _line(sweep: SweepRecord) -> SweepLine:
    state = sweep.state
    return SweepLine(
        name=sweep.info.name,
        address=sweep_address(sweep.info.key),
        status="done" if state.is_complete else "incomplete",
        started=f"{sweep.started:%Y-%m-%d %H:%M:%S}",
        objectives=", ".join(sweep.info.objectives),
        figures=(
            cells.count(state.designs),
            cells.count(sweep.info.most),
            cells.count(len(state.front)),
        ),
    )
