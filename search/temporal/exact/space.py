"""What a search of one spatial mapping reads: lattice, resources, remainders, capacity."""

from math import prod
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Loop, MappingProblem, SpatialProblem
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.capacity import Capacity, capacity_of, forbid
from nestmap.search.temporal.exact.lattice import Lattice, count_points, lattice_of, most_levels
from nestmap.search.temporal.exact.objective_bound import (
    Goal,
    Rule,
    costs_of,
    is_energy_alone,
    objective_of,
    rule_of,
)
from nestmap.search.temporal.exact.resources import Resources, all_resources, energy_resource
from nestmap.search.temporal.exact.shared_memories import Shared, shared_memories
from nestmap.search.temporal.ordering import PinnedOrder

# The least that an operand still spends from any point on, if it had the memories to itself


@kernel
def remainders(problem: FlatProblem, lattice: Lattice, spent: Floats) -> Floats:
    """[k, x, l, p] least of each resource to cross boundaries ``l`` and above from ``p`` on.

    ``spent`` [k, x, l, p] is what crossing a boundary at a point spends. The resources of operands
    add up, so the sum over the operands bounds every way to complete an order from below. Only the
    first resource, energy, tells where nothing fits, if an operand spends nothing of another one.
    """
    least = np.zeros(spent.shape)
    for k in range(len(spent)):
        for x in range(problem.operands):
            if k == 0 or _is_spent(spent[k, x]):
                accumulate(lattice, spent[k, x], problem.levels[x], least[k, x])
    return least


@kernel
def _is_spent(spent: Floats) -> bool:
    """Whether any crossing that is possible spends something."""
    for level in range(spent.shape[0]):
        for p in range(spent.shape[1]):
            if 0.0 < spent[level, p] < np.inf:
                return True
    return False


@kernel
def accumulate(lattice: Lattice, spent: Floats, top: int, least: Floats) -> None:
    """Fills [l, p] the least of one resource for one operand with ``top`` memory levels.

    A minimum over all later points, boundary by boundary from the outermost.
    """
    last = len(lattice.depth) - 1
    least[top] = spent[top, last]
    for level in range(top - 1, -1, -1):
        for p in range(last, -1, -1):
            value = spent[level, p] + least[level + 1, p]
            for f in range(len(lattice.factors)):
                after = lattice.step[p, f]
                if after >= 0:
                    value = min(value, least[level, after])
            least[level, p] = value


MOST_CELLS = 20_000_000
"""Cells of the largest table: 160 MB."""


class Space(NamedTuple):
    """Everything that the kernels of a search read."""

    lattice: Lattice
    resources: Resources
    least: Floats  # [k, x, l, p] remainders
    capacity: Capacity
    rule: Rule
    shared: Shared


class Prepared(NamedTuple):
    """The orders of one way to meet the user's ordering, prepared for a search."""

    spatial: SpatialProblem
    flat: FlatProblem
    factors: tuple[Loop, ...]
    space: Space
    is_sum: bool  # the objective is what a path spends, so that the least of it is the optimum

    @property
    def is_feasible(self) -> bool:
        """Whether every operand on its own fits its memories."""
        return bool(np.isfinite(self.space.least[0, :, 0, 0]).all())


def prepare(spatial: SpatialProblem, pinned: PinnedOrder, goal: Goal) -> Prepared:
    """The space of the orders of these loops.

    :func:`is_too_large` tells beforehand whether its tables would take too much memory.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    flat, steps = flatten(spatial), float(prod(spatial.temporal_sizes.values()))
    lattice, factors = lattice_of(spatial, pinned)
    space = space_of(flat, new_record(Work), lattice, steps, goal)
    is_sum = is_energy_alone(flat, goal) and not reuses_windows(spatial.problem)
    return Prepared(spatial, flat, factors, space, is_sum)


def reuses_windows(problem: MappingProblem) -> bool:
    """Whether what a tile of the layer loads depends on the order of the loops above it."""
    levels = (level for x in problem.layer.inputs for level in problem.levels(x.name))
    return any(level.instance.window_reuse for level in levels)


def space_of(problem: FlatProblem, work: Work, lattice: Lattice, steps: float, goal: Goal) -> Space:
    """The tables of a search over so many iterations; the work arrays are scratch.

    Python chooses the resources: a kernel with both takes half as long again to compile.
    """
    if is_energy_alone(problem, goal):
        resources = energy_resource(problem, work, lattice)
    else:
        resources = all_resources(problem, work, lattice)
    return space_with(problem, work, lattice, resources, rule_of(problem, steps, goal))


@kernel
def space_with(
    problem: FlatProblem, work: Work, lattice: Lattice, resources: Resources, rule: Rule
) -> Space:
    """The tables with these resources; changes what is spent to what may be."""
    capacity = capacity_of(problem, work, lattice)
    forbid(problem, lattice, capacity, resources.spent)
    least = remainders(problem, lattice, resources.spent)
    shared = shared_memories(problem, rule.goal.is_even)
    return Space(lattice, resources, least, capacity, rule, shared)


def is_too_large(spatial: SpatialProblem, pinned: PinnedOrder, goal: Goal) -> bool:
    """Whether the tables of these orders would take too much memory."""
    return bool(has_too_many_cells(flatten(spatial), count_points(pinned), goal))


@kernel
def has_too_many_cells(problem: FlatProblem, points: int, goal: Goal) -> bool:
    """Whether the tables of so many points would take too much memory."""
    kinds = 1 if is_energy_alone(problem, goal) else 15 * problem.ports + 11
    return bool(points * kinds * problem.operands * (most_levels(problem) + 1) > MOST_CELLS)


@kernel
def origin_bounds(space: Space) -> tuple[float, float]:
    """Bounds of energy (pJ) and latency (cycles) of all mappings, from the remainders alone."""
    spent = np.zeros(len(space.least))
    for k in range(len(spent)):
        for x in range(space.least.shape[1]):
            spent[k] += space.least[k, x, 0, 0]
    if spent[0] == np.inf:
        return np.inf, np.inf
    energy, latency = costs_of(space.rule, space.resources, spent, 0.0)
    return float(energy), float(latency)


def origin_bound(space: Space) -> float:
    """The bound of the objective of all mappings, from the remainders alone."""
    return float(objective_of(space.rule.goal, *origin_bounds(space)))
