"""Allocations with what they cost, and the generations of a search for better ones."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.units import Bits, Count, Cycles, PicoJoules


class AllocationObjective(StrEnum):
    """What of a schedule shall be small."""

    LATENCY = "latency"
    """Cycles from the start to the last end."""
    ENERGY = "energy"
    """pJ of everything."""
    EDP = "edp"
    """Energy times latency, in pJ cycles."""
    MEMORY = "memory"
    """The most bits that all memories on the chip hold, each at its own worst time."""


class Fitness(Frozen, frozen=True):
    """What a schedule costs: cycles, pJ, and the peaks of the memories on the chip in bits."""

    latency: Cycles
    energy: PicoJoules
    memory: Bits

    @property
    def edp(self) -> float:
        """Energy-delay product in pJ cycles."""
        return self.energy * self.latency

    def of(self, objective: AllocationObjective) -> float:
        """The figure that an objective looks at."""
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
    """An allocation and what its schedule costs; ``None``: it cannot be scheduled."""

    allocation: Allocation
    fitness: Fitness | None


class Generation(Frozen, frozen=True):
    """A state of a search: what the next generation is made of.

    ``number`` counts from 0, the initial population. ``population`` are those that the next
    generation descends from, ``front`` the best found so far: no other one is as good in all
    objectives and better in one. ``evaluations`` counts the different allocations that were
    scheduled up to now; ``scheduled`` are those of this generation. ``improved`` is the number of
    the generation in which the front got better for the last time. ``exhaustive``: all allocations
    are gone through, in their order, since there are no more than a search would look at.
    """

    number: Count
    population: tuple[Individual, ...]
    front: tuple[Individual, ...]
    evaluations: Count
    scheduled: tuple[Individual, ...] = ()
    improved: Count = 0
    exhaustive: bool = False
