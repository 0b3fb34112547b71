"""What a segment costs that runs tile by tile: its layers, its vector operators, and its copies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.costmodel.copies import copy_inward
from nestmap.costmodel.tiles import OperandCopies, sum_of_vector_tiles
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    Accelerator,
    EvaluationBatch,
    Layer,
    MappingProblem,
    MemoryLevel,
    SpatialMapping,
    VectorEvaluation,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand
from nestmap.model.units import Bits, Count
from nestmap.pipeline.stages.mapping.layers import vector_memory
from nestmap.pipeline.stages.mapping.on_chip import Variants
from nestmap.search.fusion.plans import Plan, Staged
from nestmap.search.fusion.tiles import Grid, tile_layer, tile_vector
from nestmap.search.tensor_homes import Home, TensorGraph, Visit, tensor_bits

Ends = tuple[tuple[LayerOperand, Home], ...]
"""The memory in which each operand of a layer ends; ``None``: the outermost one."""


Memories = tuple[MemoryLevel | None, tuple[MemoryLevel | None, ...]]
"""The memory of the result of a vector operator, and those of its inputs; ``None``: the usual."""


@final
@dataclass(frozen=True)
class Around:
    """The homes of the tensors around a segment, and what they take of each memory meanwhile."""

    homes: dict[int, Home]
    taken: dict[str, Bits]


class TileVisit(NamedTuple):
    """A layer of a tile: its part, where its operands end, what else is there, how many tiles."""

    node: int
    layer: Layer
    visit: Visit
    times: Count


class LayerTile(NamedTuple):
    """The best evaluation of a layer in tiles of a kind, and how many there are."""

    node: int
    best: EvaluationBatch
    times: Count


class PerMac(NamedTuple):
    """What an operation of a layer costs: pJ and cycles, without what comes from outside."""

    energy: float
    latency: float


@final
@dataclass(frozen=True)
class Fused:
    """A plan that was costed: the evaluations of its tiles, and all copies by node."""

    plan: Plan
    tiles: tuple[LayerTile, ...]
    vector: tuple[VectorEvaluation, ...]
    copies: tuple[tuple[int, OperandCopies], ...]
    energy: float
    latency: float


class Rate(NamedTuple):
    """What an operation of a layer costs, and which of its inputs come from outside."""

    node: int
    per_mac: PerMac
    far: tuple[int, ...]


class Estimate(NamedTuple):
    """What a plan may cost: pJ and cycles."""

    plan: Plan
    energy: float
    latency: float


Copied = dict[tuple[Grid, str, str | None, tuple[Staged, ...]], tuple[float, float]]
"""Energy and cycles of all copies, by tiles, home, residence and inputs that are copied."""

Inward = dict[tuple[str, LayerOperand, Bits], float]
"""The energy to bring so many bits of an operand of a layer one level inward."""

SpatialMappings = dict[str, SpatialMapping]
"""The spatial mapping of each layer."""

Operations = dict[tuple[str, Ends], PerMac]
"""What an operation of each layer costs with its operands in some memories."""

VectorOperators = dict[tuple[str, Memories], VectorEvaluation]
"""What each vector operator costs as a whole in some memories."""


@final
@dataclass(frozen=True)
class FusedCosting:
    """Costs the plans of a network on an accelerator.

    Each layer has one spatial mapping, that of its best mapping with all tensors outside.
    """

    graph: TensorGraph
    variants: Variants
    accelerator: Accelerator
    count_vector: bool
    spatial: SpatialMappings = field(default_factory=SpatialMappings)
    per_mac: Operations = field(default_factory=Operations)
    vector: VectorOperators = field(default_factory=VectorOperators)
    copied: Copied = field(default_factory=Copied)
    inward: Inward = field(default_factory=Inward)

    def costs(self, plan: Plan, around: Around) -> Fused | None:
        """What a plan costs; ``None``: some layer has no mapping beside what is kept."""
        energy, latency = 0.0, 0.0
        tiles: list[LayerTile] = []
        for tile in self._tiles(plan, around):
            found = self.variants.costs_of(self._problem(tile.layer), tile.visit)
            if found is None or found.found is None or not len(found.found.best):
                return None
            energy += tile.times * found.energy
            latency += tile.times * found.latency
            best = found.found.best.for_layer(tile.layer)
            tiles.append(LayerTile(tile.node, best, tile.times))
        vector = tuple(self._vector(plan, around))
        if self.count_vector:
            energy += sum(x.energy for x in vector)
            latency += sum(x.latency for x in vector)
        copies = tuple(self._copies(plan))
        cycles = sum(x.cycles for _, x in copies)
        energy += sum(x.energy for _, x in copies) + leakage_of(self.accelerator) * cycles
        return Fused(plan, tuple(tiles), vector, copies, energy, latency + cycles)

    # --- estimates, by which plans are ordered ---

    def estimates(self, plans: Iterable[Plan], around: Around) -> Iterator[Estimate]:
        """What plans would cost if each operation cost as much as in the tiles costed first.

        Copies, and what each tile fetches anew from the outermost memory, are counted. Plans of
        which some layer has no mapping in its largest tile are left out. Plans in the same memories
        differ in their tiles alone.
        """
        vector: dict[str, tuple[float, float]] = {}
        rates: dict[tuple[str, str | None, tuple[Staged, ...]], tuple[Rate, ...]] = {}
        for plan in plans:
            if plan.home not in vector:
                vector[plan.home] = self._whole_vectors(plan, around)
            memories = plan.home, plan.residence, plan.staged
            known = rates.get(memories) or self._rates(plan, around)
            if known is not None:
                rates[memories] = known
                (energy, latency), (more, later) = vector[plan.home], self._copy_costs(plan)
                for x in known:
                    macs = plan.grid.macs(x.node)
                    energy += x.per_mac.energy * macs + self._fetched(plan, x)
                    latency += x.per_mac.latency * macs
                yield Estimate(plan, energy + more, latency + later)

    def _whole_vectors(self, plan: Plan, around: Around) -> tuple[float, float]:
        """The vector operators of a segment as wholes, if they are counted."""
        nodes = enumerate(plan.grid.segment.nodes if self.count_vector else ())
        found = [self._whole_vector(plan, n, around) for n, x in nodes if x.step.layer is None]
        return sum(x.energy for x in found), float(sum(x.latency for x in found))

    def _rates(self, plan: Plan, around: Around) -> tuple[Rate, ...] | None:
        """What an operation of each layer costs; ``None``: some layer has no mapping."""
        found: list[Rate] = []
        for n, node in enumerate(plan.grid.segment.nodes):
            if node.step.layer is not None:
                ends = tuple((name, home) for name, home, _ in self._ends(plan, n, around))
                known = self._per_mac(plan, n, around, ends)
                if known is None:
                    return None
                far = (i for i, x in enumerate(node.reads) if (x.use.operand, None) in ends)
                found.append(Rate(n, known, tuple(far)))
        return tuple(found)

    def _copy_costs(self, plan: Plan) -> tuple[float, float]:
        """Energy and cycles of the copies of a plan, which do not depend on what is around it."""
        key = plan.grid, plan.home, plan.residence, plan.staged
        if key not in self.copied:
            copies = [x for _, x in self._copies(plan)]
            self.copied[key] = sum(x.energy for x in copies), float(sum(x.cycles for x in copies))
        return self.copied[key]

    def _per_mac(self, plan: Plan, n: int, around: Around, ends: Ends) -> PerMac | None:
        """What an operation of a layer costs with its operands in these memories.

        As in the largest tile of the first plan that asks; ``None``: that has no mapping.
        """
        name = plan.grid.segment.nodes[n].nest.name
        key = self.variants.firsts[name], ends
        if key not in self.per_mac:
            tiles = [x for x in self._tiles(plan, around) if x.node == n]
            largest = max(tiles, key=lambda x: x.layer.macs)
            layer = largest.layer
            found = self.variants.costs_of(self._problem(layer), largest.visit)
            if found is None or found.found is None or not len(found.found.best):
                return None
            outside = [x.name for x in layer.inputs if (x.name, None) in ends]
            fetched = sum(self._inward(layer, x, tensor_bits(layer, x)) for x in outside)
            costs = PerMac((found.energy - fetched) / layer.macs, found.latency / layer.macs)
            self.per_mac[key] = costs
        return self.per_mac[key]

    def _whole_vector(self, plan: Plan, n: int, around: Around) -> VectorEvaluation:
        """A vector operator as a whole, in the memories of its tiles."""
        node = plan.grid.segment.nodes[n].step.node
        assert isinstance(node, VectorNode)
        memories = self._memories(plan, n, around)
        key = node.name, memories
        if key not in self.vector:
            self.vector[key] = evaluate_vector(node, self.accelerator, *memories)
        return self.vector[key]

    def _fetched(self, plan: Plan, rate: Rate) -> float:
        """The energy to fetch the inputs of a layer from the outermost memory in all tiles."""
        node = plan.grid.segment.nodes[rate.node]
        layer = self.variants.problems[node.nest.name].layer
        return sum(
            self._inward(layer, node.reads[i].use.operand, plan.grid.read_bits(rate.node, i))
            for i in rate.far
        )

    def _inward(self, layer: Layer, operand: LayerOperand, bits: Bits) -> float:
        """The energy to bring data one level inward from the outermost memory."""
        key = layer.name, operand, bits
        if key not in self.inward:
            problem = self.variants.problems[layer.name]
            levels = problem.levels(operand)[-2:]
            is_far = len(levels) > 1
            copy = copy_inward(levels, problem.links[operand], bits) if is_far else None
            self.inward[key] = 0.0 if copy is None else copy.energy
        return self.inward[key]

    # --- the layers of tiles ---

    def _problem(self, layer: Layer) -> MappingProblem:
        """A part of a layer, under the spatial mapping of the whole one."""
        problem = self.variants.problems[layer.name]
        if layer.name not in self.spatial:
            outside = Visit(tuple((x.name, None) for x in problem.layer.operands), ())
            found = self.variants.costs(problem.layer, outside)
            if found is None or found.found is None or not len(found.found.best):
                return copy_with(problem, {"layer": layer})
            self.spatial[layer.name] = found.found.best.mappings.problem.spatial_mapping
        spatial = self.spatial[layer.name]
        fixed: dict[str, object] = {"spatial_mapping": spatial, "spatial_hints": ()}
        constraints = copy_with(problem.constraints, fixed)
        return copy_with(problem, {"layer": layer, "constraints": constraints})

    def _tiles(self, plan: Plan, around: Around) -> Iterator[TileVisit]:
        """The layers of each kind of tile."""
        for at, times in plan.grid.kinds():
            for n, node in enumerate(plan.grid.segment.nodes):
                layer = None if node.step.layer is None else tile_layer(plan.grid, n, at)
                if layer is not None:
                    yield TileVisit(n, layer, self._visit(plan, n, layer, around), times)

    def _visit(self, plan: Plan, n: int, layer: Layer, around: Around) -> Visit:
        """Where the operands of a layer end, and what else is in memories meanwhile."""
        taken = Counter(around.taken) + plan.taken[n]
        ends: list[tuple[LayerOperand, Home]] = []
        held: dict[tuple[str, str], Bits] = {}
        for name, home, tensor in self._ends(plan, n, around):
            ends.append((name, home))
            if home is not None:  # what the mapping of the layer holds itself, once
                key = home, tensor
                held[key] = max(held.get(key, 0), tensor_bits(layer, name))
        for (memory, _), bits in held.items():
            taken[memory] -= bits
        waiting = tuple((x, bits) for x, bits in sorted(taken.items()) if bits > 0)
        return Visit(tuple(ends), waiting)

    def _ends(self, plan: Plan, n: int, around: Around) -> Iterator[tuple[LayerOperand, Home, str]]:
        """Each operand, the memory in which it ends, and a name of the tensor that it is."""
        node = plan.grid.segment.nodes[n]
        yield node.nest.output.operand, self._written(plan, n, around), "written"
        copied = {read: staged.memory for staged in plan.staged for read in staged.reads}
        for i, read in enumerate(node.reads):
            name = read.use.operand
            if read.use.constant:
                yield name, plan.residence, name
            elif read.writer is not None:
                yield name, self._written(plan, read.writer, around), f"{read.writer}"
            elif (n, i) in copied:
                yield name, copied[n, i], name
            else:
                buffers = node.step.operands.get(name)
                home = None if buffers is None else around.homes[self.graph.tensor_of[buffers[0]]]
                yield name, home, name

    def _written(self, plan: Plan, n: int, around: Around) -> Home:
        """The memory in which the result of a node ends."""
        buffer = plan.grid.segment.nodes[n].step.written
        is_inner = n in plan.steps.inner
        return plan.home if is_inner else around.homes[self.graph.tensor_of[buffer]]

    # --- vector operators and copies ---

    def _vector(self, plan: Plan, around: Around) -> Iterator[VectorEvaluation]:
        """The vector operators of a plan, each the sum over its tiles."""
        for n, node in enumerate(plan.grid.segment.nodes):
            if isinstance(node.step.node, VectorNode):
                memories = self._memories(plan, n, around)
                tiles = ((tile_vector(plan.grid, n, at), m) for at, m in plan.grid.kinds())
                found = [(x, times) for x, times in tiles if x is not None]
                yield sum_of_vector_tiles(
                    [(evaluate_vector(x, self.accelerator, *memories), m) for x, m in found]
                )

    def _memories(self, plan: Plan, n: int, around: Around) -> Memories:
        """The memories of the result and of the inputs of a vector operator.

        What comes from outside is in one memory if all of it is, or counts as in the usual one.
        """
        node = plan.grid.segment.nodes[n]
        inside = {
            plan.grid.segment.nodes[x.writer].step.written
            for x in node.reads
            if x.writer is not None
        }
        outside = {
            around.homes.get(self.graph.tensor_of[b]) for b in node.step.read if b not in inside
        }
        far = outside.pop() if len(outside) == 1 and not node.step.reads_outside else None
        homes = [
            far if x.writer is None else self._written(plan, x.writer, around) for x in node.reads
        ]
        home, *sources = (
            vector_memory(self.accelerator, x) for x in (self._written(plan, n, around), *homes)
        )
        return home, tuple(sources)

    def _copies(self, plan: Plan) -> Iterator[tuple[int, OperandCopies]]:
        """All copies of a plan, by the node that reads them first."""
        if plan.residence is not None:
            for n, layer, operand in plan.steps.constants:
                bits = tensor_bits(layer, operand)
                yield n, self._copied(layer, operand, plan.residence, ((bits, 1),))
        for staged in plan.staged:
            n, i = staged.reads[0]
            node = plan.grid.segment.nodes[n]
            layer = self.variants.problems[node.nest.name].layer
            parts = staged.parts(plan.grid)
            yield n, self._copied(layer, node.reads[i].use.operand, staged.memory, parts)

    def _copied(
        self, layer: Layer, operand: LayerOperand, memory: str, parts: Sequence[tuple[Bits, Count]]
    ) -> OperandCopies:
        problem = self.variants.problems[layer.name]
        levels: Sequence[MemoryLevel] = problem.levels(operand)
        inner = next(i for i, level in enumerate(levels) if level.name == memory)
        above, link = tuple(levels[inner:]), problem.links[operand]
        return OperandCopies(
            operand=operand,
            levels=above,
            elements=layer.elements(operand),
            bits=tensor_bits(layer, operand),
            copies=tuple((copy_inward(above, link, x), times) for x, times in parts if x > 0),
        )
