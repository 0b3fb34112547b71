"""Lower bounds of what mappings cost, and how far a result may be from the optimum."""

from __future__ import annotations

from functools import reduce

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.evaluation.cme import Objective
from nestmap.model.units import CyclesShare, PicoJoules

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
