"""What is allocated to cores: the groups of each layer, and the cores that each may run on."""

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
"""The core of each gene, in their order."""


class Gene(Frozen, frozen=True):
    """Nodes of a layer that run on one core, since they read the same constants: a group.

    ``cores`` are those that they may run on, in ascending order.
    """

    layer: LayerNumber
    group: Count
    cores: tuple[CoreId, ...] = Field(min_length=1)


@final
@dataclass(frozen=True, eq=False)
class GeneSpace:
    """All allocations of a workload: its genes, and which one each node belongs to."""

    genes: tuple[Gene, ...]
    gene_of: Ints

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The places of the genes with something to choose."""
        return tuple(i for i, gene in enumerate(self.genes) if len(gene.cores) > 1)

    @property
    def size(self) -> int:
        """How many allocations there are."""
        total = 1
        for gene in self.genes:
            total *= len(gene.cores)
        return total

    def cores_of_nodes(self, allocation: Allocation) -> Ints:
        """The core of each node."""
        return np.asarray(allocation, dtype=np.int64)[self.gene_of]
