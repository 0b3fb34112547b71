"""Sweeps as a store has them."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import StoreError
from nestmap.pipeline.sweep.record.question import SweepQuestion
from nestmap.pipeline.sweep.result.result import SweepResult
from nestmap.store import Store


def read_result(sweep: str, store: Store | Path | str) -> SweepResult:
    """A sweep as far as it is recorded, with all of its designs.

    Raises:
        StoreError: where there is no such sweep, or it has no design yet.
    """
    if not isinstance(store, Store):
        with Store.open_read_only(Path(store)) as opened:
            return read_result(sweep, opened)
    found = store.find_sweep(sweep)
    designs = store.sweep_designs(found)
    if not designs:
        raise StoreError(
            f"sweep {found.info.name}: found no design yet; expected at least one: resume the sweep"
        )
    question = SweepQuestion.read(found)
    return SweepResult(
        space=question.space,
        base=question.base,
        mapped_for=question.mapped_for,
        points=designs,
        rejected=found.state.rejected or 0,
        static_energy=question.static_energy,
        is_reference=question.plan.is_reference,
    )
