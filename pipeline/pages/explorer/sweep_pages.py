"""Builds the pages of sweeps: all of them, one, and one of its designs."""

from dataclasses import dataclass
from typing import final

from starlette.responses import HTMLResponse

from nestmap.model import StoreError
from nestmap.pipeline.pages.explorer.render import (
    SWEEPS,
    design_address,
    page,
    render,
    run_address,
    sweep_address,
)
from nestmap.pipeline.pages.explorer.store_site import MissingError, Site
from nestmap.pipeline.pages.report.design import DesignLinks, design_body
from nestmap.pipeline.pages.report.sweep_page import sweep_body
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.table import Cell
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.store import Store, SweepRecord


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
        points = _find_design(store, sweep, text)
        links = DesignLinks(sweep_address(key), run_address)
        body = design_body(store, sweep, points, links)
    return page(f"Design {points[0].number} of {sweep.info.name}", body)


def _find(store: Store, key: str) -> SweepRecord:
    try:
        return store.find_sweep(key)
    except StoreError as error:
        raise MissingError(str(error)) from None


def _find_design(store: Store, sweep: SweepRecord, text: str) -> DesignPoints:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 38 else -1
    found = store.sweep_design(sweep, number)
    if not found:
        raise MissingError(
            f"sweep {sweep.info.name}: found no design {text!r}; expected the number of one of its "
            f"{sweep.state.designs:,} designs"
        )
    return found


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
