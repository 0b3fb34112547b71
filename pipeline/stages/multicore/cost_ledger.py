"""Records what computation nodes cost on cores, and knows the costs of earlier explorations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nestmap.model.multicore.cn_costs import RecordedCost


class CostLedger(Protocol):
    """Costs of nodes on cores, each under a key: a hash of all that decides it."""

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The costs of those keys that are known."""
        ...

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Records costs."""
        ...
