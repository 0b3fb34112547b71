"""The node groups of each layer and the cores that they may run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from nestmap.model import InfeasibleError, InputError, NoCostNode
from nestmap.model.arrays import Ints
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import CnKinds
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.problem import SplitProblem, StreamProblem

Reasons = Mapping[tuple[int, CoreId], str]
"""The reason why a core cannot run nodes of a kind, by kind and core."""


@final
@dataclass(frozen=True)
class Group:
    """Nodes of a layer that read the same constants, and the cores that the mapping allows."""

    layer: CnLayer
    number: int
    cores: tuple[CoreId, ...]


@final
@dataclass(frozen=True, eq=False)
class Groups:
    """All groups, and the group of each node."""

    groups: tuple[Group, ...]
    group_of: Ints
    kinds: CnKinds

    @cached_property
    def kinds_of(self) -> list[list[int]]:
        """The kinds of the nodes of each group."""
        count = len(self.kinds)
        found = [list[int]() for _ in self.groups]
        for pair in map(int, np.unique(self.group_of * count + self.kinds.kind)):
            found[pair // count].append(pair % count)
        return found

    @cached_property
    def cores_of_kinds(self) -> list[list[CoreId]]:
        """The cores that nodes of each kind may run on, in ascending order."""
        wanted = [set[CoreId]() for _ in range(len(self.kinds))]
        for group, kinds in zip(self.groups, self.kinds_of, strict=True):
            for kind in kinds:
                wanted[kind].update(group.cores)
        return [sorted(cores) for cores in wanted]


def groups_of(split: SplitProblem, kinds: CnKinds) -> Groups:
    """The groups of all layers, with the cores that the mapping and the operators allow.

    Raises:
        InputError: if there is no such core, or a mapping fixes cores for fewer groups than
            there are.
    """
    by_name = {node.name: node for node in split.problem.workload.nodes}
    groups: list[Group] = []
    columns: list[Ints] = []
    for layer in split.nodes.layers:
        node = by_name[layer.nest.name]
        assert not isinstance(node, NoCostNode)
        columns.append(layer.groups + len(groups))
        count = int(layer.groups.max(initial=0)) + 1
        able = [core.id for core in split.problem.cores_of(node)]
        fixed = _fixed(split.problem, layer, count, able)
        for number in range(count):
            cores = (fixed[number],) if fixed else tuple(sorted(able))
            groups.append(Group(layer, number, cores))
    return Groups(tuple(groups), np.concatenate(columns), kinds)


def _fixed(
    problem: StreamProblem, layer: CnLayer, groups: int, able: Sequence[CoreId]
) -> tuple[CoreId, ...]:
    """The core of each group; empty if the cores are not fixed."""
    nest = layer.nest
    entry = problem.mapping.of(nest.name, nest.operator)
    if not able:
        raise InputError(
            f"layer {nest.name}",
            f"operator {nest.operator}, which no core of {problem.accelerator.name} runs",
            "a core that names this operator, or that names none",
        )
    if not entry.fixed or not set(entry.cores) <= set(able):
        return ()
    if len(entry.cores) == 1:
        return entry.cores * groups
    if len(entry.cores) < groups:
        raise InputError(
            f"mapping: core_allocation for {entry.target!r}",
            f"{len(entry.cores)} fixed cores for the {groups} groups of layer {nest.name}",
            "one core for all groups, or one for each",
        )
    return entry.cores[:groups]


def gene_space(groups: Groups, refused: Reasons) -> AllocationSpace:
    """The allocation space: each group with the cores that can run all of its nodes.

    Raises:
        InfeasibleError: if no core can run a group, with the reason for each core.
    """
    genes: list[NodeGroup] = []
    for group, kinds in zip(groups.groups, groups.kinds_of, strict=True):
        able = tuple(x for x in group.cores if all((kind, x) not in refused for kind in kinds))
        if not able:
            raise InfeasibleError(_no_core(group, kinds, refused))
        genes.append(NodeGroup(layer=group.layer.nest.number, group=group.number, cores=able))
    return AllocationSpace(tuple(genes), groups.group_of)


def _no_core(group: Group, kinds: Sequence[int], refused: Reasons) -> str:
    """The reasons why no core can run a group; cores with the same reason are listed together."""
    alike: dict[str, list[CoreId]] = {}
    for core in group.cores:
        reason = next(refused[kind, core] for kind in kinds if (kind, core) in refused)
        alike.setdefault(reason, []).append(core)
    nest = group.layer.nest
    told = "; ".join(
        f"core{'s' if cores[1:] else ''} {', '.join(map(str, cores))}: {reason}"
        for reason, cores in alike.items()
    )
    return f"layer {nest.name} ({nest.operator}), group {group.number}: no core can run it: {told}"
