"""Sweeps without a search: a question, and designs with figures by number."""

from typing import Final

from nestmap.model import Objective
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Aggregate
from nestmap.store import DesignRow, RecordedSweep, SweepInfo
from tests.store.builders import NASTY

KEY: Final = "0123456789abcdef" * 2
INFO: Final = SweepInfo(
    key=KEY,
    name="arrays",
    command="nestmap sweep",
    version="1",
    mapped_for=(Objective.ENERGY,),
    objectives=("energy", "area"),
    aggregate=Aggregate.SUM,
    methods=("first", "second"),
    question='{"asked": 1}',
    most=10,
)


def design(
    number: int,
    energy: float,
    area: float = 1.0,
    gap: float | None = None,
    mapped_for: Objective = Objective.ENERGY,
) -> DesignResult:
    """A design with two networks; the second has twice the energy and counts half."""
    return DesignResult(
        aggregate=Aggregate.SUM,
        number=number,
        parameters=(("rows", number), (NASTY, number % 2 == 0), ("kind", "a\"b'c")),
        mapped_for=mapped_for,
        accelerator=f"machine {number}",
        area=area,
        networks=(
            NetworkFigures(network="net", weight=1.0, energy=energy, latency=7.0, gap=gap),
            NetworkFigures(network=NASTY, weight=0.5, energy=2 * energy, latency=3.0),
        ),
    )


def infeasible(number: int, mapped_for: Objective = Objective.ENERGY) -> DesignResult:
    """A design whose description is refused."""
    parameters = (("rows", number), (NASTY, True), ("kind", 0.25))
    return DesignResult(
        aggregate=Aggregate.SUM,
        number=number,
        parameters=parameters,
        mapped_for=mapped_for,
        reason="too small",
    )


def add_design(sweep: RecordedSweep, *points: DesignResult) -> None:
    """Adds a design, with the values of both objectives if it is feasible."""
    sweep.add(tuple(DesignRow(x, _values(x)) for x in points))


def _values(point: DesignResult) -> tuple[float, ...] | None:
    energy, area = point.energy, point.area
    return None if energy is None or area is None else (energy, area)
