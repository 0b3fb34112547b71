"""Records what computation nodes cost on cores, and knows the costs of earlier explorations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nestmap.model.multicore.cn_costs import KnownCost


class CostLedger(Protocol):
    """Costs of nodes on cores, each under a key: a hash of all that decides it."""

    def recall(self, keys: Sequence[str]) -> Mapping[str, KnownCost]:
        """The costs of those keys that are known."""
        ...

    def keep(self, costs: Mapping[str, KnownCost]) -> None:
        """Records costs."""
        ...
