"""Explorations to report: small ones of every kind, kept in memory."""

from functools import cache
from typing import Final, NamedTuple
from uuid import UUID

from nestmap.model import Accelerator, NetworkProblem, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.pages.report.page import report
from nestmap.pipeline.pages.report.run import ReportedRun, read_reported
from nestmap.store import Store
from tests.costmodel.imc.machines import analog, imc_machine
from tests.pipeline.networks import FIRST, MACHINE, SECOND
from tests.pipeline.pages.report.dom import Element, read
from tests.pipeline.stages.kinds import BLOCKS, KINDS

SHORT: Final = SearchPlan.of(
    SearchOptions(search="loma", lpf_limit=3, spatial_mappings=2, workers=1)
)


def leaking() -> Accelerator:
    """A machine of which everything leaks, and has an area."""
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"leakage": 0.5, "area": 2.0})})
        for x in MACHINE.memories
    )
    array = copy_with(MACHINE.array, {"unit_leakage": 0.25, "unit_area": 1.5, "clock_period": 1.25})
    return copy_with(MACHINE, {"array": array, "memories": memories, "counts_leakage": True})


def on(accelerator: Accelerator, workload: Workload = BLOCKS) -> NetworkProblem:
    """The problem of a workload on an accelerator."""
    return NetworkProblem(workload=workload, accelerator=accelerator)


PROBLEMS: Final = {
    "blocks": on(MACHINE),
    "vector": KINDS["vector"].network,
    "leaking": on(leaking()),
    "imc": on(imc_machine(analog()), Workload.of(FIRST, SECOND, name="net")),
}
PLANS: Final[dict[str, SearchPlan]] = {
    "vector": SearchPlan.of(
        SearchOptions(search="loma", lpf_limit=3, spatial_mappings=2, workers=1, count_vector=True)
    )
}


class Page(NamedTuple):
    """A run, its report as text, and read back."""

    run: ReportedRun
    text: str
    tree: Element


@cache
def page(kind: str) -> Page:
    """The report of one of the problems."""
    with Store.open(None) as store:
        found = explore_network(PROBLEMS[kind], PLANS.get(kind, SHORT), store=store)
        return paged(store, found.run)


@cache
def front_page() -> Page:
    """The report of a run that looked for fronts."""
    with Store.open(None) as store:
        return paged(store, explore_front(PROBLEMS["blocks"], SHORT, store=store).run)


def paged(store: Store, run: UUID) -> Page:
    """The report of a run."""
    text = report(store, [run])
    return Page(read_reported(store, run), text, read(text))
