"""The designs of a sweep as columns: parameters, objectives, which ones are on the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from nestmap.model import InfeasibleError, Objective
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.evaluation.objective import DesignQuantity
from nestmap.model.units import AreaUnit
from nestmap.pipeline.format.numbers import (
    TIMES,
    Unit,
    area_unit,
    count,
    cycles_unit,
    energy_unit,
    engineering,
    power_unit,
)

# --- names and units of the objectives of a sweep ---


def objective_title(objective: SweepObjective) -> str:
    """The name of an objective, as in tables."""
    return str(objective) if isinstance(objective, ObjectiveFormula) else objective.heading


class Labelled(NamedTuple):
    """The label of an axis, and the unit of its numbers."""

    label: str
    unit: Unit


def labelled(column: ObjectiveColumn) -> Labelled:
    """The label and the unit for the values of an objective.

    Expressions have none, but a power of ten if they are large or small.
    """
    name, largest = objective_title(column.objective), float(column.values.max())
    match column.objective:
        case Objective.ENERGY:
            unit = energy_unit(largest)
        case Objective.LATENCY:
            unit = cycles_unit(largest)
        case Objective.EDP:
            energy = energy_unit(largest)
            unit = Unit(energy.divisor, f"{energy.name} {TIMES} cycles")
        case DesignQuantity.AREA:
            unit = Unit(1.0, area_unit(column.area_unit))
        case ObjectiveFormula():
            unit = power_unit(float(np.abs(column.values).max()))
            if not unit.name:
                return Labelled(name, unit)
    return Labelled(f"{name} ({unit.name})", unit)


# --- which of many dominated rows of a sweep are drawn ---


class Dominated(NamedTuple):
    """The dominated designs that are drawn, and what the legend says of them."""

    places: Places
    label: str


def dominated_shown(view: DesignsView, most: int) -> Dominated:
    """The dominated designs, or of more than ``most`` some at equal distances."""
    places = np.flatnonzero(~view.on_front)
    if len(places) <= most:
        return Dominated(places, f"dominated ({count(len(places))})")
    some = places[np.linspace(0, len(places) - 1, most).astype(np.intp)]
    return Dominated(some, f"dominated ({count(len(some))} of {count(len(places))})")


Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


class ParameterColumn(NamedTuple):
    """A parameter: its different values in order, and the place of each design's among them.

    Numbers are ascending, truth values false first, texts in the order of the designs.
    """

    name: str
    values: tuple[Value, ...]
    places: Places

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(x, bool | str) for x in self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as texts."""
        return tuple(map(value_text, self.values))


class ObjectiveColumn(NamedTuple):
    """An objective of the sweep and its value for each design.

    Energies are in pJ, latencies in cycles, EDP in pJ x cycles, areas in ``area_unit`` if it is
    known; expressions have no unit. ``limits`` are values at which constraints remove designs.
    """

    objective: SweepObjective
    values: Floats
    limits: tuple[float, ...] = ()
    area_unit: AreaUnit | None = None


@final
@dataclass(frozen=True, slots=True)
class DesignsView:
    """The feasible designs of a sweep in columns: a row for each and what it is mapped for.

    ``numbers`` are those of the designs in their space. ``parameters`` are those that differ
    between the designs and do not follow from others; ``infeasible`` counts the other designs.
    """

    name: str
    numbers: tuple[int, ...]
    mapped_for: tuple[Objective, ...]
    parameters: tuple[ParameterColumn, ...]
    objectives: tuple[ObjectiveColumn, ...]
    on_front: Flags
    infeasible: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def designs(self) -> int:
        """The number of different designs."""
        return len(set(self.numbers))

    @property
    def front_designs(self) -> int:
        """The number of different designs on the front."""
        front: list[int] = self.front_places.tolist()
        return len({self.numbers[n] for n in front})

    @property
    def objectives_mapped_for(self) -> tuple[Objective, ...]:
        """What designs are mapped for, each once."""
        return tuple(dict.fromkeys(self.mapped_for))

    @property
    def front_places(self) -> Places:
        """The places of the rows on the front, by ascending values of the first objective."""
        places = np.flatnonzero(self.on_front)
        keys = [column.values[places] for column in reversed(self.objectives)]
        return places[np.lexsort(keys)]


def check_not_empty(view: DesignsView) -> None:
    """Checks that a sweep has designs to draw.

    Raises:
        InfeasibleError: if none is feasible.
    """
    if not len(view):
        raise InfeasibleError(
            f"{view.name}: found {view.infeasible:,} designs without figures; expected at least "
            "one that is feasible"
        )


def parameter_column(name: str, values: Sequence[Value]) -> ParameterColumn:
    """The column of a parameter, given its value for each design."""
    different = {_key(x): x for x in values}
    keys = list(different)
    if not any(isinstance(x, str) for x in values):
        keys = sorted(keys, key=lambda key: float(key[1]))
    place_of = {key: place for place, key in enumerate(keys)}
    places = np.array([place_of[_key(x)] for x in values], dtype=np.intp)
    return ParameterColumn(name, tuple(different[key] for key in keys), places)


def _key(value: Value) -> tuple[bool, Value]:
    """True is not 1."""
    return isinstance(value, bool), value


def value_text(value: Value) -> str:
    """A value of a parameter; large numbers with a prefix.

    >>> value_text(512), value_text(True), value_text(16777216), value_text(0.5)
    ('512', 'true', '16.78 M', '0.5')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return engineering(value) if value >= 10_000 else f"{value:.6g}"
