"""Computes the x of the nodes in each row: near their neighbours, and upright."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from nestmap.pipeline.render.svg.layered_layout.ranks import Links, Stop

_SWEEPS: Final = 12
_NODE_GAP: Final = 28.0
_BEND_GAP: Final = 14.0
_NODE: Final = 4.0
_BEND: Final = 1.0
_LEAF: Final = 0.05
_PASSING: Final = 1e-9
"""Weights in a crowded row: of edges that pass on, of inputs and results, of other edges."""


def centres(
    rows: Sequence[Sequence[Stop]], down: Links, up: Links, half: Mapping[Stop, float]
) -> dict[Stop, float]:
    """The x of each stop: near its neighbours, apart from the others in its row."""
    gaps = [_gaps(row, half) for row in rows]
    x: dict[Stop, float] = {}
    for row, apart in zip(rows, gaps, strict=True):
        x.update(zip(row, _apart([0.0] * len(row), [1.0] * len(row), apart), strict=True))
    weights = {s: _weight(s, down, up, half) for s in down}
    order = list(zip(rows, gaps, strict=True))
    for sweep in range(_SWEEPS):
        links, steps = (up, order) if sweep % 2 else (down, order[::-1])
        for row, apart in steps:
            wanted = [_pull(links[stop], weights, x, x[stop]) for stop in row]
            x.update(zip(row, _apart(wanted, [weights[s] for s in row], apart), strict=True))
    return _upright(rows, x)


def _upright(rows: Sequence[Sequence[Stop]], x: Mapping[Stop, float]) -> dict[Stop, float]:
    """The same with all stops that are alone in their row aligned vertically.

    Without this, a chain of blocks with skip edges on one side drifts sideways down the page.
    """
    shift = next((x[row[0]] for row in rows if len(row) == 1), 0.0)
    upright: dict[Stop, float] = {}
    for row in rows:
        shift = x[row[0]] if len(row) == 1 else shift
        upright.update((stop, x[stop] - shift) for stop in row)
    return upright


def _weight(stop: Stop, down: Links, up: Links, half: Mapping[Stop, float]) -> float:
    """The weight of a stop in a crowded row, and for its neighbours."""
    if half[stop]:
        return _NODE if up[stop] and down[stop] else _LEAF
    passes_on = not all(half[following] for following in down[stop])
    return _PASSING if passes_on else _BEND


def _pull(
    neighbours: Sequence[Stop],
    weights: Mapping[Stop, float],
    x: Mapping[Stop, float],
    otherwise: float,
) -> float:
    """The position that the neighbours pull a stop to."""
    heavy = sum(weights[stop] for stop in neighbours)
    return sum(weights[stop] * x[stop] for stop in neighbours) / heavy if heavy else otherwise


def _gaps(row: Sequence[Stop], half: Mapping[Stop, float]) -> list[float]:
    """The distance of each stop from the one before it."""
    gaps = [0.0]
    for left, right in pairwise(row):
        between = _NODE_GAP if half[left] and half[right] else _BEND_GAP
        gaps.append(half[left] + between + half[right])
    return gaps


def _apart(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The positions nearest to the wanted ones (weighted squares) with at least these gaps.

    Pools of neighbours that push each other are centred around their common mean.
    """
    offset, offsets = 0.0, list[float]()
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for place, weight, gap in zip(wanted, weights, gaps, strict=True):
        offset += gap
        offsets.append(offset)
        pools.append((place - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (mean, heavy, many), (other, light, few) = pools.pop(), pools.pop()
            both = heavy + light
            pools.append(((mean * heavy + other * light) / both, both, many + few))
    means = (mean for mean, _, many in pools for _ in range(many))
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
