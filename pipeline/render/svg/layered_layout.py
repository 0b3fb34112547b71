"""Places the nodes and edges of an acyclic graph in rows, producers above consumers."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, final

import networkx as nx

from nestmap.pipeline.render.svg.elements import Box, Point

# --- assigns the nodes of an acyclic graph to rows, and orders each row ---
# Sugiyama, Tagawa, Toda, IEEE Trans. SMC 11(2), 1981: rows by longest paths, edges that pass a row
# get a bend there, orders of a row by barycentres. Edges of one producer share their bends.

_ORDER_SWEEPS: Final = 12


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
    for sweep in range(_ORDER_SWEEPS):
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


_ROW_GAP: Final = 26.0
_SLOPE: Final = 0.12
"""The extra height between two rows for edges with a large horizontal distance."""
_MOST_EXTRA: Final = 120.0
_COMPONENT_GAP: Final = 48.0
_STRAIGHT: Final = 1e-6
_SHELF: Final = 1200.0
"""Connected components are placed side by side up to this width."""

_SWEEPS: Final = 12
_NODE_GAP: Final = 28.0
_BEND_GAP: Final = 14.0
_NODE: Final = 4.0
_BEND: Final = 1.0
_LEAF: Final = 0.05
_PASSING: Final = 1e-9
"""Weights in a crowded row: of edges that pass on, of inputs and results, of other edges."""


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The box of each node and the path of each edge, on a page of this size.

    An edge is a sequence of points: straight down from the first to the second, over to the third
    between two rows, straight down to the fourth past rows, and so on.
    """

    width: float
    height: float
    boxes: Mapping[str, Box]
    edges: Mapping[tuple[str, str], tuple[Point, ...]]


def layered(graph: nx.DiGraph[str], width: float, heights: Mapping[str, float]) -> Layout:
    """The layout of an acyclic graph with boxes of one width and these heights.

    Boxes overlap neither boxes nor edges.
    """
    parts = [_connected(part, width, heights) for part in _parts(graph)]
    return _shelved(sorted(parts, key=lambda part: -part.height))


def _parts(graph: nx.DiGraph[str]) -> Iterator[nx.DiGraph[str]]:
    """The connected components, in graph order, independent of the hash seed."""
    position = {node: i for i, node in enumerate(graph)}
    for nodes in nx.weakly_connected_components(graph):
        part: nx.DiGraph[str] = nx.DiGraph()
        in_order = sorted(nodes, key=position.__getitem__)
        part.add_nodes_from(in_order)
        part.add_edges_from((node, reader) for node in in_order for reader in graph[node])
        yield part


@final
@dataclass(frozen=True, slots=True)
class _Grid:
    """The row of each node, the x of each stop, and the bounds of each row."""

    ranks: Mapping[str, int]
    x: Mapping[Stop, float]
    tops: Sequence[float]
    bottoms: Sequence[float]

    def over(self, here: Stop, there: Stop) -> tuple[Point, ...]:
        """The points from one row to the next; none if the path is straight."""
        if abs(self.x[here] - self.x[there]) < _STRAIGHT:
            return ()
        start = Point(self.x[here], self.bottoms[here.row])
        return (start, Point(self.x[there], self.tops[there.row]))


def _connected(graph: nx.DiGraph[str], width: float, heights: Mapping[str, float]) -> Layout:
    ranks = ranks_of(graph)
    down = links_between(graph, ranks)
    up = turned(down)
    rows = ordered(first_order(down, up), down, up)
    half = {stop: width / 2 if ranks[stop.node] == stop.row else 0.0 for stop in down}
    x = centres(rows, down, up, half)
    left = min(x[stop] - half[stop] for stop in x)
    x = {stop: centre - left for stop, centre in x.items()}
    grid = _Grid(ranks, x, *_row_bounds(rows, down, x, _row_heights(ranks, heights)))
    boxes = {node: _box(grid, node, Point(width, heights[node])) for node in graph}
    edges = {
        (source, reader): way
        for source in graph
        for reader, way in _ways(grid, source, graph.successors(source), boxes)
    }
    return Layout(max(x[stop] + half[stop] for stop in x), grid.bottoms[-1], boxes, edges)


def _box(grid: _Grid, node: str, size: Point) -> Box:
    """The box of a node, centred in its row."""
    row = grid.ranks[node]
    y = (grid.tops[row] + grid.bottoms[row] - size.y) / 2
    return Box(grid.x[Stop(node, row)] - size.x / 2, y, *size)


def _ways(
    grid: _Grid, source: str, readers: Iterable[str], boxes: Mapping[str, Box]
) -> Iterator[tuple[str, tuple[Point, ...]]]:
    """The paths to all readers, which share their points as far as possible."""
    row, box = grid.ranks[source], boxes[source]
    way = [Point(grid.x[Stop(source, row)], box.y + box.height)]
    for reader in sorted(readers, key=grid.ranks.__getitem__):
        end = Stop(reader, grid.ranks[reader])
        while row < end.row - 1:
            way.extend(grid.over(Stop(source, row), Stop(source, row + 1)))
            row += 1
        last = Point(grid.x[end], boxes[reader].y)
        yield reader, (*way, *grid.over(Stop(source, row), end), last)


def _row_heights(ranks: Mapping[str, int], heights: Mapping[str, float]) -> list[float]:
    """The height of the highest node of each row."""
    highest = [0.0] * (1 + max(ranks.values()))
    for node, row in ranks.items():
        highest[row] = max(highest[row], heights[node])
    return highest


def _row_bounds(
    rows: Sequence[Sequence[Stop]], down: Links, x: Mapping[Stop, float], heights: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The bounds of each row; wide edges get more vertical space."""
    tops, bottoms, y = list[float](), list[float](), 0.0
    for row, height in zip(rows, heights, strict=True):
        tops.append(y)
        bottoms.append(y + height)
        aside = max((abs(x[a] - x[b]) for a in row for b in down[a]), default=0.0)
        y += height + _ROW_GAP + min(_MOST_EXTRA, _SLOPE * aside)
    return tops, bottoms


def _shelved(parts: Sequence[Layout]) -> Layout:
    """The components on one page, side by side, in rows."""
    boxes: dict[str, Box] = {}
    edges: dict[tuple[str, str], tuple[Point, ...]] = {}
    width = bottom = 0.0
    for part, corner in zip(parts, _corners(parts), strict=True):
        for node, box in part.boxes.items():
            boxes[node] = box._replace(x=box.x + corner.x, y=box.y + corner.y)
        for edge, way in part.edges.items():
            edges[edge] = tuple(Point(p.x + corner.x, p.y + corner.y) for p in way)
        width = max(width, corner.x + part.width)
        bottom = max(bottom, corner.y + part.height)
    return Layout(width, bottom, boxes, edges)


def _corners(parts: Sequence[Layout]) -> Iterator[Point]:
    most = max(_SHELF, *(part.width for part in parts), 0.0)
    x = y = shelf = 0.0
    for part in parts:
        if x and (x + part.width > most or part.height < shelf / 2):
            x, y, shelf = 0.0, y + shelf + _COMPONENT_GAP, 0.0
        yield Point(x, y)
        x, shelf = x + part.width + _COMPONENT_GAP, max(shelf, part.height)


# --- the x of the nodes in each row ---


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
