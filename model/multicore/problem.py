"""What travels between the stages for several cores: files, a problem, its computation nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.model.base import Frozen
from nestmap.model.dims import OUTPUT, LayerOperand
from nestmap.model.hardware.memory import MemoryLevel
from nestmap.model.mapping.problem import USUAL_LINKS
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.core_constraints import CoreMapping, allowed_cores
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.model.units import Bits
from nestmap.model.workload.graph import LayerNode, VectorNode, Workload


class StreamSources(Frozen, frozen=True):
    """The files that describe an exploration of several cores."""

    workload: Path
    accelerator: Path
    mapping: Path | None = None


class StreamProblem(Frozen, frozen=True):
    """A network, the cores that shall run it, and what is said about who runs what."""

    workload: Workload
    accelerator: MultiCoreAccelerator
    mapping: CoreMapping = CoreMapping()

    def cores_of(self, node: LayerNode | VectorNode) -> tuple[ComputeCore, ...]:
        """The cores that a node may run on; none: no core is said to run such an operator."""
        entry = self.mapping.of(node.name, node.operator)
        numbers = allowed_cores(self.accelerator, entry, node.operator, node.kind)
        return tuple(core for core in self.accelerator.compute_cores if core.id in numbers)

    def computes(self, node: VectorNode) -> bool:
        """Whether a vector operator becomes computation nodes.

        It does where a core names it among its operators, or the mapping allocates it by its name
        or its operator. The data of all others passes at no cost, as in Stream that of operators
        that it does not know.
        """
        return bool(self.cores_of(node))

    def constant_rooms(
        self, node: LayerNode | VectorNode, operand: LayerOperand
    ) -> tuple[Bits, ...]:
        """Bits of the outermost memory for a constant operand, of each core that may run the node.

        Cores without a memory for inputs are left out.
        """
        levels = (constant_memory(core, operand) for core in self.cores_of(node))
        return tuple(level.instance.size for level in levels if level is not None)


def constant_memory(core: ComputeCore, operand: LayerOperand) -> MemoryLevel | None:
    """The outermost memory that holds an input operand of a layer; ``None``: the core has none.

    That of the operand's usual memory operand; else that of the last one for inputs.
    """
    tops = core.top_levels
    inputs = [name for name in sorted(tops) if name != OUTPUT]
    usual = USUAL_LINKS.get(operand)
    if usual in tops:
        return tops[usual]
    return tops[inputs[-1]] if inputs else None


@final
@dataclass(frozen=True)
class SplitProblem:
    """A problem whose network is split into computation nodes, and how it was split."""

    problem: StreamProblem
    options: SplitOptions
    nodes: CnWorkload
