"""Core constraints of a mapping file: the cores that layers run on, their tilings and dataflows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError, suggestion, warn_of_input
from nestmap.model.hardware.accelerator import Counting
from nestmap.model.mapping.constraints import DEFAULT_TARGET, FieldPlaces
from nestmap.model.mapping.dataflow import Dataflow
from nestmap.model.multicore.accelerator import CoreId, MultiCoreAccelerator
from nestmap.model.multicore.split_options import Hints, SplitMode, SplitOptions
from nestmap.model.units import Count, Size
from nestmap.model.workload.graph import LayerNode, NoCostNode, VectorNode, Workload
from nestmap.model.workload.operator_types import is_operator_type

NodeKind = Literal["layer", "vector"]
"""The kind of a node: a layer for an array, or a vector operator for a core that lists it."""


class PlacedLoop(Frozen, frozen=True):
    """A loop that cuts a node, by the position of its dimension in Stream's order: D6 is 6.

    See :func:`~nestmap.model.multicore.placed_tilings.stream_dimensions`.
    """

    position: Count
    parts: Size


class GroupTiling(Frozen, frozen=True):
    """Tiles of ``tile`` iterations along a dimension that the members of a fused group share.

    The dimension is that at ``position`` of ``node``. ``members`` are names of nodes or operators.
    """

    group: str = Field(min_length=1)
    members: tuple[str, ...]
    node: str = Field(min_length=1)
    position: Count
    tile: Size
    places: FieldPlaces = Field(default=FieldPlaces(), exclude=True, repr=False)


class CoreAllocation(Frozen, frozen=True):
    """The allowed cores of the nodes that match ``target``: a name, an operator, or ``default``.

    ``cores`` are the allowed cores (none: any). With ``fixed``, group i of a node runs on item i,
    or all groups on the only item. ``intra`` are loops that cut a node into parts that run in
    sequence, ``inter`` loops that cut it into parts for several cores. On each core, layers are
    mapped with the ``dataflow``; vector operators have none. ``placed`` become ``inter`` loops
    where the network is known.
    """

    target: str = Field(default=DEFAULT_TARGET, min_length=1)
    cores: tuple[CoreId, ...] = ()
    fixed: bool = False
    intra: Hints = ()
    inter: Hints = ()
    placed: tuple[PlacedLoop, ...] = ()
    dataflow: Dataflow | None = None
    places: FieldPlaces = Field(default=FieldPlaces(), exclude=True, repr=False)

    @model_validator(mode="after")
    def _check_cores(self) -> CoreAllocation:
        if self.fixed and not self.cores:
            raise ValueError("a fixed core allocation without cores; expected one for each group")
        if not self.fixed and len(set(self.cores)) != len(self.cores):
            raise ValueError(f"cores {_join_names(self.cores)} to choose from; expected each once")
        return self

    @property
    def hints(self) -> Hints:
        """The outer loops of a node, innermost first, so that parts for several cores alternate."""
        return (*self.inter, *self.intra)


class CoreMapping(Frozen, frozen=True):
    """The core allocations for a whole workload, and what cuts its fused groups."""

    entries: tuple[CoreAllocation, ...] = ()
    groups: tuple[GroupTiling, ...] = ()

    @model_validator(mode="after")
    def _check_unique_targets(self) -> CoreMapping:
        for name, count in Counter(entry.target for entry in self.entries).items():
            if count > 1:
                raise ValueError(f"core allocation for {name!r} occurs twice; expected it once")
        return self

    def of(self, name: str, operator: str) -> CoreAllocation:
        """The entry for a node: by its name, else its operator, else the default entry."""
        for target in (name, operator, DEFAULT_TARGET):
            if target in self.by_target:
                return self.by_target[target]
        return CoreAllocation()

    def hints_of(self, name: str, operator: str) -> Hints:
        """The outer loops of a node; if its entry has none, those of the default entry."""
        return self.of(name, operator).hints or self.of(DEFAULT_TARGET, DEFAULT_TARGET).hints

    @cached_property
    def by_target(self) -> dict[str, CoreAllocation]:
        """The entries by their targets."""
        return {entry.target: entry for entry in self.entries}


def allowed_cores(
    accelerator: MultiCoreAccelerator,
    allocation: CoreAllocation,
    operator: str,
    kind: NodeKind = "layer",
) -> tuple[CoreId, ...]:
    """The ids of the cores that a node may run on, in the order of allocation or accelerator.

    Layers run on cores that list their operator or have no list of operators; an allocation
    restricts these to its own cores. Vector operators run only on cores that list them, unless an
    allocation for their name or operator names cores without a list. The default allocation is
    meant for layers: it applies to a vector operator only if one of its cores lists that operator.

    Args:
        accelerator: the multi-core accelerator.
        allocation: the entry of the mapping, as :meth:`CoreMapping.of` returns it.
        operator: the operator of the node.
        kind: the kind of the node, as in :attr:`LayerNode.kind <nestmap.model.LayerNode>`.
    """
    allocated = tuple(dict.fromkeys(allocation.cores))
    running = [core for core in accelerator.compute_cores if core.runs(operator)]
    naming = tuple(core.id for core in running if core.operators)
    if kind == "layer" or (allocated and allocation.target != DEFAULT_TARGET):
        able = tuple(core.id for core in running)
        return tuple(x for x in allocated if x in able) if allocated else able
    return tuple(x for x in allocated if x in naming) or naming


def check_allocations(
    mapping: CoreMapping,
    workload: Workload,
    accelerator: MultiCoreAccelerator,
    where: str = "mapping",
) -> None:
    """Checks that a mapping fits a network and an accelerator, and that some core runs each layer.

    Args:
        mapping: the core allocations.
        workload: the network.
        accelerator: the multi-core accelerator.
        where: the source of the mapping, such as its file; errors begin with it.

    Raises:
        InputError: if an entry names an unknown layer, or a core that does not exist, only stores,
            or does not run its layers; or if no core runs a layer.
    """
    _warn_of_tilings(mapping, workload, where)
    for entry in mapping.entries:
        _check_target(entry, workload, tuple(_core_operators(accelerator)), where)
        _check_cores(entry, accelerator, where)
    for node in workload.nodes:
        if not isinstance(node, NoCostNode):
            _check_node(mapping.of(node.name, node.operator), node, accelerator, where)


def _warn_of_tilings(mapping: CoreMapping, workload: Workload, where: str) -> None:
    """Warns of tilings along dimensions that no node has; they are skipped."""
    known = {x for layer in workload.layers for x in layer.sizes}
    known |= {x.dimension for n in workload.vector_nodes if n.nest for x in n.nest.loops}
    for entry in mapping.entries:
        named = (("inter_core_tiling", entry.inter), ("intra_core_tiling", entry.intra))
        for field, hint in ((field, hint) for field, hints in named for hint in hints):
            if hint.dimension not in known:
                found = f"a tiling of {hint.dimension}, which no layer has"
                expected = f"{suggestion(hint.dimension, sorted(known))}: it is skipped"
                warn_of_input(f"{entry.places.of(field, where)}: {entry.target}", found, expected)


def _core_operators(accelerator: MultiCoreAccelerator) -> Iterator[str]:
    for core in accelerator.compute_cores:
        yield from core.operators


def _check_target(
    entry: CoreAllocation, workload: Workload, operators: Collection[str], where: str
) -> None:
    names = [node.name for node in workload.nodes]
    names += [layer.alias for layer in workload.layers if layer.alias is not None]
    there = {node.operator for node in workload.nodes}
    if entry.target in (DEFAULT_TARGET, *names, *there, *operators):
        return
    if not is_operator_type(entry.target):
        raise InputError(
            f"{entry.places.of('name', where)}: name {entry.target!r}",
            "neither a layer of the network nor an operator type",
            suggestion(entry.target, (DEFAULT_TARGET, *sorted(there), *names)),
        )


def _check_cores(entry: CoreAllocation, accelerator: MultiCoreAccelerator, where: str) -> None:
    computing = [core.id for core in accelerator.compute_cores]
    storing = [core.id for core in accelerator.cores if core.id not in computing]
    for place, number in enumerate(entry.cores):
        if number not in computing:
            found = f"storage core {number}" if number in storing else f"core {number}"
            raise InputError(
                f"{entry.places.of('core_allocation', where)}: core_allocation[{place}] for "
                f"{entry.target!r}",
                found,
                f"a compute core: one of {_join_names(computing)}",
            )


def _check_node(
    entry: CoreAllocation,
    node: LayerNode | VectorNode,
    accelerator: MultiCoreAccelerator,
    where: str,
) -> None:
    cores = allowed_cores(accelerator, entry, node.operator, node.kind)
    chosen = node.kind == "layer" or entry.target != DEFAULT_TARGET
    refusing = [x for x in entry.cores if x not in cores] if chosen else []
    if refusing and (entry.fixed or not cores or entry.target != DEFAULT_TARGET):
        able = [core.id for core in accelerator.compute_cores if core.runs(node.operator)]
        raise InputError(
            f"{entry.places.of('core_allocation', where)}: core_allocation for {entry.target!r}",
            f"core {refusing[0]}, which does not run {node.operator} (node {node.name!r})",
            f"one of {_join_names(able)}" if able else f"a core that runs {node.operator}",
        )
    if not cores and node.kind == "layer":
        raise InputError(
            f"accelerator {accelerator.name}",
            f"no core that runs {node.operator} (layer {node.name!r})",
            "a core that lists this operator, or that lists no operators",
        )


def split_from_hints(
    mapping: CoreMapping, workload: Workload, counting: Counting = Counting.EXACT
) -> SplitOptions | None:
    """The split given by the tilings of a mapping; ``None`` if it has no tilings."""
    nodes = workload.nodes
    hints = [mapping.hints_of(node.name, node.operator) for node in nodes]
    if not any(hints):
        return None
    changes = [i for i, (before, after) in enumerate(pairwise(hints), 1) if before != after]
    return SplitOptions(
        mode=SplitMode.PER_LAYER,
        hints=tuple(hints[i] for i in (0, *changes)),
        cutoffs=tuple(changes),
        counting=counting,
    )


def _join_names(items: Collection[object]) -> str:
    return ", ".join(map(str, items))
