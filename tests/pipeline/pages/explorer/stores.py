"""Stores to explore: small runs, names that break pages wherever they are pasted into them."""

from pathlib import Path
from typing import Final
from uuid import UUID

from nestmap.model import NetworkProblem, Objective, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.store import Store
from tests.loma import with_loma
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, SECOND

MARKUP: Final = "\"><script>alert('x')</script>"
NASTY: Final = (MARKUP, "a/../b?c#d%41%zz &+;=", "two\nlines\tand \\ \x00 \u202e \U0001f642")
"""Names of layers; all of them can be looked at."""


def nasty() -> NetworkProblem:
    """A network, a machine and layers whose names are markup, addresses and what one cannot see."""
    layers = (FIRST, SECOND, FIRST)
    named = [copy_with(of, {"name": name}) for of, name in zip(layers, NASTY, strict=True)]
    return NetworkProblem(
        workload=Workload.of(*named, name=f"net {MARKUP}"),
        accelerator=copy_with(MACHINE, {"name": f"machine {MARKUP}"}),
    )


def explored(store: Store | Path, *problems: NetworkProblem) -> tuple[UUID, ...]:
    """Runs of the problems, recorded in a store."""
    plan = SearchPlan.of(with_loma(objective=Objective.LATENCY, lpf_limit=3, workers=1))
    return tuple(explore_network(problem, plan, store=store).run for problem in problems)


def two_runs(path: Path) -> tuple[UUID, ...]:
    """A store with a small run and one whose names are nasty."""
    return explored(path, PROBLEM, nasty())
