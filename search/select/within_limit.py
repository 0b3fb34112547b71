"""Selects one mapping for each layer: the least cost of all under a limit on another cost.

A multiple-choice knapsack. The Lagrangian dual, with the multiplier at which the convex hulls of
the layers meet the limit, bounds it from below and gives a selection near to it (Sinha and
Zoltners, Operations Research 27(3), 1979). Dynamic programming over the layers closes what is left:
partial selections that the dual shows to be worse than the best one known are dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from nestmap.model import EvaluationBatch, front_rows
from nestmap.model.arrays import Rows
from nestmap.search.select.shortlist import Columns, Shortlist, shortlist

# --- the Pareto front of a stream of evaluations, without storing them ---


def pareto_front(batches: Iterable[EvaluationBatch]) -> Shortlist:
    """The Pareto-optimal (non-dominated) rows in energy and latency.

    Sorted by ascending energy and therefore descending latency; of equal rows, the first is kept.
    Utilization is not a separate objective: it is a layer's ideal cycles, which are the same for
    all its mappings, over the latency, which also includes the idle units of a spatial mapping.

    Raises:
        ValueError: if there is no batch at all.
    """
    return shortlist(batches, _costs, _front)


def _costs(batch: EvaluationBatch) -> Columns:
    return batch.energy, batch.latency2


def _front(columns: Columns) -> Rows:
    energy, latency = columns
    return front_rows(energy, latency)


Floats = npt.NDArray[np.float64]

MOST_STATES: Final = 2_000
"""The largest number of partial selections that are kept; of more, those with the least bound."""

_ROUNDING: Final = 1e-12


class Points(NamedTuple):
    """The mappings of a layer that are candidates: the cost, and what the limit is on."""

    cost: Floats
    used: Floats


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """The place of the selected mapping of each layer; no selection costs less than ``bound``."""

    places: tuple[int, ...]
    bound: float


class _Dual(NamedTuple):
    """The multiplier, its bound, and a selection that meets the limit."""

    multiplier: float
    bound: float
    places: list[int]


def select_within(layers: Sequence[Points], limit: float) -> Selection | None:
    """The selection with the least sum of costs whose sum of ``used`` is at most ``limit``.

    It is optimal where its cost is its bound; where more than :data:`MOST_STATES` partial
    selections compete, it may be above. ``None`` if no selection meets the limit.
    """
    allowed = limit * (1 + _ROUNDING)
    if sum(float(x.used.min()) for x in layers) > allowed:
        return None
    dual = _dual(layers, allowed)
    best, bound = _completed(layers, allowed, dual)
    return Selection(tuple(best), bound)


def _dual(layers: Sequence[Points], limit: float) -> _Dual:
    """Goes down the convex hulls of all layers, the cheapest saving first, until the limit."""
    hulls = [_hull(x) for x in layers]
    steps = sorted(
        ((x.cost[b] - x.cost[a]) / (x.used[a] - x.used[b]), layer, n)
        for layer, (x, hull) in enumerate(zip(layers, hulls, strict=True))
        for n, (a, b) in enumerate(pairwise(hull))
    )
    places = [hull[0] for hull in hulls]
    multiplier = 0.0
    for slope, layer, n in steps:
        if _used(layers, places) <= limit:
            break
        multiplier, places[layer] = float(slope), hulls[layer][n + 1]
    least = sum(float((x.cost + multiplier * x.used).min()) for x in layers)
    return _Dual(multiplier, least - multiplier * limit, places)


def _hull(points: Points) -> list[int]:
    """The places on the lower convex hull, from the least cost to the least use."""
    order: list[int] = np.lexsort((points.used, points.cost)).tolist()
    hull: list[int] = []
    for place in order:
        if hull and points.used[place] >= points.used[hull[-1]]:
            continue
        while len(hull) > 1 and _is_above(points, hull[-2], hull[-1], place):
            hull.pop()
        hull.append(place)
    return hull


def _is_above(points: Points, first: int, middle: int, last: int) -> bool:
    """Whether a point is on or above the line between two others."""
    cost, used = points
    rise = (cost[middle] - cost[first]) * (used[first] - used[last])
    return bool(rise >= (cost[last] - cost[first]) * (used[first] - used[middle]))


def _used(layers: Sequence[Points], places: Sequence[int]) -> float:
    return sum(float(x.used[n]) for x, n in zip(layers, places, strict=True))


def _cost(layers: Sequence[Points], places: Sequence[int]) -> float:
    return sum(float(x.cost[n]) for x, n in zip(layers, places, strict=True))


class _States(NamedTuple):
    """Partial selections: cost, use, what each is above the dual, and how it was made."""

    cost: Floats
    used: Floats
    above: Floats
    parent: Rows
    place: Rows


def _completed(layers: Sequence[Points], limit: float, dual: _Dual) -> tuple[list[int], float]:
    """The best selection by dynamic programming, and the bound of all."""
    known = _cost(layers, dual.places)
    margin = (known - dual.bound) * (1 + 1e-9) + abs(known) * _ROUNDING
    rest = _least_of_rest(layers)
    zero, none = np.zeros(1), np.zeros(1, np.intp)
    made = [_States(zero, zero, zero, none, none)]
    bound = known
    for layer, left in zip(layers, rest, strict=True):
        found = _extended(made[-1], layer, dual.multiplier, margin)
        found = _undominated(_kept(found, found.used + left <= limit))
        if len(found.cost) > MOST_STATES:
            order = np.argsort(found.above, kind="stable")
            bound = min(bound, dual.bound + float(found.above[order[MOST_STATES]]))
            found = _kept(found, np.sort(order[:MOST_STATES]))
        made.append(found)
    best = dual.places
    if len(made[-1].cost):
        traced = _traced(made, int(np.argmin(made[-1].cost)))
        best = min(best, traced, key=lambda places: _cost(layers, places))
    return best, min(max(bound, dual.bound), _cost(layers, best))


def _least_of_rest(layers: Sequence[Points]) -> list[float]:
    """What the layers after each use at least."""
    least = [float(x.used.min()) for x in layers]
    return [sum(least[n + 1 :]) for n in range(len(layers))]


def _extended(states: _States, layer: Points, multiplier: float, margin: float) -> _States:
    """Every state with every mapping of the next layer that is not too far above the dual.

    Only these are made: a front may have thousands of mappings.
    """
    reduced = layer.cost + multiplier * layer.used
    above = reduced - reduced.min()
    order = np.argsort(above, kind="stable")
    counts = np.searchsorted(above[order], margin - states.above, side="right")
    parent = np.repeat(np.arange(len(counts)), counts)
    place = order[np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)]
    return _States(
        states.cost[parent] + layer.cost[place],
        states.used[parent] + layer.used[place],
        states.above[parent] + above[place],
        parent,
        place,
    )


def _kept(states: _States, rows: npt.NDArray[np.bool_] | Rows) -> _States:
    return _States(
        states.cost[rows],
        states.used[rows],
        states.above[rows],
        states.parent[rows],
        states.place[rows],
    )


def _undominated(states: _States) -> _States:
    """Without those that another one beats in cost and use; of equal ones the first."""
    order = np.lexsort((states.used, states.cost))
    used = states.used[order]
    before = np.concatenate([[np.inf], np.minimum.accumulate(used)[:-1]]) if len(used) else used
    return _kept(states, order[used < before])


def _traced(made: Sequence[_States], last: int) -> list[int]:
    places: list[int] = []
    for states in reversed(made[1:]):
        places.append(int(states.place[last]))
        last = int(states.parent[last])
    return places[::-1]
