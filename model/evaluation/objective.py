"""What searches minimize: objectives, their lower bounds, and limits on them."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import reduce
from math import inf
from typing import TYPE_CHECKING, Annotated, Final, Protocol, TypeAlias, TypeVar

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError
from nestmap.model.units import CyclesShare, PicoJoules

if TYPE_CHECKING:
    from nestmap.model.arrays import Floats

Cost = TypeVar("Cost", float, "Floats")
"""A cost, or one for each row of an array."""


class Costs(Protocol):
    """What takes energy (pJ) and time (cycles): a mapping, a network, a schedule."""

    @property
    def energy(self) -> float:
        """Energy in pJ."""
        ...

    @property
    def latency(self) -> float:
        """Latency in cycles."""
        ...


class Objective(StrEnum):
    """What a search minimizes."""

    ENERGY = "energy"
    LATENCY = "latency"
    EDP = "edp"

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return {"energy": "pJ", "latency": "cycles", "edp": "pJ x cycles"}[self.value]

    @property
    def heading(self) -> str:
        """Its name at the head of a column."""
        return "EDP" if self is Objective.EDP else self.value.capitalize()

    @property
    def long_name(self) -> str:
        """Its name in a sentence."""
        return "energy-delay product" if self is Objective.EDP else self.value

    def value_of(self, energy: Cost, latency: Cost) -> Cost:
        """The objective of an energy (pJ) and a latency (cycles), or of each in two arrays."""
        match self:
            case Objective.ENERGY:
                return energy
            case Objective.LATENCY:
                return latency
            case Objective.EDP:
                return energy * latency

    def of(self, costs: Costs) -> float:
        """The value of the objective."""
        return self.value_of(costs.energy, float(costs.latency))


class ScheduleQuantity(StrEnum):
    """What only schedules on several cores have, and a search over them may minimize."""

    MEMORY = "memory"
    """The sum of the peak usages of all on-chip memories, in bits."""


AllocationObjective: TypeAlias = Objective | ScheduleQuantity
"""What a search over allocations minimizes."""

ALLOCATION_OBJECTIVES: Final[tuple[AllocationObjective, ...]] = (
    *(Objective.LATENCY, Objective.ENERGY, Objective.EDP),
    ScheduleQuantity.MEMORY,
)
"""All of them; of equal allocations, the best by the first of these."""


class DesignQuantity(StrEnum):
    """What only designs have, and a sweep may minimize."""

    AREA = "area"

    @property
    def heading(self) -> str:
        """Its name at the head of a column."""
        return "Area"


DesignObjective: TypeAlias = Objective | DesignQuantity
"""A quantity of designs that a sweep minimizes."""

DESIGN_OBJECTIVES: Final[tuple[DesignObjective, ...]] = (*Objective, *DesignQuantity)
"""All of them."""


PROOF_TOLERANCE = 1e-9
"""The share by which an optimal value may exceed its bound: both are sums of rounded numbers."""


class CostBounds(Frozen, frozen=True):
    """Lower bounds over all mappings of a space that was searched.

    ``energy`` in pJ, ``latency`` in cycles, ``edp`` in pJ x cycles.
    """

    energy: PicoJoules
    latency: CyclesShare
    edp: float = Field(ge=0, allow_inf_nan=False)

    def of(self, objective: Objective) -> float:
        """The bound of an objective; units as in :class:`~nestmap.model.Objective`."""
        match objective:
            case Objective.ENERGY:
                return self.energy
            case Objective.LATENCY:
                return self.latency
            case Objective.EDP:
                return self.edp

    def union(self, other: CostBounds) -> CostBounds:
        """The bounds of the union of two spaces: the lower one of each quantity."""
        return CostBounds(
            energy=min(self.energy, other.energy),
            latency=min(self.latency, other.latency),
            edp=min(self.edp, other.edp),
        )


def union_bounds(*bounds: CostBounds | None) -> CostBounds | None:
    """The bounds of the union of all spaces whose bounds are known; ``None`` if none are."""
    known = [entry for entry in bounds if entry is not None]
    return reduce(CostBounds.union, known) if known else None


class ObjectiveBound(Frozen, frozen=True):
    """A lower bound of an objective: no mapping of the searched space has a lower ``value``."""

    objective: Objective
    value: float = Field(ge=0, allow_inf_nan=False)


def objective_bound(bounds: CostBounds | None, objective: Objective) -> ObjectiveBound | None:
    """The bound of one objective, if bounds are known."""
    if bounds is None:
        return None
    return ObjectiveBound(objective=objective, value=bounds.of(objective))


def gap_to(bound: float, value: float) -> float:
    """The share of ``value`` by which the optimum may be lower, at least 0.

    It is exactly 0 if ``value`` equals its bound except for rounding: the value is optimal.
    """
    if value <= bound * (1 + PROOF_TOLERANCE):
        return 0.0
    return 1 - bound / value


# --- limits on what a network may cost: a number, or a factor over the least ---

_TEXT: Final = re.compile(r"(energy|latency)=([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)(x?)")
_EXPECTED: Final = "latency=1.1x, latency=CYCLES, energy=1.1x or energy=PJ, a factor of 1 or more"

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CostLimit(Frozen, frozen=True):
    """At most so much energy (pJ) or latency (cycles), or a factor over the least of the network.

    ``amount`` is that factor, 1 or more, if ``is_factor``.
    """

    quantity: Objective
    amount: Positive
    is_factor: bool = False

    @model_validator(mode="after")
    def _check(self) -> CostLimit:
        if self.quantity is Objective.EDP:
            raise ValueError("a limit of edp; expected one of energy or latency")
        if self.is_factor and self.amount < 1:
            raise ValueError(f"{self}, below the least; expected a factor of 1 or more")
        return self

    @classmethod
    def parse(cls, text: str) -> CostLimit:
        """The limit that a text states.

        >>> str(CostLimit.parse("latency=1.10x"))
        'latency=1.1x'
        >>> CostLimit.parse("energy=2e6").amount
        2000000.0

        Raises:
            InputError: where it states none.
        """
        found = _TEXT.fullmatch(text.strip())
        amount = 0.0 if found is None else float(re.sub("[_,]", "", found[2]))
        is_factor = found is not None and bool(found[3])
        if found is None or not 0 < amount < inf or (is_factor and amount < 1):
            raise InputError("at_most", repr(text), _EXPECTED)
        return cls(quantity=Objective(found[1]), amount=amount, is_factor=is_factor)

    def __str__(self) -> str:
        return f"{self.quantity}={self.amount:.15g}{'x' if self.is_factor else ''}"

    @property
    def minimized(self) -> Objective:
        """What is minimized under the limit: the other of energy and latency."""
        return Objective.ENERGY if self.quantity is Objective.LATENCY else Objective.LATENCY

    def over(self, least: float) -> float:
        """The limit of a network, given the least that any of its mappings found takes."""
        return self.amount * least if self.is_factor else self.amount


class LimitedCost(Frozen, frozen=True):
    """How a result was limited: at most ``value``, where the least found is ``least``.

    ``bound`` is a lower bound of the objective under the limit; ``None`` if it is not known.
    """

    limit: CostLimit
    value: Positive
    least: Positive
    bound: ObjectiveBound | None = None
