"""The cost table: the cost of each kind of node on each core, with one search per distinct pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import final

import numpy as np

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Counting,
    EvaluationBatch,
    InputOperand,
    Layer,
    LayerConstraints,
    MappingProblem,
    OutputOperand,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.mapping.problem import CoreProblem, ProblemContent
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.multicore.accelerator import ComputeCore, CoreId
from nestmap.model.multicore.cn_costs import (
    INFEASIBLE,
    CnCost,
    CnCosts,
    CnKind,
    CnKinds,
    RecordedCost,
)
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.multicore.top_memories import memory_operands
from nestmap.model.units import Bits, Count
from nestmap.search.multicore.core_costs.offchip_memory import OffChip, traffic, with_offchip_level
from nestmap.search.multicore.core_costs.operand_residency import (
    Held,
    by_size,
    fits_with_tile,
    reduce_memory,
    reserved_bits,
)
from nestmap.search.spatial.candidates import meets_constraints, spatial_mappings
from nestmap.search.spatial.dataflow import NoUnrollingError

# --- the single-core layer of a kind of node, on the memory operands of a core ---


def layer_of(kind: CnKind, carried: Sequence[MemoryOperand], name: str) -> Layer:
    """The layer that represents a node on a core, with its operands on these memory operands.

    The inputs of a vector operator on one memory operand are merged: indexed as the largest of
    them, with the bits of all of them.
    """
    groups = inputs_by_memory(kind, carried)
    return Layer(
        name=name,
        operator=kind.operator,
        loops=kind.loops,
        output=kind.output,
        inputs=tuple(_together(kind, inputs) for inputs in groups.values()),
    )


def inputs_by_memory(
    kind: CnKind, carried: Sequence[MemoryOperand]
) -> dict[MemoryOperand, list[InputOperand]]:
    """The inputs that each memory operand carries."""
    groups: dict[MemoryOperand, list[InputOperand]] = {}
    for operand, read in zip(carried[1:], kind.inputs, strict=True):
        groups.setdefault(operand, []).append(read)
    return groups


def held_by_memory(kind: CnKind, carried: Sequence[MemoryOperand]) -> dict[MemoryOperand, Bits]:
    """The bits that each memory operand has to hold."""
    held: dict[MemoryOperand, Bits] = {}
    for operand, bits in zip(carried, kind.held, strict=True):
        held[operand] = held.get(operand, 0) + bits
    return held


def streamed_operands(
    kind: CnKind, carried: Sequence[MemoryOperand], streamed: Sequence[MemoryOperand]
) -> tuple[LayerOperand, ...]:
    """The operands of a node that the streamed memory operands carry."""
    pairs = zip(carried, kind.operands, strict=True)
    return tuple(name for operand, name in pairs if operand in streamed)


def _together(kind: CnKind, inputs: Sequence[InputOperand]) -> InputOperand:
    if len(inputs) == 1:
        return inputs[0]
    counts = [elements_of(kind, read) for read in inputs]
    largest = counts.index(max(counts))
    bits = sum(n * read.precision for n, read in zip(counts, inputs, strict=True))
    return copy_with(
        inputs[largest],
        {
            "name": inputs[0].name,
            "precision": -(-bits // counts[largest]),
            "constant": all(read.constant for read in inputs),
        },
    )


def elements_of(kind: CnKind, operand: InputOperand | OutputOperand) -> Count:
    """The elements of an operand that the loops touch."""
    sizes, count = {loop.dimension: loop.size for loop in kind.loops}, 1
    for index in operand.indices:
        whole = tuple(sizes[d] for d in index.dimensions)
        count *= index.touched(whole, whole)
    return count


# --- the cost table ---

Search = Callable[[CoreProblem], EvaluationBatch]
"""The best mapping of a layer on a core; empty if none fits."""

Costing = Callable[[SpatialProblem, TemporalMapping], CostModelEvaluation]
"""Evaluates a mapping in full."""


class CoreView(Frozen, frozen=True):
    """The properties of a core that determine the costs of nodes; equal for equal cores.

    ``core`` is the first of the equal cores, with the number 0.
    """

    core: ComputeCore
    offchip: OffChip

    @classmethod
    def of(cls, core: ComputeCore, offchip: OffChip) -> CoreView:
        """The view of a core."""
        anonymous: dict[str, object] = {"id": 0, "operators": (), "coordinates": None}
        return cls(core=copy_with(core, anonymous), offchip=offchip)


class Cell(Frozen, frozen=True):
    """A kind of node on a core; with ``exact``, outputs of other nodes in its memory also count."""

    kind: CnKind
    view: CoreView
    exact: bool


Found = tuple[CostModelEvaluation | None, SearchStatistics]
"""The best mapping of a layer on a core, if any, and the number of mappings considered."""


@final
@dataclass(frozen=True)
class CostTable:
    """Computes the costs of nodes on cores; equal layers on equal cores are searched once."""

    search: Search
    cost: Costing
    _found: dict[tuple[ProblemContent, tuple[SpatialMapping, ...]], Found] = field(
        default_factory=dict[tuple[ProblemContent, tuple[SpatialMapping, ...]], Found]
    )

    def of(self, cell: Cell, nest: LayerNest) -> RecordedCost | str:
        """The cost of a kind on a core, or the reason why the core cannot run it.

        Streams as few operands from off-chip memory as necessary: the other operands, and the tiles
        that the array uses at a time, must fit the core's memories. Only if nothing fits, inner
        memories are used in part.
        """
        try:
            return self._of(cell, nest)
        except NoUnrollingError as error:
            return str(error)

    def _of(self, cell: Cell, nest: LayerNest) -> RecordedCost | str:
        """The same.

        Raises:
            NoUnrollingError: if the array has no room for the unrollings of the kind's dataflow.
        """
        core, kind = cell.view.core, cell.kind
        carried = memory_operands(nest, core)
        if carried is None or (not kind.vector and len(set(carried)) < len(carried)):
            return _lacking(core, kind)
        layer, held = layer_of(kind, carried, nest.name), held_by_memory(kind, carried)
        counting = None if cell.exact else Counting.REFERENCE
        own = usable_cores(core.accelerator.counted(counting), kind.operations)
        constraints = LayerConstraints(dataflow=kind.dataflow)
        statistics = SearchStatistics()
        for accelerator, streamed in product(
            (own, reduce_memory(own)), _streamed(layer, core, held, constraints)
        ):
            plain = MappingProblem(layer=layer, accelerator=accelerator, constraints=constraints)
            taken = reserved_bits(plain, core, held, streamed) if cell.exact else {}
            machine = with_offchip_level(accelerator, streamed, cell.view.offchip, taken)
            problem = copy_with(plain, {"accelerator": machine})
            cme, statistics = self._best(problem, core.dataflows)
            if cme is not None:
                return _known(cell, cme, problem, (carried, streamed))
        return "; ".join(entry.reason for entry in statistics.infeasible)

    def _best(self, problem: MappingProblem, dataflows: tuple[SpatialMapping, ...]) -> Found:
        content = (problem.content, dataflows)
        if content not in self._found:
            batch = self.search(CoreProblem(problem=problem, dataflows=dataflows))
            self._found[content] = (self._in_full(batch), batch.statistics)
        return self._found[content]

    def _in_full(self, batch: EvaluationBatch) -> CostModelEvaluation | None:
        if not len(batch):
            return None
        return self.cost(batch.mappings.problem, batch.mappings.row(0))


def _lacking(core: ComputeCore, kind: CnKind) -> str:
    names = ", ".join(core.accelerator.operands) or "none"
    needed = ", ".join(kind.operands)
    return f"{core.name} has memories for {names}; a node needs one for each of {needed}"


def usable_cores(accelerator: Accelerator, operations: int) -> Accelerator:
    """The accelerator whose units take so many operations, in sequence, for each iteration."""
    array = accelerator.array
    if operations == 1 or array.imc is not None:
        return accelerator
    changed = {
        "unit_energy": array.unit_energy * operations,
        "cycles_per_operation": array.cycles_per_operation * operations,
    }
    return copy_with(accelerator, {"array": copy_with(array, {**changed})})


def _streamed(
    layer: Layer, core: ComputeCore, held: Held, constraints: LayerConstraints
) -> list[tuple[MemoryOperand, ...]]:
    """The memory operands that may stream, the fewest first, such that the others fit."""
    problem = MappingProblem(layer=layer, accelerator=core.accelerator, constraints=constraints)
    flows = tuple(meets_constraints(problem, flow) for flow in core.dataflows)
    meant = flows or spatial_mappings(problem, 1)
    return [
        streamed
        for streamed in by_size(core.top_levels, held)
        if not streamed or fits_with_tile(problem, core, held, streamed, meant)
    ]


def _known(
    cell: Cell,
    cme: CostModelEvaluation,
    problem: MappingProblem,
    operands: tuple[Sequence[MemoryOperand], Sequence[MemoryOperand]],
) -> RecordedCost:
    """The cost from the best mapping.

    ``operands`` are all memory operands and the streamed ones.
    """
    carried, streamed = operands
    runtime = max(1, ceil(cme.latency1))
    own = {level.name for level in cell.view.core.accelerator.memories}
    added = [level for level in problem.accelerator.memories if level.name not in own]
    moved = traffic(cme, added, runtime)
    cost = CnCost(
        runtime=runtime,
        onchip_energy=max(0.0, cme.energy - moved.energy),
        offchip_energy=moved.energy,
        streamed=streamed_operands(cell.kind, carried, streamed),
        read_rate=moved.read_rate,
        write_rate=moved.write_rate,
    )
    return RecordedCost(cost=cost, cme=copy_with(cme, {"layer": problem.layer.name}))


def columns(
    kinds: CnKinds, cores: Sequence[CoreId], known: Mapping[tuple[int, CoreId], RecordedCost]
) -> CnCosts:
    """The table as columns; missing entries are infeasible."""
    shape = (len(kinds), len(cores))
    table = CnCosts(
        kind=kinds.kind,
        cores=tuple(cores),
        runtime=np.full(shape, INFEASIBLE, dtype=np.int64),
        onchip=np.zeros(shape),
        offchip=np.zeros(shape),
        streamed=np.zeros(shape, dtype=np.int64),
        read_rate=np.zeros(shape, dtype=np.int64),
        write_rate=np.zeros(shape, dtype=np.int64),
    )
    place = {core: column for column, core in enumerate(cores)}
    for (kind, core), entry in known.items():
        if entry.cost is not None:
            _put(table, (kind, place[core]), entry.cost, kinds.kinds[kind])
    return table


def _put(table: CnCosts, at: tuple[int, int], cost: CnCost, kind: CnKind) -> None:
    table.runtime[at] = cost.runtime
    table.onchip[at] = cost.onchip_energy
    table.offchip[at] = cost.offchip_energy
    table.streamed[at] = sum(1 << kind.operands.index(name) for name in cost.streamed)
    table.read_rate[at] = cost.read_rate
    table.write_rate[at] = cost.write_rate
