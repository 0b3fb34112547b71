"""A CACTI client that caches its answers in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model import MemoryCost, MemoryMacro
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost, cacti_name
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient

if TYPE_CHECKING:
    from nestmap.store import CostQuestion, Store


def cached_cacti(store: Store | Path | str | None) -> CactiClient:
    """A CACTI client that caches its answers in the store; without a store, CACTI itself.

    The store is opened only for a look-up and created only for a first answer. The client raises
    what :func:`cacti_cost` raises, and :class:`StoreError` if the store cannot be used.
    """
    if store is None:
        return cacti_cost

    def cost(macro: MemoryMacro) -> MemoryCost:
        # DuckDB is slow to import; only runs that use CACTI pay for it
        from nestmap.store import CostQuestion  # noqa: PLC0415

        question = CostQuestion(macro=macro, tool=cacti_name())
        known = _recalled(store, question)
        if known is None:
            known = cacti_cost(macro)
            _keep(store, question, known)
        return known

    return cost


def _recalled(store: Store | Path | str, question: CostQuestion) -> MemoryCost | None:
    if isinstance(store, Path | str) and not Path(store).exists():
        return None
    from nestmap.store import Store  # noqa: PLC0415

    with Store.borrow(store) as target:
        return target.memory_cost(question)


def _keep(store: Store | Path | str, question: CostQuestion, cost: MemoryCost) -> None:
    from nestmap.store import Store  # noqa: PLC0415

    with Store.borrow(store) as target:
        target.record_memory_cost(question, cost)
