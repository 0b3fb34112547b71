"""The protocol that records costs of computation nodes and returns those of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nestmap.model.multicore.cn_costs import RecordedCost


class CostLedger(Protocol):
    """Costs of nodes on cores by key: a hash of everything that determines the cost."""

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The recorded costs by key; keys without costs are absent."""
        ...

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Records costs."""
        ...
