"""The allocation space: node groups of each layer, and the cores they may run on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from pydantic import Field

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.cn_layer import LayerNumber
from nestmap.model.units import Count

Allocation = tuple[CoreId, ...]
"""The core of each node group, in their order."""


class NodeGroup(Frozen, frozen=True):
    """A node group: nodes of a layer that read the same constants and so run on one core.

    ``cores`` are the ids of the cores it may run on, ascending.
    """

    layer: LayerNumber
    group: Count
    cores: tuple[CoreId, ...] = Field(min_length=1)


@final
@dataclass(frozen=True, eq=False)
class AllocationSpace:
    """All allocations of a workload: its node groups, and the group of each node."""

    groups: tuple[NodeGroup, ...]
    group_of: Ints

    @cached_property
    def free_groups(self) -> tuple[int, ...]:
        """The indices of the groups that may run on more than one core."""
        return tuple(i for i, gene in enumerate(self.groups) if len(gene.cores) > 1)

    @property
    def size(self) -> int:
        """The number of allocations."""
        total = 1
        for gene in self.groups:
            total *= len(gene.cores)
        return total

    def cores_of_nodes(self, allocation: Allocation) -> Ints:
        """The core of each node."""
        return np.asarray(allocation, dtype=np.int64)[self.group_of]
