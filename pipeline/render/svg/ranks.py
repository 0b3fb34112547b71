"""Assigns the nodes of an acyclic graph to rows, and orders each row.

Sugiyama, Tagawa, Toda, IEEE Trans. SMC 11(2), 1981: rows by longest paths, edges that pass a row
get a bend there, orders of a row by barycentres. Edges of one producer share their bends.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import networkx as nx

_SWEEPS: Final = 12


class Stop(NamedTuple):
    """A position in a row: a node, or a bend of the edges of a node in an earlier row."""

    node: str
    row: int


Links = Mapping[Stop, Sequence[Stop]]
"""The neighbours of each stop in the next row, or in the row before."""


def ranks_of(graph: nx.DiGraph[str]) -> dict[str, int]:
    """The row of each node: below its last producer; side inputs directly above their readers."""
    generations = list(nx.topological_generations(graph))
    ranks = {node: row for row, nodes in enumerate(generations) for node in nodes}
    aside: set[str] = set()  # side inputs: their producers have no other reader
    for node in ranks:
        producers = list(graph.predecessors(node))
        if all(x in aside and graph.out_degree(x) == 1 for x in producers):
            aside.add(node)
    for node in reversed(ranks):
        if node in aside and graph.out_degree(node):
            ranks[node] = min(ranks[reader] for reader in graph.successors(node)) - 1
    return ranks


def links_between(graph: nx.DiGraph[str], ranks: Mapping[str, int]) -> dict[Stop, list[Stop]]:
    """The links from each stop to the stops of the next row."""
    links: dict[Stop, list[Stop]] = {}
    for node, row in ranks.items():
        last = max((ranks[reader] for reader in graph.successors(node)), default=row + 1)
        for passed in range(row, last):
            links[Stop(node, passed)] = [Stop(node, passed + 1)] if passed + 1 < last else []
        for reader in graph.successors(node):
            links[Stop(node, ranks[reader] - 1)].append(Stop(reader, ranks[reader]))
    return links


def turned(links: Links) -> dict[Stop, list[Stop]]:
    """The links in the opposite direction."""
    back: dict[Stop, list[Stop]] = {stop: [] for stop in links}
    for stop, nexts in links.items():
        for following in nexts:
            back[following].append(stop)
    return back


def first_order(down: Links, up: Links) -> list[list[Stop]]:
    """The stops by row, in depth-first order."""
    rows: list[list[Stop]] = [[] for _ in range(1 + max(stop.row for stop in down))]
    seen: set[Stop] = set()
    stack = [stop for stop in down if not up[stop]][::-1]
    while stack:
        stop = stack.pop()
        if stop not in seen:
            seen.add(stop)
            rows[stop.row].append(stop)
            stack.extend(down[stop][::-1])
    return rows


def ordered(rows: list[list[Stop]], down: Links, up: Links) -> list[list[Stop]]:
    """The rows, with their stops ordered to reduce crossings."""
    best, fewest = rows, _crossings(rows, down)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        rows = _swept(rows, up) if sweep % 2 == 0 else _swept(rows[::-1], down)[::-1]
        crossings = _crossings(rows, down)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _swept(rows: Sequence[Sequence[Stop]], links: Links) -> list[list[Stop]]:
    """Each row ordered by the middle of the neighbours in the row before it."""
    swept: list[list[Stop]] = []
    places: dict[Stop, float] = {}
    for row in rows:
        wanted = {stop: _mean(links[stop], places, i) for i, stop in enumerate(row)}
        swept.append(sorted(row, key=wanted.__getitem__))
        places.update((stop, i) for i, stop in enumerate(swept[-1]))
    return swept


def _mean(stops: Sequence[Stop], values: Mapping[Stop, float], otherwise: float) -> float:
    return sum(values[stop] for stop in stops) / len(stops) if stops else otherwise


def _crossings(rows: Sequence[Sequence[Stop]], down: Links) -> int:
    """The number of crossings."""
    places = {stop: i for row in rows for i, stop in enumerate(row)}
    crossings = 0
    for row in rows:
        ends: list[int] = []
        for stop in row:
            targets = [places[target] for target in down[stop]]
            crossings += sum(len(ends) - bisect_right(ends, target) for target in targets)
            for target in targets:
                insort(ends, target)
    return crossings
