"""One chain of simulated annealing over loop orders, compiled: swap, allocate, cost, accept."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from nestmap.costmodel.evaluate_rows import Columns, evaluate_row, load_order, write_costs
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.model.arrays import Codes, Floats, Ints
from nestmap.search.temporal.memory_allocation import (
    Failures,
    Scratch,
    allocate,
    new_scratch,
    write_cuts,
)


@final
class Rules:
    """Which loops a chain may swap, its objective, and its cooling schedule."""

    first: int  # range of positions whose loops may be swapped
    end: int
    counts_energy: int  # the objective is the product of the selected figures
    counts_latency: int
    even: int
    temperature: float  # initial temperature, relative to the objective, so without unit
    cooling: float  # factor on the temperature after each step


class VisitedOrders(NamedTuple):
    """The feasible orders that a chain visited, one row each, in the order of visits."""

    orders: Codes
    cuts: Codes
    columns: Columns

    @classmethod
    def allocate(cls, problem: FlatProblem, rows: int, loops: int) -> VisitedOrders:
        """Arrays for so many rows."""
        return cls(
            np.empty((rows, loops), np.uint8),
            np.empty((rows, problem.operands, max(problem.levels)), np.uint8),
            Columns(np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)),
        )

    def head(self, rows: int) -> VisitedOrders:
        """The first rows."""
        columns = Columns(*(column[:rows] for column in self.columns))
        return VisitedOrders(self.orders[:rows], self.cuts[:rows], columns)


class Chain(NamedTuple):
    """The start of a chain and all of its random numbers.

    ``order`` is the first order and serves as scratch; ``draws`` (steps x 3) has the random numbers
    of each step: two from [0, 1) that select the swap, an exponential one that decides acceptance.
    """

    rules: Rules
    order: Codes
    draws: Floats


def anneal(problem: FlatProblem, factors: Ints, walk: Chain, failures: Failures) -> VisitedOrders:
    """Evaluates one order per step; ``failures`` counts the infeasible ones."""
    visited = VisitedOrders.allocate(problem, len(walk.draws), len(walk.order))
    return visited.head(_anneal(problem, new_scratch(failures), factors, walk, visited))


@kernel
def _anneal(
    problem: FlatProblem,
    scratch: Scratch,
    factors: Ints,
    walk: Chain,
    visited: VisitedOrders,
) -> int:
    """Fills ``visited``; returns the number of rows.

    Acceptance follows Metropolis: an order that is worse by the share ``r`` is accepted with
    probability ``exp(-r / temperature)``, the probability that an exponential draw is at least that
    large. An infeasible order has infinite cost: until one fits, every swap is accepted.
    """
    rules, order, draws = walk.rules, walk.order, walk.draws
    work = scratch.work
    rows, current, temperature, a, b = 0, np.inf, rules.temperature, 0, 0
    for step in range(len(draws)):
        if step > 0:
            a, b = _choose_swap(rules, order, draws[step, 0], draws[step, 1])
        order[a], order[b] = order[b], order[a]
        load_order(work, factors, order)
        value = np.inf
        if allocate(problem, scratch, rules.even == 1):
            value = _visit(problem, work, rules, visited, rows)
            for n in range(len(order)):
                visited.orders[rows, n] = order[n]
            rows += 1
        if value <= current * (1 + temperature * draws[step, 2]):
            current = value
        else:
            order[a], order[b] = order[b], order[a]
        temperature *= rules.cooling
    return rows


@kernel
def _choose_swap(rules: Rules, order: Codes, one: float, other: float) -> tuple[int, int]:
    """Two positions with different loops, if there are any; both draws are from [0, 1)."""
    a = rules.first + int(one * (rules.end - rules.first))
    different = 0
    for b in range(rules.first, rules.end):
        different += int(order[b] != order[a])
    skip = int(other * different)
    for b in range(rules.first, rules.end):
        if order[b] != order[a]:
            if skip == 0:
                return a, b
            skip -= 1
    return a, a


@kernel
def _visit(
    problem: FlatProblem, work: Work, rules: Rules, visited: VisitedOrders, row: int
) -> float:
    """Records cuts and costs of the mapping in the work arrays; returns its objective."""
    write_cuts(problem, work, visited.cuts, row)
    write_costs(problem, evaluate_row(problem, work), visited.columns, row)
    value = 1.0
    if rules.counts_energy == 1:
        value *= visited.columns.energy[row]
    if rules.counts_latency == 1:
        value *= visited.columns.latency2[row]
    return value
