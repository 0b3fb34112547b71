"""Who knows what computation nodes cost on cores, from earlier explorations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nestmap.model.multicore.cn_costs import KnownCost


class CostLedger(Protocol):
    """Who keeps what nodes cost on cores, each under a key: a hash of all that decides it."""

    def recall(self, keys: Sequence[str]) -> Mapping[str, KnownCost]:
        """What is known, of those keys that are."""
        ...

    def keep(self, costs: Mapping[str, KnownCost]) -> None:
        """Takes down what was found."""
        ...
