"""Mapping problems: a layer or a network, an accelerator, and constraints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from pydantic import model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import OUTPUT, Dimension, LayerOperand, MemoryOperand
from nestmap.model.errors import InputError
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryLevel
from nestmap.model.mapping.constraints import LayerConstraints, MappingConstraints
from nestmap.model.mapping.dataflow import held_dimensions, least_unrollings
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.model.units import Bits
from nestmap.model.workload.graph import Workload
from nestmap.model.workload.layer import Layer

# --- data that stays on chip: the highest memory that each operand of a layer uses ---


class TopLevel(Frozen, frozen=True):
    """The highest memory, by name, that the loops of an operand use: its data stays there."""

    operand: MemoryOperand
    memory: str


class Reserved(Frozen, frozen=True):
    """The bits of a memory that other data takes while a layer runs."""

    memory: str
    bits: Bits


class LayerTopLevels(Frozen, frozen=True):
    """The top levels of a layer's operands; operands that are not named use all their memories."""

    layer: str
    top_levels: tuple[TopLevel, ...]


def without_unused_levels(accelerator: Accelerator, top_levels: Iterable[TopLevel]) -> Accelerator:
    """The accelerator without the memories above the top level of each operand that stays there.

    Higher memories lose the operand and the port uses for it; memories that hold no operand are
    removed. The name does not change, and applying the same top levels again changes nothing. A
    vector unit whose memory no longer holds outputs uses the outermost memory that does.

    Raises:
        InputError: if a top level is not a memory of its operand.
    """
    unused: dict[str, set[MemoryOperand]] = {level.name: set() for level in accelerator.memories}
    for top in top_levels:
        names = [level.name for level in accelerator.levels_of(top.operand)]
        if top.memory not in names:
            expected = f"one of its memories: {', '.join(names) or 'it has none'}"
            raise InputError(f"top level of {top.operand}", top.memory, expected)
        for name in names[names.index(top.memory) + 1 :]:
            unused[name].add(top.operand)
    memories = tuple(_reduce_levels(accelerator.memories, unused))
    unit = accelerator.vector_unit
    if unit and unit.memory and OUTPUT in unused[unit.memory]:
        unit = copy_with(unit, {"memory": None})
    kept = {level.name for level in memories}
    idle = [level for level in accelerator.memories if level.name not in kept]
    return copy_with(
        accelerator,
        {
            "memories": memories,
            "vector_unit": unit,
            "unused_leakage": accelerator.unused_leakage + _leakage(accelerator, idle),
        },
    )


def _leakage(accelerator: Accelerator, memories: Iterable[MemoryLevel]) -> float:
    """The leakage of all instances of these memories (mW); 0 if leakage is not counted."""
    if not accelerator.counts_leakage:
        return 0.0
    return sum((x.instance.leakage * accelerator.instances_of(x) for x in memories), 0.0)


def _reduce_levels(
    memories: Iterable[MemoryLevel], unused: Mapping[str, set[MemoryOperand]]
) -> Iterator[MemoryLevel]:
    for level in memories:
        left = tuple(x for x in level.operands if x not in unused[level.name])
        if left == level.operands:
            yield level
        elif left:
            yield _with_operands(level, left)


def _with_operands(level: MemoryLevel, operands: tuple[MemoryOperand, ...]) -> MemoryLevel:
    """The level with only these operands; ports without a use remain."""
    ports = tuple(
        copy_with(
            port, {"allocation": tuple(use for use in port.allocation if use.operand in operands)}
        )
        for port in level.instance.ports
    )
    instance = copy_with(level.instance, {"ports": ports})
    return copy_with(level, {"instance": instance, "operands": operands})


# --- mapping problems: a layer or a network, an accelerator, and constraints ---

DEFAULT_LINKS: dict[LayerOperand, MemoryOperand] = {"I": "I1", "W": "I2"}
"""The default memory operand of each input."""


def resolve_links(
    names: Sequence[LayerOperand],
    known: Collection[MemoryOperand],
    fixed: Mapping[LayerOperand, MemoryOperand],
) -> dict[LayerOperand, MemoryOperand | None]:
    """The memory operand of each operand; ``None`` if none is left for it.

    By default ``I`` is carried by ``I1`` and ``W`` by ``I2`` where these are ``known``; other
    inputs take the remaining memory operands in order. ``fixed`` links take precedence.
    """
    usual = {
        name: memory_operand
        for name, memory_operand in DEFAULT_LINKS.items()
        if memory_operand in known and memory_operand not in fixed.values()
    }
    links = usual | dict(fixed)
    taken = {links[name] for name in names if name in links}
    free = iter(sorted(set(known) - taken))
    return {name: links.get(name) or next(free, None) for name in names}


ProblemContent = tuple[
    Layer, Accelerator, LayerConstraints, tuple[TopLevel, ...], tuple[Reserved, ...]
]
"""A mapping problem without names."""


class MappingProblem(Frozen, frozen=True):
    """A layer, the accelerator to map it to, and the user's constraints.

    ``top_levels`` give the highest memory of operands whose data stays on chip; the accelerator may
    still have levels above. ``reserved`` is the capacity that data of other layers takes.
    """

    layer: Layer
    accelerator: Accelerator
    constraints: LayerConstraints = LayerConstraints()
    top_levels: tuple[TopLevel, ...] = ()
    reserved: tuple[Reserved, ...] = ()

    @model_validator(mode="after")
    def _check_links(self) -> MappingProblem:
        links = self.links
        known = self.accelerator.operands
        for operand, memory_operand in links.items():
            if memory_operand not in known:
                raise ValueError(
                    f"operand {operand} of layer {self.layer.name} is linked to memory operand "
                    f"{memory_operand}; expected one of {', '.join(known)}"
                )
        if links[self.layer.output.name] != OUTPUT:
            raise ValueError(
                f"output {self.layer.output.name} of layer {self.layer.name} is linked to memory "
                f"operand {links[self.layer.output.name]}; expected {OUTPUT}"
            )
        for memory_operand, count in Counter(links.values()).items():
            if count > 1:
                raise ValueError(
                    f"{count} operands of layer {self.layer.name} are linked to memory operand "
                    f"{memory_operand}; expected one each"
                )
        return self

    @cached_property
    def links(self) -> dict[LayerOperand, MemoryOperand]:
        """The memory operand of each operand, output first.

        Operands without a constraint follow :func:`usual_links`.
        """
        fixed = {link.operand: link.memory_operand for link in self.constraints.links}
        known = self.accelerator.operands
        names = [operand.name for operand in self.layer.operands]
        links = resolve_links(names, known, {self.layer.output.name: OUTPUT} | fixed)
        return {name: link or "(none is left)" for name, link in links.items()}

    @property
    def held_dimensions(self) -> dict[LayerOperand, tuple[Dimension, ...]]:
        """What the innermost memories have to hold for the dataflow of the constraints."""
        dataflow = self.constraints.dataflow
        return {} if dataflow is None else held_dimensions(dataflow, self.layer, self.links)

    @property
    def least_unrollings(self) -> dict[Dimension, int]:
        """How often the dataflow of the constraints unrolls loop dimensions at least."""
        return least_unrollings(self.constraints.dataflow, self.layer)

    @property
    def content(self) -> ProblemContent:
        """Everything but names; problems with equal content have the same mappings and costs."""
        constraints = copy_with(self.constraints, {"target": LayerConstraints().target})
        top_levels, reserved = self.top_levels, self.reserved
        return self.layer.anonymous, self.accelerator, constraints, top_levels, reserved

    def room_in(self, memory: MemoryLevel) -> Bits:
        """The bits of one instance of a memory that the layer may use."""
        taken = sum(x.bits for x in self.reserved if x.memory == memory.name)
        return memory.instance.size - taken

    def levels(self, operand: LayerOperand) -> tuple[MemoryLevel, ...]:
        """The memories that hold a layer operand, innermost first."""
        return self._levels[operand]

    @cached_property
    def _levels(self) -> dict[LayerOperand, tuple[MemoryLevel, ...]]:
        return {operand: self.accelerator.levels_of(m) for operand, m in self.links.items()}


class NetworkProblem(Frozen, frozen=True):
    """The problem of an exploration: map every layer of a workload to an accelerator.

    ``top_levels`` give, per layer, the highest memory of operands whose data stays on chip; layers
    that are not named use all memories.
    """

    workload: Workload
    accelerator: Accelerator
    constraints: MappingConstraints = MappingConstraints()
    top_levels: tuple[LayerTopLevels, ...] = ()

    def top_levels_of(self, layer: Layer) -> tuple[TopLevel, ...]:
        """The top levels of the operands of a layer."""
        return next((x.top_levels for x in self.top_levels if x.layer == layer.name), ())


class SpatialProblem(Frozen, frozen=True):
    """A mapping problem with its spatial mapping fixed."""

    problem: MappingProblem
    spatial_mapping: SpatialMapping

    @model_validator(mode="after")
    def _check_unrollings(self) -> SpatialProblem:
        loops, array = self.layer.sizes, self.accelerator.array.sizes
        for unrolling in self.spatial_mapping.unrollings:
            name = unrolling.array_dimension
            if name not in array:
                raise ValueError(
                    f"spatial mapping unrolls over {name}, which is not in the array; expected "
                    f"one of {', '.join(array)}"
                )
            if unrolling.factor > array[name]:
                raise ValueError(
                    f"spatial mapping unrolls {unrolling} ({unrolling.factor} units); expected at "
                    f"most the {array[name]} units of {name}"
                )
            for loop in unrolling.loops:
                if loop.dimension not in loops:
                    raise ValueError(
                        f"spatial mapping unrolls {loop.dimension} over {name}; expected a loop "
                        f"dimension of layer {self.layer.name}: {', '.join(loops)}"
                    )
        for dimension, size in loops.items():
            self._check_factors(dimension, size)
        return self

    def _check_factors(self, dimension: Dimension, size: int) -> None:
        """Checks that no unrolling is larger than what the earlier ones leave, rounded up."""
        product = 1
        for unrolling in self.spatial_mapping.unrollings:
            for loop in unrolling.loops:
                if loop.dimension != dimension:
                    continue
                if loop.size > -(-size // product):
                    factor = self.spatial_mapping.factor_of(dimension)
                    raise ValueError(
                        f"spatial mapping unrolls {dimension} {factor} times; expected at most its "
                        f"size {size} in layer {self.layer.name}"
                    )
                product *= loop.size

    def for_layer(self, layer: Layer) -> SpatialProblem:
        """The same problem for another layer, which must have the same content before padding."""
        padded = layer.padded({x.dimension: x.padded for x in self.layer.padding})
        return copy_with(self, {"problem": copy_with(self.problem, {"layer": padded})})

    @property
    def layer(self) -> Layer:
        """The layer."""
        return self.problem.layer

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator."""
        return self.problem.accelerator

    @property
    def temporal_sizes(self) -> dict[Dimension, int]:
        """Iterations left for the temporal mapping per dimension: ``ceil(N / unrolling)``.

        Formula: docs/cost-model.md#iterations-left-in-time
        """
        factors = self.spatial_mapping.factors
        return {x.dimension: -(-x.size // factors.get(x.dimension, 1)) for x in self.layer.loops}

    def check(self, temporal: TemporalMapping) -> None:
        """Checks that a temporal mapping belongs to this problem.

        Raises:
            InputError: if its loops do not cover exactly the temporal sizes, or its cuts do not
                match the operands of the layer and their memories.
        """
        self._check_order(temporal)
        where = f"temporal mapping of layer {self.layer.name}: cuts"
        levels = {o.name: len(self.problem.levels(o.name)) for o in self.layer.operands}
        given = [cuts.operand for cuts in temporal.cuts]
        if sorted(given) != sorted(levels):
            raise InputError(where, ", ".join(given) or "none", f"each of {', '.join(levels)} once")
        for cuts in temporal.cuts:
            if len(cuts.positions) != levels[cuts.operand]:
                raise InputError(
                    f"{where} of {cuts.operand}",
                    f"{len(cuts.positions)} positions",
                    f"one for each of its {levels[cuts.operand]} memories",
                )

    def _check_order(self, temporal: TemporalMapping) -> None:
        where = f"temporal mapping of layer {self.layer.name}: order"
        left = self.temporal_sizes
        found = dict.fromkeys(left, 1)
        for loop in temporal.order:
            if loop.dimension not in left:
                raise InputError(where, f"loop {loop}", f"a dimension of {', '.join(left)}")
            found[loop.dimension] *= loop.size
        for dimension, size in left.items():
            if found[dimension] != size:
                raise InputError(where, f"{found[dimension]} iterations of {dimension}", str(size))


class CoreProblem(Frozen, frozen=True):
    """A layer on a core that supports certain spatial mappings; without any, all that fit."""

    problem: MappingProblem
    dataflows: tuple[SpatialMapping, ...] = ()
