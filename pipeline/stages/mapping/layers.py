"""From a network to its layers: which are mapped, checked, padded, kept on chip, explored once."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Generic, Never, Protocol, Self, TypeVar, final

from pydantic import Field, ValidationError

from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    Accelerator,
    Counting,
    Frozen,
    InputError,
    Layer,
    LayerConstraints,
    MappingProblem,
    MemoryLevel,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    TopLevel,
    VectorNode,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import OUTPUT, ArrayDimension, Dimension, LayerOperand
from nestmap.model.errors import nearest, suggestion, warn_of_input
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.model.mapping.problem import ProblemContent
from nestmap.model.workload.operator_types import is_operator_type
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.locality import keep_on_chip
from nestmap.search.spatial.padding import padded_sizes
from nestmap.search.tensor_homes import TensorGraph

# Checks that mapping constraints suit a workload and an accelerator, before the search begins


def check_constraints(network: NetworkProblem, where: str) -> None:
    """Checks that there is a layer, and that every entry in use suits the array.

    Entries that match nothing, and hints over dimensions that the array lacks, are warnings: no
    search can follow them.

    Raises:
        InputError: for an unrolling over a dimension that the array lacks, or over more units than
            it has, for an unrolling or a hint over a dimension that every layer of the entry lacks,
            or for a link of an operand that no layer or no memory has; ``where`` names the file.
    """
    check_layers(network)
    _warn_of_unmatched(network, where)
    _warn_of_unused_hints(network, where)
    layers: dict[str, list[Layer]] = {}
    for layer in mapped_layers(network):
        layers.setdefault(network.constraints.of(layer).target, []).append(layer)
    for entry in network.constraints.entries:
        if entry.target in layers:
            sizes = {d for x in layers[entry.target] for d in x.sizes}
            _check_entry(network, entry, sizes, where)
            _check_links(network, entry, layers[entry.target], where)
            _warn_of_repeated_unrollings(entry, layers[entry.target], where)


def _place(entry: LayerConstraints, field: str, where: str) -> str:
    """File, line and path of a field of an entry."""
    return f"{entry.places.of(field, where)}: {entry.target}: {field}"


def _warn_of_unmatched(network: NetworkProblem, where: str) -> None:
    """Warns of entries for neither a layer of the network nor an operator type."""
    nodes = network.workload.nodes
    known = (DEFAULT_TARGET, *dict.fromkeys(node.operator for node in nodes))
    names = (*known, *(node.name for node in nodes))
    for entry in network.constraints.entries:
        if entry.target not in names and not is_operator_type(entry.target):
            found = "neither a layer of the network nor an operator type"
            expected = f"one of {', '.join(known)}, or the name of a layer"
            here = f"{entry.places.of('name', where)}: name {entry.target!r}"
            warn_of_input(here, found, nearest(entry.target, names) or expected)


def _warn_of_unused_hints(network: NetworkProblem, where: str) -> None:
    sizes = network.accelerator.array.sizes
    for entry in network.constraints.entries:
        for hint in entry.spatial_hints:
            if hint.array_dimension not in sizes:
                warn_of_input(
                    f"{_place(entry, 'spatial_mapping_hint', where)}.{hint.array_dimension}",
                    f"array dimension {hint.array_dimension}, which has no effect",
                    f"one of {', '.join(sizes)}, the array of {network.accelerator.name}",
                )


def with_suited_mapping(network: NetworkProblem) -> NetworkProblem:
    """The problem with spatial mappings and hints over existing dimensions of each layer only.

    A bundled mapping is made for convolutions: a matrix product lacks the pixel dimensions that it
    unrolls, so most of the array would be idle. Such a layer gets no fixed spatial mapping, and
    its hints keep the dimensions that it has.
    """
    constraints = network.constraints
    pairs = [(x, constraints.of(x)) for x in network.workload.layers]
    own = [
        copy_with(suited, {"target": layer.name})
        for layer, entry in pairs
        if (suited := _suited(entry, layer)) != entry
    ]
    named = {entry.target for entry in own}
    kept = [entry for entry in constraints.entries if entry.target not in named]
    return copy_with(network, {"constraints": copy_with(constraints, {"entries": (*kept, *own)})})


def _suited(constraints: LayerConstraints, layer: Layer) -> LayerConstraints:
    """The constraints, without dimensions that the layer lacks."""
    known = set(layer.sizes)
    fixed = constraints.spatial_mapping if _unrolled(constraints) <= known else None
    hints = tuple(
        copy_with(hint, {"dimensions": left})
        for hint in constraints.spatial_hints
        if (left := tuple(x for x in hint.dimensions if x in known))
    )
    return copy_with(constraints, {"spatial_mapping": fixed, "spatial_hints": hints})


def _unrolled(constraints: LayerConstraints) -> set[Dimension]:
    mapping = constraints.spatial_mapping
    unrollings = mapping.unrollings if mapping else ()
    return {loop.dimension for x in unrollings for loop in x.loops if loop.size > 1}


def check_layers(network: NetworkProblem) -> None:
    """Checks that there is a layer to map.

    Raises:
        InputError: where there is none; it lists the operators of the workload instead.
    """
    if mapped_layers(network):
        return
    workload = network.workload
    only = {
        "vector operators": counted(node.operator for node in workload.vector_nodes),
        "layers that an IMC array skips": counted(layer.operator for layer in workload.layers),
    }
    told = " and ".join(f"{what}: {names}" for what, names in only.items() if names)
    raise InputError(
        f"workload {workload.name}",
        f"no layer that the array computes{f', only {told}' if told else ''}",
        "at least one convolution or matrix product",
    )


def _check_entry(
    network: NetworkProblem, entry: LayerConstraints, dimensions: set[Dimension], where: str
) -> None:
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        here = f"{_place(entry, 'spatial_mapping', where)}.{unrolling.array_dimension}"
        units = _units(network, unrolling.array_dimension, here)
        if unrolling.factor > units:
            raise InputError(
                here,
                f"{unrolling}, {unrolling.factor} units",
                f"at most the {units} units of the array",
            )
        unrolled = [loop.dimension for loop in unrolling.loops if loop.size > 1]
        _check_dimensions(unrolled, dimensions, here)
    for hint in entry.spatial_hints:
        here = f"{_place(entry, 'spatial_mapping_hint', where)}.{hint.array_dimension}"
        _check_dimensions(hint.dimensions, dimensions, here)


def _check_links(
    network: NetworkProblem, entry: LayerConstraints, layers: Sequence[Layer], where: str
) -> None:
    operands = dict.fromkeys(operand.name for layer in layers for operand in layer.operands)
    carriers = dict.fromkeys(x for level in network.accelerator.memories for x in level.operands)
    for link in entry.links:
        here = f"{_place(entry, 'memory_operand_links', where)}.{link.operand}"
        if link.operand not in operands:
            expected = f"an operand of some layer it is for: {suggestion(link.operand, operands)}"
            raise InputError(here, f"operand {link.operand}", expected)
        if link.memory_operand not in carriers:
            expected = f"one of {', '.join(carriers)}, those of {network.accelerator.name}"
            raise InputError(here, f"memory operand {link.memory_operand}", expected)


def _warn_of_repeated_unrollings(
    entry: LayerConstraints, layers: Sequence[Layer], where: str
) -> None:
    """Warns of dimensions unrolled over several array dimensions, more often than they iterate.

    An unrolling may round up: 27 iterations are unrolled 2 x 14 times.
    """
    factors: dict[Dimension, list[int]] = {}
    for unrolling in entry.spatial_mapping.unrollings if entry.spatial_mapping else ():
        for loop in unrolling.loops:
            factors.setdefault(loop.dimension, []).append(loop.size)
    for dimension, sizes in factors.items():
        most = max(layer.sizes.get(dimension, 1) for layer in layers)
        if len(sizes) > 1 and max(sizes[1:]) > -(-most * max(sizes[1:]) // prod(sizes)):
            warn_of_input(
                _place(entry, "spatial_mapping", where),
                f"{dimension} unrolled {' x '.join(map(str, sizes))} times",
                f"at most the {most} iterations that layers have; the last unrollings are reduced",
            )


def _units(network: NetworkProblem, array_dimension: ArrayDimension, where: str) -> int:
    sizes = network.accelerator.array.sizes
    if array_dimension not in sizes:
        raise InputError(
            where,
            f"array dimension {array_dimension}",
            f"one of {', '.join(sizes)}, the array of {network.accelerator.name}",
        )
    return sizes[array_dimension]


def _check_dimensions(used: Iterable[Dimension], known: set[Dimension], where: str) -> None:
    for dimension in used:
        if dimension not in known:
            raise InputError(
                where,
                f"loop dimension {dimension}",
                f"a dimension of some layer it is for: {', '.join(sorted(known))}",
            )


# --- layers that an IMC array skips: poolings and additions ---
# As in ZigZag, they get no mapping and add no energy or latency. They stay in the network, because
# they matter for keeping data on chip between layers.

SKIPPED_OPERATORS: Final = ("Pooling", "Add")
"""Operators without weights: the cells of an IMC array would have nothing to store."""


def mapped_layers(network: NetworkProblem) -> tuple[Layer, ...]:
    """The layers to map, in topological order."""
    layers = network.workload.layers
    if network.accelerator.array.imc is None:
        return layers
    return tuple(layer for layer in layers if layer.operator not in SKIPPED_OPERATORS)


def skipped_note(layers: Iterable[Layer], evaluation: NetworkEvaluation) -> str:
    """A sentence about the skipped layers of a network; empty if there are none."""
    mapped = {result.cme.layer for result in evaluation.layers}
    mapped.update(entry.layer for entry in evaluation.infeasible)
    left = counted(layer.operator for layer in layers if layer.name not in mapped)
    return f"Layers that an IMC array skips, at no cost here: {left}." if left else ""


def counted(operators: Iterable[str]) -> str:
    """The number of occurrences of each operator: ``Add 2, Pooling 1``."""
    return ", ".join(f"{name} {n}" for name, n in sorted(Counter(operators).items()))


class WorkloadStage(Frozen, Stage[NetworkProblem, Iterator[MappingProblem]], frozen=True):
    """The layers of a workload in topological order, with their constraints.

    An IMC array skips the poolings and additions of a hand-written workload.

    Raises:
        InputError: where there is no layer, or the constraints do not suit one or the accelerator.
    """

    def __call__(self, network: NetworkProblem, /) -> Iterator[MappingProblem]:
        check_layers(network)
        return layer_problems(network, mapped_layers(network))


def layer_problems(network: NetworkProblem, layers: Iterable[Layer]) -> Iterator[MappingProblem]:
    """Layers of the network with their constraints.

    Raises:
        InputError: where the constraints do not suit a layer or the accelerator.
    """
    for layer in layers:
        try:
            yield MappingProblem(
                layer=layer,
                accelerator=network.accelerator,
                constraints=network.constraints.of(layer),
                top_levels=network.top_levels_of(layer),
            )
        except ValidationError as error:
            where = f"mapping for layer {layer.name}"
            raise InputError.of(where, error) from None


# --- the stage that pads layers to sizes that map better ---


class PaddingStage(Frozen, Stage[MappingProblem, Iterator[MappingProblem]], frozen=True):
    """A layer, and the same layer with loops enlarged by at most ``percent`` each.

    The padded layers do more work on more data, and all of their costs are those of this work. See
    :func:`~nestmap.search.spatial.padding.padded_sizes` for the sizes.
    """

    percent: float = Field(gt=0, le=100)

    def __call__(self, problem: MappingProblem, /) -> Iterator[MappingProblem]:
        yield problem
        for sizes in padded_sizes(problem, self.percent):
            yield copy_with(problem, {"layer": problem.layer.padded(sizes)})


# --- stages that keep data on chip between layers, and remove the memories that become unused ---


class SearchUnusedMemoryStage(Frozen, Stage[NetworkProblem, NetworkProblem], frozen=True):
    """Finds the top level of each operand of each layer with which data stays on chip.

    A tensor with one producer and one consumer stays in the lowest memory with enough capacity;
    tensors of branches go through the top memory. With ``workload_data_always_from_top_mem``,
    the network's input and output go through the top memory, too; otherwise they start and end on
    chip where capacity allows. Place the stage before ``WorkloadStage``.

    Raises:
        InputError: where the constraints do not suit a layer or the accelerator.
    """

    workload_data_always_from_top_mem: bool = False

    def __call__(self, network: NetworkProblem, /) -> NetworkProblem:
        check_layers(network)
        return NetworkProblem(
            workload=network.workload,
            accelerator=network.accelerator,
            constraints=network.constraints,
            top_levels=keep_on_chip(
                network.workload,
                tuple(layer_problems(network, network.workload.layers)),
                data_from_top=self.workload_data_always_from_top_mem,
            ),
        )


class RemoveUnusedMemoryStage(Frozen, Stage[MappingProblem, MappingProblem], frozen=True):
    """Removes the memory levels above ``top_levels`` from the accelerator of a problem.

    Place the stage after ``WorkloadStage``.

    Raises:
        InputError: where a top level is not a memory of its operand.
    """

    def __call__(self, problem: MappingProblem, /) -> MappingProblem:
        used = without_unused_levels(problem.accelerator, problem.top_levels)
        return copy_with(problem, {"accelerator": used, "top_levels": ()})


class PinnedTopLevelsStage(Frozen, Stage[MappingProblem, MappingProblem], frozen=True):
    """Removes the memories above the user's outermost pinned levels from a problem.

    With it, a mapping that was found with data kept on chip can be evaluated again. A problem
    without pinned levels passes unchanged.
    """

    def __call__(self, problem: MappingProblem, /) -> MappingProblem:
        pinned = problem.constraints.memory_levels
        if not pinned:
            return problem
        ends = {levels.operand: levels.memories[-1].memory for levels in pinned}
        top_levels = tuple(
            TopLevel(operand=carried, memory=ends[operand])
            for operand, carried in problem.links.items()
            if ends.get(operand) in [level.name for level in problem.levels(operand)]
        )
        return RemoveUnusedMemoryStage()(copy_with(problem, {"top_levels": top_levels}))


SearchInterLayerDataLocalityStage = SearchUnusedMemoryStage
"""The name of the stage in the reference's later versions."""

ExploitInterLayerDataLocalityStage = RemoveUnusedMemoryStage
"""The name of the stage in the reference's later versions."""


# --- the stage that explores layers of equal content only once ---


class OfLayer(Protocol):
    """A result that can be transferred to another layer of equal content."""

    def for_layer(self, layer: Layer) -> Self:
        """The result for another layer: its bounds hold there too, but nothing is counted twice."""
        ...


R = TypeVar("R", bound=OfLayer)


@final
@dataclass(frozen=True, slots=True)
class EachOnceStage(Stage[Iterable[MappingProblem], Iterator[R]], Generic[R]):
    """Runs ``inner`` on every layer of a stream, in order, but only once per content.

    Layers have equal content if they differ only in their names and the names of the layers that
    they read from, with the same accelerator and constraints, as in the blocks of a transformer.
    The others reuse the result and the bounds of the first one; their statistics count nothing.
    """

    inner: Stage[MappingProblem, R]

    def __call__(self, problems: Iterable[MappingProblem], /) -> Iterator[R]:
        found: dict[ProblemContent, R] = {}
        for problem in problems:
            content = problem.content
            if content in found:
                yield found[content].for_layer(problem.layer)
            else:
                found[content] = self.inner(problem)
                yield found[content]


# --- the stage that adds the vector operators of a network to the results of its layers ---


def vector_memory(accelerator: Accelerator, home: str | None) -> MemoryLevel | None:
    """The memory of a vector operator whose tensors have this home; ``None``: the usual one.

    It is the usual one where the vector unit names its memory.
    """
    unit = accelerator.vector_unit
    if home is None or (unit is not None and unit.memory is not None):
        return None
    return next(level for level in accelerator.memories if level.name == home)


def _vector_homes(
    network: NetworkProblem, found: NetworkEvaluation | NetworkFront
) -> Iterator[tuple[VectorNode, MemoryLevel]]:
    """The vector operators whose tensors all stay in one memory on chip, and that memory."""
    accelerator = network.accelerator
    is_chosen = found.on_chip is not None and accelerator.counting is not Counting.REFERENCE
    tops = {} if is_chosen else _tops(accelerator, found)
    if not is_chosen and not tops:
        return
    graph = TensorGraph.of(network.workload, mapped_layers(network))
    homes = _chosen_homes(graph, accelerator, found) if is_chosen else graph.homes_in(tops)
    for i, step in enumerate(graph.steps):
        home = vector_memory(accelerator, graph.vector_home(i, homes))
        if isinstance(step.node, VectorNode) and home is not None:
            yield step.node, home


def _chosen_homes(
    graph: TensorGraph, accelerator: Accelerator, found: NetworkEvaluation | NetworkFront
) -> dict[int, str]:
    """The homes on chip that a search has chosen for tensors."""
    chosen = {x.node: x.memory for x in found.on_chip.tensors} if found.on_chip else {}
    homes = {t: chosen[graph.buffers[x.buffers[0]].writer] for t, x in enumerate(graph.tensors)}
    outermost = accelerator.levels_of(OUTPUT)[-1].name
    return {t: home for t, home in homes.items() if home != outermost}


def _tops(
    accelerator: Accelerator, found: NetworkEvaluation | NetworkFront
) -> dict[tuple[str, LayerOperand], str]:
    """The memories on chip in which operands of layers end; those on a front have the same."""
    if isinstance(found, NetworkEvaluation):
        cmes = tuple(result.cme for result in found.layers)
    else:
        cmes = tuple(front.cmes[0] for front in found.layers)
    return {
        (cme.layer, link.operand): memory
        for cme in cmes
        for link in cme.links
        for memory in [x.memory for x in cme.levels if x.operand == link.operand][-1:]
        if memory != accelerator.levels_of(link.memory_operand)[-1].name
    }


Total = TypeVar("Total", NetworkEvaluation, NetworkFront)


@final
@dataclass(frozen=True, slots=True)
class VectorStage(Stage[NetworkProblem, Total], Generic[Total]):
    """The result of ``inner`` for the layers, together with the cost of every vector operator.

    With ``counted``, the totals include the vector operators. Otherwise they are listed
    separately, and the totals are comparable with those of tools that omit such operators.

    Raises:
        InputError: where a vector operator cannot be costed.
    """

    inner: Stage[NetworkProblem, Total]
    counted: bool = False

    def __call__(self, network: NetworkProblem, /) -> Total:
        nodes, accelerator = network.workload.vector_nodes, network.accelerator
        usual = {node.name: evaluate_vector(node, accelerator) for node in nodes}
        found = self.inner(network)
        moved = {
            node.name: evaluate_vector(node, accelerator, home)
            for node, home in _vector_homes(network, found)
        }
        segments = (found.on_chip and found.on_chip.segments) or ()
        tiled = {entry.node: entry for segment in segments for entry in segment.vector}
        vector = tuple((usual | moved | tiled).values())
        return copy_with(found, {"vector": vector, "vector_counted": self.counted})

    def stage_options(self) -> str:
        """Whether the totals include vector operators."""
        return json.dumps({"counted": self.counted})

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """None: ``inner`` runs once, before this stage."""
        return ()

    def stage_sequence(self) -> tuple[Stage[Never, object], ...]:
        """The stages of ``inner``, then this one."""
        return (*self.inner.stage_sequence(), self)
