"""Bounds of energy and latency from sums of resources, and what is worth following."""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.skipping import skippable_cycles
from nestmap.model import MappingType, Objective
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.incumbents import Incumbents
from nestmap.search.temporal.exact.resources import (
    ENERGY,
    LOAD,
    LOADS,
    OFF_LOAD,
    ONCE,
    OWN_LOADS,
    SHARED_LOADS,
    STALL,
    TOTAL,
    Resources,
)


class Goal(NamedTuple):
    """What a search looks for: which costs are worth following.

    For a front, a path is followed unless the ``energies`` and ``latencies`` at one place, those of
    an incumbent, are both at most its bounds. For one objective these do not count: the bound of
    the objective has to be below the limit of the search.
    """

    counts_energy: bool  # the objective is the product of what counts
    counts_latency: bool
    is_front: bool
    is_even: bool
    energies: Floats  # [n] incumbents of a front; infinite where there is room for more
    latencies: Floats
    share: float  # of an incumbent's costs, below which a mapping is of interest


def goal_of(known: Incumbents, mapping_type: MappingType, room: int = 0) -> Goal:
    """The goal to improve on the best costs known, with ``room`` for more points of a front."""
    energies, latencies = np.full((2, len(known.costs) + room), np.inf)
    for n, (energy, latency) in enumerate(known.costs):
        energies[n], latencies[n] = energy * known.share, latency * known.share
    return Goal(
        counts_energy=known.objective is not Objective.LATENCY,
        counts_latency=known.objective is not Objective.ENERGY,
        is_front=known.objective is None,
        is_even=mapping_type is MappingType.EVEN,
        energies=energies,
        latencies=latencies,
        share=known.share,
    )


@kernel
def is_energy_alone(problem: FlatProblem, goal: Goal) -> bool:
    """Whether energy is all that counts, and a sum over boundaries: nothing leaks."""
    return bool(not goal.counts_latency and problem.leakage == 0.0)


class Rule(NamedTuple):
    """How resources become costs, and which of these are worth following."""

    computation: float  # pJ
    leakage: float  # pJ a cycle
    cycles: float  # of computation without stall
    constant: float  # cycles of drain, minus those that zeros skip
    goal: Goal


@kernel
def rule_of(problem: FlatProblem, steps: float, goal: Goal) -> Rule:
    """The rule of a problem with so many iterations in time."""
    return Rule(
        float(problem.computation),
        float(problem.leakage),
        float(np.ceil(steps * problem.cycles_per_operation)),
        float(problem.drain - skippable_cycles(problem, steps)),
        goal,
    )


@kernel
def costs_of(rule: Rule, resources: Resources, spent: Floats, late: float) -> tuple[float, float]:
    """Bounds of energy (pJ) and latency (cycles) of a path that spends at least ``spent`` [k].

    It stalls for at least ``late`` cycles.
    """
    energy, stall, least = 0.0, late, 0.0
    load = np.zeros(LOADS)
    for k in range(len(spent)):
        kind = resources.kind[k]
        if kind == ENERGY:
            energy = spent[k]
        elif kind == STALL:
            stall = max(stall, spent[k] - resources.offset[k])
        elif kind == TOTAL:
            least = max(least, spent[k] - resources.offset[k])
        elif kind >= LOAD:
            n = (kind - LOAD) % LOADS
            load[n] = max(load[n], spent[k])
    computing = rule.cycles + stall
    loading = _onloading(load) + load[OFF_LOAD]
    for k in range(len(spent)):
        if resources.kind[k] == ONCE:
            free = max(0.0, (resources.width[k] - spent[resources.busy[k]]) / resources.width[k])
            loading = max(loading, spent[k] - free * computing)
    latency = max(computing + loading, least) + rule.constant
    return rule.computation + energy + rule.leakage * latency, latency


@kernel
def _onloading(load: Floats) -> float:
    """Cycles of loading both inputs: the better of two sequences, as in the cost model."""
    shared = load[SHARED_LOADS] + load[SHARED_LOADS + 1]
    first, second = load[OWN_LOADS], load[OWN_LOADS + 1]
    return float(
        min(
            max(shared + second, load[SHARED_LOADS] + first),
            max(shared + first, load[SHARED_LOADS + 1] + second),
        )
    )


@kernel
def objective_of(goal: Goal, energy: float, latency: float) -> float:
    """The objective of these costs; of a front their product."""
    value = 1.0
    if goal.counts_energy:
        value *= energy
    if goal.counts_latency:
        value *= latency
    return value


@kernel
def is_worth(goal: Goal, energy: float, latency: float, limit: float) -> bool:
    """Whether a path with these bounds may still lead to a better mapping."""
    if goal.is_front:
        for n in range(len(goal.energies)):
            if goal.energies[n] <= energy and goal.latencies[n] <= latency:
                return False
        return True
    return objective_of(goal, energy, latency) < limit


@kernel
def add_to_front(goal: Goal, energy: float, latency: float) -> None:
    """Adds a point to the incumbents if there is room."""
    for n in range(len(goal.energies)):
        if goal.energies[n] == np.inf:
            goal.energies[n], goal.latencies[n] = energy * goal.share, latency * goal.share
            return
