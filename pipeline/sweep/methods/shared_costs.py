"""Costs of computation nodes that several designs and networks have: searched once in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from nestmap.model.base import copy_with
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.cn_costs import RecordedCost
from nestmap.model.multicore.population import Generation, Individual
from nestmap.model.multicore.schedule import ScheduleProblem


@final
class SharedCosts:
    """A ledger in memory of costs of nodes on cores; it forgets all else.

    Threads may add to it at the same time: equal keys have equal costs.
    """

    def __init__(self) -> None:
        self._costs: dict[str, RecordedCost] = {}

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The known costs by key."""
        return {key: found for key in keys if (found := self._costs.get(key)) is not None}

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Keeps costs, without the mappings behind them, which no schedule needs."""
        self._costs |= {key: copy_with(cost, {"cme": None}) for key, cost in costs.items()}

    def record_problem(self, problem: ScheduleProblem) -> None:
        """Nothing is kept."""

    def bound(self) -> StreamBound | None:
        """There is none."""
        return None

    def record_bound(self, found: StreamBound) -> None:
        """Nothing is kept."""

    def newest_generation(self) -> Generation | None:
        """There is none."""
        return None

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        """There are none."""
        return ()

    def record_generation(self, generation: Generation) -> None:
        """Nothing is kept."""
