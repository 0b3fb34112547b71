"""What a search of one spatial mapping reads: lattice, resources, remainders, capacity."""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.skipping import skippable_cycles
from nestmap.model import Loop, MappingProblem, MappingType, Objective, SpatialProblem
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.capacity import Capacity, capacity_of, forbid
from nestmap.search.temporal.exact.lattice import Lattice, count_points, lattice_of
from nestmap.search.temporal.exact.objective_bound import Rule, costs_of, objective_of
from nestmap.search.temporal.exact.remainders import remainders
from nestmap.search.temporal.exact.resources import Resources, all_resources, energy_resource
from nestmap.search.temporal.ordering import PinnedOrder

MOST_CELLS = 20_000_000
"""Cells of the largest table: 160 MB."""


class Space(NamedTuple):
    """Everything that the kernels of a search read."""

    lattice: Lattice
    resources: Resources
    least: Floats  # [k, x, l, p] remainders
    capacity: Capacity
    rule: Rule


class Prepared(NamedTuple):
    """The orders of one way to meet the user's ordering, prepared for a search."""

    spatial: SpatialProblem
    flat: FlatProblem
    factors: tuple[Loop, ...]
    space: Space
    is_even: bool
    is_sum: bool  # the objective is what a path spends, so that the least of it is the optimum

    @property
    def is_feasible(self) -> bool:
        """Whether every operand on its own fits its memories."""
        return bool(np.isfinite(self.space.least[0, :, 0, 0]).all())


def prepare(
    spatial: SpatialProblem,
    pinned: PinnedOrder,
    objective: Objective | None,
    mapping_type: MappingType,
) -> Prepared:
    """The space of the orders of these loops; without an objective for a front.

    :func:`is_too_large` tells beforehand whether its tables would take too much memory.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    flat, is_even = flatten(spatial), mapping_type is MappingType.EVEN
    lattice, factors = lattice_of(spatial, pinned)
    energy_alone = objective is Objective.ENERGY and flat.leakage == 0.0
    work, rule = new_record(Work), _rule(flat, spatial, objective)
    if energy_alone:
        resources = energy_resource(flat, work, lattice)
    else:
        resources = all_resources(flat, lattice)
    space = space_of(flat, work, lattice, resources, rule, is_even)
    is_sum = energy_alone and not is_even and not reuses_windows(spatial.problem)
    return Prepared(spatial, flat, factors, space, is_even, is_sum)


def reuses_windows(problem: MappingProblem) -> bool:
    """Whether what a tile of the layer loads depends on the order of the loops above it."""
    levels = (level for x in problem.layer.inputs for level in problem.levels(x.name))
    return any(level.instance.window_reuse for level in levels)


@kernel
def space_of(
    problem: FlatProblem,
    work: Work,
    lattice: Lattice,
    resources: Resources,
    rule: Rule,
    even: bool,
) -> Space:
    """The tables of a search; changes what is spent to what may be, and the work arrays."""
    if even:
        _relax(problem, lattice, resources.spent)
    capacity = capacity_of(problem, work, lattice)
    forbid(problem, lattice, capacity, resources.spent)
    least = remainders(problem, lattice, resources.spent)
    return Space(lattice, resources, least, capacity, rule)


def is_too_large(spatial: SpatialProblem, pinned: PinnedOrder, objective: Objective | None) -> bool:
    """Whether the tables of these orders would take too much memory."""
    flat = flatten(spatial)
    alone = objective is Objective.ENERGY and flat.leakage == 0.0
    kinds = 1 if alone else 15 * int(flat.ports) + 6
    cells = count_points(pinned) * kinds * flat.operands * (max(flat.levels) + 1)
    return bool(cells > MOST_CELLS)


def origin_bounds(prepared: Prepared) -> tuple[float, float]:
    """Bounds of energy (pJ) and latency (cycles) of all mappings, from the remainders alone."""
    space = prepared.space
    energy, latency = costs_of(space.rule, space.resources, space.least[:, :, 0, 0].sum(axis=1))
    return float(energy), float(latency)


def origin_bound(prepared: Prepared) -> float:
    """The bound of the objective of all mappings, from the remainders alone."""
    return float(objective_of(prepared.space.rule, *origin_bounds(prepared)))


def _rule(flat: FlatProblem, spatial: SpatialProblem, objective: Objective | None) -> Rule:
    steps = prod(spatial.temporal_sizes.values())
    cycles = steps * float(flat.cycles_per_operation)
    return Rule(
        computation=float(flat.computation),
        leakage=float(flat.leakage),
        cycles=float(ceil(cycles)),
        constant=float(flat.drain - skippable_cycles(flat, float(steps))),
        counts_energy=objective is not Objective.LATENCY,
        counts_latency=objective is not Objective.ENERGY,
        is_front=objective is None,
        energies=np.empty(0),
        latencies=np.empty(0),
    )


@kernel
def _relax(problem: FlatProblem, lattice: Lattice, spent: Floats) -> None:
    """The least of crossing here and keeping the data in place while ir loops run.

    Cuts of even mappings may not move past these loops, but the data stays in place.
    """
    for k in range(len(spent)):
        for x in range(problem.operands):
            for level in range(problem.levels[x]):
                for p in range(len(lattice.depth) - 1, -1, -1):
                    for f in range(len(lattice.factors)):
                        q = lattice.step[p, f]
                        if q >= 0 and problem.relevance[x, lattice.factors[f, 0]] == IRRELEVANT:
                            value = min(spent[k, x, level, p], spent[k, x, level, q])
                            spent[k, x, level, p] = value
