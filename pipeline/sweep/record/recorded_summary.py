"""A recorded sweep in brief, read column by column: a million designs take seconds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from nestmap.model import Objective, StoreError
from nestmap.model.design_space.objective import SweepObjective
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignSpace
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    parameter_column,
)
from nestmap.pipeline.sweep.record.question import SweepQuestion
from nestmap.pipeline.sweep.result.result import SweepResult
from nestmap.pipeline.sweep.result.summary import Reason, SweepSummary
from nestmap.pipeline.sweep.space.base_format import is_multicore
from nestmap.store import Store, SweepRecord

_COLUMNS: Final = """
SELECT number::VARCHAR AS number, position, mapped_for, {values}
FROM sweep_designs WHERE sweep = $sweep AND reason IS NULL ORDER BY position
"""
_BEST: Final = """
SELECT design.position
FROM sweep_best($sweep) AS best
JOIN sweep_designs AS design ON design.number = best.design
  AND design.mapped_for IS NOT DISTINCT FROM best.mapped_for
JOIN sweeps AS sweep ON sweep.hash = design.sweep
WHERE sweep.hash = $sweep ORDER BY list_position(sweep.objectives, best.objective)
"""
_REASONS: Final = """
SELECT reason, min_by(number, position)::VARCHAR AS first, count(DISTINCT number) AS designs
FROM sweep_designs WHERE sweep = $sweep AND reason IS NOT NULL
GROUP BY reason ORDER BY min(position)
"""
_GAPS: Final = """
SELECT count(DISTINCT number) FILTER (gap > 0) AS unproven, coalesce(max(gap), 0) AS gap
FROM (
  SELECT number, list_max(list_transform(networks, lambda x: x.gap)) AS gap
  FROM sweep_designs WHERE sweep = $sweep AND reason IS NULL
)
"""


def read_summary(name: str, store: Store) -> SweepSummary:
    """A sweep as far as it is recorded.

    Raises:
        StoreError: where there is no such sweep, or it has no design yet.
    """
    sweep = store.find_sweep(name)
    if not sweep.state.designs:
        raise StoreError(
            f"sweep {sweep.info.name}: found no design yet; expected at least one: resume the sweep"
        )
    question = SweepQuestion.read(sweep)
    (gaps,) = store.query(_GAPS, {"sweep": sweep.info.key}).rows()
    return SweepSummary(
        space=question.space,
        area_unit=question.base.area_unit,
        mapped_for=question.mapped_for,
        is_scheduled=is_multicore(question.base.values),
        designs=sweep.state.designs,
        rejected=sweep.state.rejected or 0,
        front=store.sweep_designs(sweep, sweep.state.front),
        best=_best(question.space, store, sweep),
        reasons=tuple(_reasons(store, sweep)),
        unproven=int(str(gaps["unproven"])),
        gap=float(str(gaps["gap"])),
        columns=lambda: _view(question, store, sweep),
    )


def _best(
    space: DesignSpace, store: Store, sweep: SweepRecord
) -> dict[SweepObjective, DesignResult]:
    rows = store.query(_BEST, {"sweep": sweep.info.key}).rows()
    found = store.sweep_designs(sweep, [int(str(x["position"])) for x in rows])
    return dict(zip(space.objectives, found, strict=True)) if found else {}


def _reasons(store: Store, sweep: SweepRecord) -> Iterator[Reason]:
    for row in store.query(_REASONS, {"sweep": sweep.info.key}).rows():
        yield Reason(str(row["reason"]), int(str(row["first"])), int(str(row["designs"])))


def _view(question: SweepQuestion, store: Store, sweep: SweepRecord) -> DesignsView:
    space, unit = question.space, question.base.area_unit
    columns = [f"objective_values[{n + 1}]" for n in range(len(space.objectives))]
    statement = _COLUMNS.format(values=", ".join(columns))
    table = store.query(statement, {"sweep": sweep.info.key}).arrow()
    numbers = [int(x) for x in table["number"].to_pylist() if x is not None]
    positions: npt.NDArray[np.int64] = table["position"].to_numpy()
    return DesignsView(
        name=space.name,
        numbers=tuple(numbers),
        mapped_for=tuple(Objective(str(x)) for x in table["mapped_for"].to_pylist()),
        parameters=tuple(_parameters(space, numbers)),
        objectives=tuple(
            ObjectiveColumn(
                x, table.column(n + 3).to_numpy().astype(np.float64), space.limits_of(x), unit
            )
            for n, x in enumerate(space.objectives)
        ),
        on_front=np.isin(positions, np.array(sweep.state.front, np.int64)),
        infeasible=sweep.state.designs - len(set(numbers)),
    )


def _parameters(space: DesignSpace, numbers: Sequence[int]) -> Iterator[ParameterColumn]:
    """The free parameters that differ; the number of a design has their places as digits."""
    left = space.size
    for parameter in space.free:
        above, left = left, left // len(parameter.values)
        values = [parameter.values[number % above // left] for number in numbers]
        column = parameter_column(parameter.name, values)
        if len(column.values) > 1:
            yield column


# --- sweeps as a store has them ---


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
