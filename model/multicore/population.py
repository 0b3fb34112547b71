"""Allocations with their costs, and the generations of a genetic search."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.units import Bits, Count, Cycles, PicoJoules


class AllocationObjective(StrEnum):
    """What a search over allocations minimizes."""

    LATENCY = "latency"
    """Cycles from the start to the end of the last node or transfer."""
    ENERGY = "energy"
    """Total energy in pJ."""
    EDP = "edp"
    """Energy times latency, in pJ cycles."""
    MEMORY = "memory"
    """The sum of the peak usages of all on-chip memories, in bits."""


class Fitness(Frozen, frozen=True):
    """The costs of a schedule: cycles, pJ, and the sum of the on-chip memory peaks in bits."""

    latency: Cycles
    energy: PicoJoules
    memory: Bits

    @property
    def edp(self) -> float:
        """Energy-delay product in pJ cycles."""
        return self.energy * self.latency

    def of(self, objective: AllocationObjective) -> float:
        """The value of an objective."""
        match objective:
            case AllocationObjective.LATENCY:
                return float(self.latency)
            case AllocationObjective.ENERGY:
                return self.energy
            case AllocationObjective.EDP:
                return self.edp
            case AllocationObjective.MEMORY:
                return float(self.memory)


class Individual(Frozen, frozen=True):
    """An allocation and the costs of its schedule; ``None`` if it cannot be scheduled."""

    allocation: Allocation
    fitness: Fitness | None


class Generation(Frozen, frozen=True):
    """The state of a search after one generation, from which the search can continue.

    ``number`` counts from 0, the initial population. ``population`` are the parents of the next
    generation, ``front`` the Pareto-optimal individuals found so far. ``evaluations`` counts the
    distinct allocations scheduled so far; ``scheduled`` are those of this generation. ``improved``
    is the number of the last generation that improved the front. ``exhaustive``: all allocations
    are enumerated in order, because there are no more of them than the search would evaluate.
    """

    number: Count
    population: tuple[Individual, ...]
    front: tuple[Individual, ...]
    evaluations: Count
    scheduled: tuple[Individual, ...] = ()
    improved: Count = 0
    exhaustive: bool = False
