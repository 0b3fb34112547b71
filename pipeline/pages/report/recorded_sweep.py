"""The report of a recorded sweep: its page, and pages of designs on the front with their runs."""

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

import numpy as np
from markupsafe import Markup

from nestmap.model import InputError
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.pages.report.design import (
    DesignLinks,
    design_anchor,
    design_body,
    runs_of_design,
)
from nestmap.pipeline.pages.report.layout import document
from nestmap.pipeline.pages.report.page import whole_run
from nestmap.pipeline.pages.report.render import render
from nestmap.pipeline.pages.report.run import read_reported, run_anchor
from nestmap.pipeline.pages.report.sweep_page import SWEEP_ANCHOR, sweep_body
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.pipeline.sweep.result.summary import SweepSummary
from nestmap.store import RunKind, RunRecord, RunStatus, Store, SweepRecord

MOST_RUNS: Final = 12
"""How many runs a report has at most, each with its layers and mappings or its schedule."""


def sweep_report(store: Store, name: str) -> str:
    """The page of a recorded sweep as one self-contained file.

    Designs on the front that are recorded as runs lead to their figures, accelerators, layers and
    mappings, or schedules; of many designs, some at equal distances along the front.

    Raises:
        StoreError: where there is no such sweep, or it has no design yet.
    """
    sweep, result = store.find_sweep(name), read_summary(name, store)
    designs = _shown(result)
    runs = dict(_runs(store, sweep, designs))
    links = DesignLinks(
        f"#{SWEEP_ANCHOR}", lambda run: f"#{run_anchor(run)}" if run in runs else ""
    )
    numbers = {x.number for x in designs}
    body = sweep_body(
        result, lambda n: f"#{design_anchor(n)}" if n in numbers else "", _told(result, designs)
    )
    pages = (design_body(store, sweep, store.sweep_design(sweep, x.number), links) for x in designs)
    menu = Markup('<a href="{}">Sweep</a>').format(links.sweep)
    title = f"Sweep {result.space.name}"
    return document(title, render("runs", (body, *pages, *runs.values())), menu=menu)


def _shown(result: SweepSummary) -> list[DesignResult]:
    """The designs of the front that have pages."""
    runs = 1 if result.is_scheduled else len(result.mapped_for)  # of a network, at most
    most = max(1, MOST_RUNS // (len(result.space.networks) * runs))
    designs = list({x.number: x for x in result.front}.values())
    places = np.linspace(0, len(designs) - 1, min(most, len(designs)))
    return [designs[round(x)] for x in places.tolist()]


def _told(result: SweepSummary, designs: Sequence[DesignResult]) -> Iterator[str]:
    of = len({x.number for x in result.front})
    if len(designs) < of:
        yield (
            f"{count(len(designs))} of the {count(of)} designs on the front have "
            "pages in this file, at equal distances along the front; nestmap serve has all."
        )


def _runs(
    store: Store, sweep: SweepRecord, designs: Sequence[DesignResult]
) -> Iterator[tuple[UUID, Markup]]:
    """The pages of the runs of designs, each once."""
    found = {run for design in designs for run, _ in runs_of_design(store, sweep, design)}
    for run in sorted(found):
        record = store.run(run)
        if record.status is RunStatus.DONE:
            try:
                yield run, _page(store, record)
            except InputError:  # another version of the cost model made it
                continue


def _page(store: Store, record: RunRecord) -> Markup:
    """The layers and mappings of a run, or its schedule on several cores."""
    if record.kind is RunKind.EXPLORE:
        return whole_run(store, read_reported(store, record.id))
    from nestmap.pipeline.pages.report.multicore.page import stream_body  # noqa: PLC0415 (slow to import)
    from nestmap.pipeline.pages.report.multicore.reported_run import read_stream  # noqa: PLC0415 (as above)

    return stream_body(read_stream(store, record.id))
