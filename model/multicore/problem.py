"""Multi-core problems as they pass between stages: files, a network on cores, a split network."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from nestmap.model.base import Frozen
from nestmap.model.dims import OUTPUT, LayerOperand
from nestmap.model.hardware.memory import MemoryLevel
from nestmap.model.mapping.problem import DEFAULT_LINKS
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.core_constraints import CoreMapping, allowed_cores
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.model.units import Bits
from nestmap.model.workload.graph import LayerNode, VectorNode, Workload


class StreamSources(Frozen, frozen=True):
    """The input files of a multi-core exploration."""

    workload: Path
    accelerator: Path
    mapping: Path | None = None


class StreamProblem(Frozen, frozen=True):
    """A network, the multi-core accelerator to run it, and the core constraints."""

    workload: Workload
    accelerator: MultiCoreAccelerator
    mapping: CoreMapping = CoreMapping()

    def cores_of(self, node: LayerNode | VectorNode) -> tuple[ComputeCore, ...]:
        """The cores that a node may run on; none if no core lists its operator."""
        entry = self.mapping.of(node.name, node.operator)
        numbers = allowed_cores(self.accelerator, entry, node.operator, node.kind)
        return tuple(core for core in self.accelerator.compute_cores if core.id in numbers)

    def is_computed(self, node: VectorNode) -> bool:
        """Whether a vector operator becomes computation nodes.

        It does if a core lists its operator, or the mapping allocates it by name or operator. The
        data of all other vector operators passes at no cost, as in Stream for unknown operators.
        """
        return bool(self.cores_of(node))

    def constant_capacities(
        self, node: LayerNode | VectorNode, operand: LayerOperand
    ) -> tuple[Bits, ...]:
        """Bits of the outermost memory for a constant operand, of each core that may run the node.

        Cores without a memory for inputs are left out.
        """
        levels = (constant_memory(core, operand) for core in self.cores_of(node))
        return tuple(level.instance.size for level in levels if level is not None)


def constant_memory(core: ComputeCore, operand: LayerOperand) -> MemoryLevel | None:
    """The outermost memory that holds an input operand of a layer; ``None`` if the core has none.

    It is that of the operand's usual memory operand, otherwise that of the last one for inputs.
    """
    tops = core.top_levels
    inputs = [name for name in sorted(tops) if name != OUTPUT]
    usual = DEFAULT_LINKS.get(operand)
    if usual in tops:
        return tops[usual]
    return tops[inputs[-1]] if inputs else None


@final
@dataclass(frozen=True)
class SplitProblem:
    """A problem, its computation nodes, and the options of the split."""

    problem: StreamProblem
    options: SplitOptions
    nodes: CnWorkload
