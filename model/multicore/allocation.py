"""Allocations of node groups to cores: their space, costs, generations of a search, and bound."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from pydantic import Field

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.evaluation.objective import AllocationObjective, ScheduleQuantity
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.cn_layer import LayerNumber
from nestmap.model.units import Bits, Count, Cycles, PicoJoules

Allocation = tuple[CoreId, ...]
"""The core of each node group, in their order."""


class NodeGroup(Frozen, frozen=True):
    """A node group: nodes of a layer that read the same constants and so run on one core.

    ``cores`` are the ids of the cores it may run on, ascending.
    """

    layer: LayerNumber
    group: Count
    cores: tuple[CoreId, ...] = Field(min_length=1)


@final
@dataclass(frozen=True, eq=False)
class AllocationSpace:
    """All allocations of a workload: its node groups, and the group of each node."""

    groups: tuple[NodeGroup, ...]
    group_of: Ints

    @cached_property
    def free_groups(self) -> tuple[int, ...]:
        """The indices of the groups that may run on more than one core."""
        return tuple(i for i, gene in enumerate(self.groups) if len(gene.cores) > 1)

    @property
    def size(self) -> int:
        """The number of allocations."""
        total = 1
        for gene in self.groups:
            total *= len(gene.cores)
        return total

    def cores_of_nodes(self, allocation: Allocation) -> Ints:
        """The core of each node."""
        return np.asarray(allocation, dtype=np.int64)[self.group_of]


# --- allocations with their costs, and the generations of a genetic search ---


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
        return float(self.memory) if isinstance(objective, ScheduleQuantity) else objective.of(self)


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


# --- the result of the constraint engine: a lower bound on latency, and the best allocation ---


class StreamBound(Frozen, frozen=True):
    """The best allocation that was scheduled, and how far from the optimum it may be.

    Attributes:
        best: the one of least latency; ``None``: none of those that were tried can be scheduled.
        bound: no allocation has a lower latency (cycles).
        proven: whether no allocation has a lower latency than ``best``, or none can be scheduled.
        evaluations: how many allocations were scheduled.
    """

    best: Individual | None
    bound: Cycles
    proven: bool
    evaluations: Count

    @property
    def gap(self) -> float:
        """The largest share of the latency that a better allocation could save; 1 without any."""
        if self.proven:
            return 0.0
        if self.best is None or self.best.fitness is None:
            return 1.0
        latency = self.best.fitness.latency
        return (latency - self.bound) / latency if latency else 0.0
