"""CACTI with a memory: what a store knows of its answers is not asked again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model import MemoryCost, MemoryMacro
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost, cacti_name
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import Cacti

if TYPE_CHECKING:
    from nestmap.store import CostQuestion, Store


def remembered(store: Store | Path | str | None) -> Cacti:
    """Who says what CACTI says: the store where it knows, else CACTI, and the store keeps it.

    The store is opened, and made, only when there is something to ask or to keep. The answer
    raises what :func:`cacti_cost` does, and :class:`StoreError` where the store cannot be used.
    """
    if store is None:
        return cacti_cost

    def cost(macro: MemoryMacro) -> MemoryCost:
        # DuckDB takes long to import, and only those who use CACTI shall wait
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
    from nestmap.pipeline.explore.recording import opened  # noqa: PLC0415

    with opened(store) as target:
        return target.memory_cost(question)


def _keep(store: Store | Path | str, question: CostQuestion, cost: MemoryCost) -> None:
    from nestmap.pipeline.explore.recording import opened  # noqa: PLC0415

    with opened(store) as target:
        target.keep_memory_cost(question, cost)
