"""Keeps tensors on chip between layers, where that costs least."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, final

from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    OUTPUT,
    Accelerator,
    Counting,
    EvaluationBatch,
    KeptTensor,
    Layer,
    LayerConstraints,
    MappingProblem,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    ObjectiveBound,
    OnChip,
    OutsideCosts,
    Reserved,
    SearchStatistics,
    TopLevel,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import objective_bound
from nestmap.model.mapping.problem import ProblemContent
from nestmap.model.workload.layer import Operand
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.layers import (
    EachOnceStage,
    PinnedTopLevelsStage,
    RemoveUnusedMemoryStage,
    SearchUnusedMemoryStage,
    check_layers,
    layer_problems,
    mapped_layers,
    vector_memory,
)
from nestmap.pipeline.stages.mapping.recall import Explore
from nestmap.search.temporal.pinned import place_pinned_levels
from nestmap.search.tensor_homes import (
    Costs,
    Home,
    OpenHomes,
    TensorGraph,
    VectorCosting,
    Visit,
    place,
    tensor_bits,
    why_out,
)

AT_HOME = RemoveUnusedMemoryStage() >> PinnedTopLevelsStage()

Known = dict[ProblemContent, EvaluationBatch]
"""The best evaluation of each problem that was explored."""

Work = dict[str, SearchStatistics]
"""The counts of all that was explored for each layer."""


@final
@dataclass(frozen=True, slots=True)
class PlacedNetwork:
    """The layers of a network with the homes of their tensors, and the best evaluation of each."""

    problems: tuple[MappingProblem, ...]
    best: tuple[EvaluationBatch, ...]
    on_chip: OnChip


@final
@dataclass(frozen=True, slots=True)
class KeepOnChipStage(Stage[NetworkProblem, PlacedNetwork]):
    """Finds where each tensor between layers stays, so that all layers together cost least.

    A tensor stays in the outermost memory, or in one on chip that has room for it from the layer
    that writes it to the last one that reads it; meanwhile, other layers use what is left. Each
    layer is explored by ``explored``, with its tensors in each of these places. A tensor that
    several layers read may stay, as may those of a layer with two inputs. Weights, and what enters
    or leaves the network, come from the outermost memory and go there.

    With the reference's counting, the plan is that of its API: :class:`SearchUnusedMemoryStage`.

    Raises:
        InputError: where there is no layer, or the constraints do not suit one or the accelerator.
        InfeasibleError: where memories that the mapping fixes have no room for tensors that wait.
    """

    explored: Explore
    objective: Objective
    count_vector: bool = False
    at_home: Stage[MappingProblem, MappingProblem] = AT_HOME

    def __call__(self, network: NetworkProblem, /) -> PlacedNetwork:
        check_layers(network)
        if network.accelerator.counting is Counting.REFERENCE:
            return self._as_reference(network)
        layers = mapped_layers(network)
        problems = {x.layer.name: x for x in layer_problems(network, layers)}
        graph = TensorGraph.of(network.workload, layers)
        homes = OpenHomes.of(graph, problems)
        variants = Variants(self.explored, self.at_home, self.objective, problems)
        costing = variants.costs, vector_costs(network.accelerator, counted=self.count_vector)
        placed = place(graph, homes, costing, self.objective)
        on_chip = OnChip(
            tensors=tuple(kept_tensors(graph, problems, placed.homes, homes)),
            outside=outside_costs(placed.outside),
            bound=self._bound(placed.bound),
        )
        best = tuple(map(variants.with_all_work, placed.found))
        return PlacedNetwork(tuple(x.problem for x in placed.found), best, on_chip)

    def _bound(self, value: float | None) -> ObjectiveBound | None:
        return None if value is None else ObjectiveBound(objective=self.objective, value=value)

    def _as_reference(self, network: NetworkProblem) -> PlacedNetwork:
        planned = SearchUnusedMemoryStage()(network)
        layers = layer_problems(planned, mapped_layers(planned))
        problems = tuple(self.at_home(problem) for problem in layers)
        best = tuple(EachOnceStage(self.explored)(problems))
        return PlacedNetwork(problems, best, OnChip(tensors=tuple(_planned_tensors(planned))))


def vector_costs(accelerator: Accelerator, *, counted: bool) -> VectorCosting:
    """What vector operators add to the totals, all of whose tensors have one home."""

    def costs(node: VectorNode, home: Home) -> tuple[float, float]:
        if not counted:
            return 0.0, 0.0
        found = evaluate_vector(node, accelerator, vector_memory(accelerator, home))
        return found.energy, float(found.latency)

    return costs


class Variant(NamedTuple):
    """A layer with its tensors in some homes, beside others that wait; and its best evaluation."""

    problem: MappingProblem
    best: EvaluationBatch


Asked = dict[tuple[Layer, LayerConstraints, Visit], Costs[Variant] | None]
"""What each layer costs under constraints on each visit."""


@final
@dataclass(frozen=True)
class Variants:
    """Explores layers with their tensors in different homes, each variant once."""

    explored: Explore
    at_home: Stage[MappingProblem, MappingProblem]
    objective: Objective
    problems: dict[str, MappingProblem]
    known: Known = field(default_factory=Known)
    work: Work = field(default_factory=Work)
    asked: Asked = field(default_factory=Asked)

    def costs(self, layer: Layer, visit: Visit) -> Costs[Variant] | None:
        """What a layer costs; nothing if it has no mapping wherever its tensors may be."""
        return self.costs_of(self.problems[layer.name], visit)

    @cached_property
    def firsts(self) -> dict[str, str]:
        """The first layer of equal content of each layer."""
        known: dict[ProblemContent, str] = {}
        return {x: known.setdefault(y.content, x) for x, y in self.problems.items()}

    def costs_of(self, problem: MappingProblem, visit: Visit) -> Costs[Variant] | None:
        """The same for other constraints, or a part of a layer."""
        key = problem.layer, problem.constraints, visit
        if key not in self.asked:
            self.asked[key] = self._found(problem, visit)
        return self.asked[key]

    def _found(self, problem: MappingProblem, visit: Visit) -> Costs[Variant] | None:
        alone, beside = self._posed(problem, visit)
        best = self._best(alone)
        if not len(best):
            is_out = all(home is None for _, home in visit.homes)
            is_only = is_out or alone.constraints.memory_levels
            return Costs(0.0, 0.0, 0.0, Variant(beside, best)) if is_only else None
        if not _fits(best, beside):
            best = self._best(beside)
            if not len(best):
                return None
        bound = objective_bound(best.statistics.bounds, self.objective)
        return Costs(
            float(best.energy[0]),
            float(best.latency2[0]),
            None if bound is None else bound.value,
            Variant(beside, best),
        )

    def _posed(
        self, problem: MappingProblem, visit: Visit
    ) -> tuple[MappingProblem, MappingProblem]:
        """The layer with its tensors in their homes: alone on chip, and beside those that wait."""
        tops = tuple(
            TopLevel(operand=problem.links[operand], memory=home)
            for operand, home in visit.homes
            if home is not None
        )
        alone = self.at_home(copy_with(problem, {"top_levels": tops}))
        reserved = tuple(Reserved(memory=memory, bits=bits) for memory, bits in visit.waiting)
        return alone, copy_with(alone, {"reserved": reserved})

    def _best(self, problem: MappingProblem) -> EvaluationBatch:
        if problem.content not in self.known:
            self.known[problem.content] = found = self.explored(problem)
            before = self.work.get(problem.layer.name, SearchStatistics())
            self.work[problem.layer.name] = before + found.statistics
        return self.known[problem.content]

    def with_all_work(self, variant: Variant) -> EvaluationBatch:
        """The evaluation of a variant, with the counts of all variants of its layer.

        Layers of equal content count only for the first of them.
        """
        layer, found = variant.problem.layer, variant.best.statistics
        own: dict[str, object] = {"bounds": found.bounds, "front_gap": found.front_gap}
        counts = self.work.get(layer.name, SearchStatistics())
        return variant.best.for_layer(layer).with_statistics(copy_with(counts, own))


def _fits(best: EvaluationBatch, beside: MappingProblem) -> bool:
    """Whether the best mapping of a layer leaves room for the tensors that wait."""
    if not beside.reserved:
        return True
    spatial = best.mappings.problem
    problem = copy_with(spatial.problem, {"reserved": beside.reserved})
    crowded = copy_with(spatial, {"problem": problem})
    return not place_pinned_levels(crowded, best.mappings.row(0)).statistics.infeasible


def outside_costs(costs: tuple[float, float] | None) -> OutsideCosts | None:
    """Energy and latency with all tensors outside, if they are known."""
    return None if costs is None else OutsideCosts(energy=costs[0], latency=costs[1])


def kept_tensors(
    graph: TensorGraph,
    problems: dict[str, MappingProblem],
    chosen: Sequence[Home],
    homes: OpenHomes,
) -> Iterator[KeptTensor]:
    """The home of what each node writes, and why it stays outside."""
    accelerator = next(iter(problems.values())).accelerator
    outermost = accelerator.levels_of(OUTPUT)[-1].name
    for b, buffer in enumerate(graph.buffers):
        t, writer = graph.tensor_of[b], problems.get(buffer.writer)
        yield KeptTensor(
            node=buffer.writer,
            operand=OUTPUT if writer is None else writer.layer.output.name,
            memory=chosen[t] or outermost,
            bits=buffer.bits,
            reason=why_out(graph, chosen, homes, t) if chosen[t] is None else None,
        )


def _planned_tensors(planned: NetworkProblem) -> Iterator[KeptTensor]:
    """The outputs and weights that the reference's plan keeps on chip."""
    layers = {layer.name: layer for layer in planned.workload.layers}
    for problem in layer_problems(planned, [layers[x.layer] for x in planned.top_levels]):
        tops = {x.operand: x.memory for x in problem.top_levels}
        layer = problem.layer
        operands: list[Operand] = [layer.output, *(x for x in layer.inputs if x.constant)]
        for operand in operands:
            memory = tops[problem.links[operand.name]]
            if memory != problem.levels(operand.name)[-1].name:
                bits = tensor_bits(layer, operand.name)
                yield KeptTensor(node=layer.name, operand=operand.name, memory=memory, bits=bits)


# --- stages that go on with the layers of which the homes are chosen ---


@final
@dataclass(frozen=True, slots=True)
class PlacedSumStage(Stage[PlacedNetwork, NetworkEvaluation]):
    """The sum over the best evaluations of all layers, and where their tensors stay."""

    summed: Stage[tuple[EvaluationBatch, ...], NetworkEvaluation]

    def __call__(self, placed: PlacedNetwork, /) -> NetworkEvaluation:
        return copy_with(self.summed(placed.best), {"on_chip": placed.on_chip})


@final
@dataclass(frozen=True, slots=True)
class PlacedFrontStage(Stage[PlacedNetwork, NetworkFront]):
    """The fronts of all layers under the homes of their tensors, and where these stay."""

    fronts: Stage[tuple[MappingProblem, ...], NetworkFront]

    def __call__(self, placed: PlacedNetwork, /) -> NetworkFront:
        return copy_with(self.fronts(placed.problems), {"on_chip": placed.on_chip})
