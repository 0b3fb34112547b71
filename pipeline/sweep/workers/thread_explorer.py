"""Explores designs on several threads of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

from nestmap.model.design_space.design import Design
from nestmap.model.design_space.result import DesignResult
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.methods.method import SweepMethod
from nestmap.search.parallel import map_in_order


def thread_explorer(method: SweepMethod, workers: int) -> ExploreDesigns:
    """Explores designs on several threads without a store."""
    stopped = Event()
    explorer = method.explorer(stopped)

    def explore(designs: Sequence[Design]) -> Iterator[DesignResult]:
        stopped.clear()
        return map_in_order(explorer, designs, workers, stopped.set)

    return explore
