"""Fits a mapping of cores to a network: names that layers share, and tilings by position.

Mapping files of present Stream name dimensions by their position in each operator, ``D6`` of a
convolution being its output channels, and cut the members of a fused group along a dimension of one
of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.errors import InputError, suggestion, warn_of_input
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.model.multicore.core_constraints import CoreAllocation, CoreMapping, GroupTiling
from nestmap.model.multicore.split_options import HintLoop, Hints
from nestmap.model.workload.affine import AffineIndex
from nestmap.model.workload.graph import LayerNode, NoCostNode, VectorNode, Workload

_CONVOLUTION: tuple[Dimension, ...] = ("B", "OX", "OY", "FX", "FY", "C", "K", "G")
_PRODUCT: tuple[Dimension, ...] = ("D", "C", "K")


def resolve_names(mapping: CoreMapping, workload: Workload) -> CoreMapping:
    """The same for a network: an entry for each layer of a name, and dimensions by their names.

    Raises:
        InputError: if a fused group is cut along a node that the network does not have.
    """
    named = [
        copy_with(mapping.by_target[layer.alias], {"target": layer.name})
        for layer in workload.layers
        if layer.alias in mapping.by_target and layer.name not in mapping.by_target
    ]
    entries = (*mapping.entries, *named)
    if not mapping.groups and not any(entry.placed for entry in entries):
        return CoreMapping(entries=entries) if named else mapping
    return _placed(CoreMapping(entries=entries), mapping.groups, _Axes(workload))


def stream_dimensions(node: LayerNode | VectorNode) -> tuple[Dimension | None, ...]:
    """The dimensions of a node in Stream's order; ``None`` for one that a loop nest here lacks.

    Convolutions have B, OX, OY, FX, FY, C, K, G; products their stacks, then rows, inner elements
    and columns; vector operators the axes of their output.
    """
    if isinstance(node, VectorNode):
        return tuple(index.terms[0].dimension for index in _output(node))
    sizes = node.layer.sizes
    if "OX" in sizes:
        return tuple(name if name in sizes else None for name in _CONVOLUTION)
    if set(_PRODUCT) & set(sizes):
        stacks = tuple(name for name in sizes if name not in _PRODUCT)
        return (*stacks, *(name if name in sizes else None for name in _PRODUCT))
    return tuple(sizes)


def _placed(mapping: CoreMapping, groups: Sequence[GroupTiling], axes: _Axes) -> CoreMapping:
    tiled = _group_tilings(groups, axes)
    made = {entry.target: copy_with(entry, {"placed": ()}) for entry in mapping.entries}
    for node in axes.computed.values():
        entry = mapping.of(node.name, node.operator)
        intra = tiled.get(node.name, entry.intra)
        # cores of the default entry are meant for layers
        is_own = entry.target != DEFAULT_TARGET or not entry.cores or isinstance(node, LayerNode)
        if is_own and (entry.placed or intra):
            changes = {"target": node.name, "inter": _inter(entry, node), "intra": intra}
            made[node.name] = copy_with(entry, {**changes, "placed": ()})
    return CoreMapping(entries=tuple(made.values()))


def _inter(entry: CoreAllocation, node: LayerNode | VectorNode) -> Hints:
    """The loops of an entry, with names for those that are given by position."""
    known, sizes, loops = stream_dimensions(node), _sizes(node), list(entry.inter)
    for each in entry.placed:
        if each.position >= len(known):
            has = f"D0 to D{len(known) - 1}" if known else "no known dimensions"
            found = f"D{each.position} of {node.name}, which has {has}"
            warn_of_input(
                entry.places.of("inter_core_tiling", "mapping"),
                found,
                "one of these: it is skipped",
            )
        elif (name := known[each.position]) is not None:
            loops.append(_loop(name, each.parts, sizes))
    return tuple(loops)


def _loop(name: Dimension, parts: int, sizes: Mapping[Dimension, int]) -> HintLoop:
    return HintLoop(dimension=name, tiles=parts if parts < sizes[name] else None)


def _group_tilings(groups: Sequence[GroupTiling], axes: _Axes) -> dict[str, Hints]:
    """The loops that fused groups cut each node by, in the order of the groups.

    A node that several groups may mean, as it is named by its operator, belongs to the nearest.
    """
    owners = _owners(groups, axes)
    found: dict[str, dict[Dimension, HintLoop]] = {}
    for each in groups:
        start = axes.computed[each.node]
        known = stream_dimensions(start)
        name = known[each.position] if each.position < len(known) else None
        if name is None:
            where = f"{each.places.of('dim', 'mapping')}: fused group {each.group!r}"
            warn_of_input(where, f"D{each.position} of {each.node}", "a dimension: it is skipped")
            continue
        parts = -(-_sizes(start)[name] // each.tile)
        for node, dimension in axes.shared((each.node, name)):
            if owners.get(node) == each.group:
                loop = _loop(dimension, parts, _sizes(axes.computed[node]))
                found.setdefault(node, {}).setdefault(dimension, loop)
    return {node: tuple(loops.values()) for node, loops in found.items()}


def _owners(groups: Sequence[GroupTiling], axes: _Axes) -> dict[str, str]:
    """The group of each node: that of the nearest node which a tiling names."""
    members = {each.group: each.members for each in groups}
    owners: dict[str, str] = {}
    for each in groups:
        if each.node not in axes.computed:
            raise InputError(
                f"{each.places.of('dim', 'mapping')}: fused group {each.group!r}",
                f"a tiling of node {each.node!r}, which the network does not have",
                suggestion(each.node, list(axes.computed)),
            )
        owners.setdefault(each.node, each.group)
    waiting = deque(owners)
    while waiting:
        name = waiting.popleft()
        for other in axes.neighbours[name]:
            node = axes.computed[other]
            if other not in owners and {other, node.operator} & {*members[owners[name]]}:
                owners[other] = owners[name]
                waiting.append(other)
    return owners


_Place = tuple[str, Dimension]
"""A dimension of a node."""


@final
@dataclass(frozen=True)
class _Axes:
    """How dimensions of the nodes of a network follow from each other."""

    workload: Workload

    @cached_property
    def computed(self) -> dict[str, LayerNode | VectorNode]:
        """The nodes that compute, by name."""
        return {x.name: x for x in self.workload.nodes if not isinstance(x, NoCostNode)}

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """The computing nodes that read or feed each of them directly."""
        found: dict[str, list[str]] = {name: [] for name in self.computed}
        for node in self.computed.values():
            for source in dict.fromkeys(node.sources):
                if source in found:
                    found[node.name].append(source)
                    found[source].append(node.name)
        return found

    def shared(self, start: _Place) -> list[_Place]:
        """The dimensions along which parts of nodes are made of the same parts, nearest first."""
        found = {start: None}
        waiting = deque(found)
        while waiting:
            for other in self._links.get(waiting.popleft(), ()):
                if other not in found:
                    found[other] = None
                    waiting.append(other)
        return list(found)

    @cached_property
    def _links(self) -> dict[_Place, list[_Place]]:
        links: dict[_Place, list[_Place]] = {}
        for node in self.computed.values():
            for source, indices in self._reads(node):
                made = _output(self.computed[source])
                for axis, index in enumerate(indices):
                    place = axis if axis == 0 else axis - len(indices) + len(made)
                    if index is None or not 0 <= place < len(made):
                        continue
                    there = source, made[place].terms[0].dimension
                    here = node.name, index.terms[0].dimension
                    links.setdefault(there, []).append(here)
                    links.setdefault(here, []).append(there)
        return links

    def _reads(
        self, node: LayerNode | VectorNode
    ) -> Iterator[tuple[str, Sequence[AffineIndex | None]]]:
        """The computing nodes that a node reads, and how it indexes their outputs."""
        if isinstance(node, LayerNode):
            reads = ((x.source, x.indices) for x in node.layer.inputs)
            yield from ((source, x) for source, x in reads if source in self.computed)
            return
        if node.nest is not None:
            for tensor, access in zip(node.inputs, node.nest.inputs, strict=False):
                if access is not None and tensor.name in self._makers:
                    yield self._makers[tensor.name], access.axes

    @cached_property
    def _makers(self) -> dict[str, str]:
        return {x.name: each.name for each in self.computed.values() for x in each.outputs}


def _output(node: LayerNode | VectorNode) -> tuple[AffineIndex, ...]:
    if isinstance(node, LayerNode):
        return node.layer.output.indices
    return () if node.nest is None else node.nest.output


def _sizes(node: LayerNode | VectorNode) -> dict[Dimension, int]:
    if isinstance(node, LayerNode):
        return node.layer.sizes
    return {} if node.nest is None else {x.dimension: x.size for x in node.nest.loops}
