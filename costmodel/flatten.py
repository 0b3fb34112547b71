"""Flattens one layer, accelerator and spatial mapping into the arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, prod
from typing import Annotated, Generic, NamedTuple, TypeVar, cast, final

import numpy as np

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.costmodel.kernel.axes import FRACTIONAL, INTEGER
from nestmap.costmodel.kernel.record import (
    DIMENSIONS,
    INDICES,
    LEVELS,
    MEMORIES,
    OPERANDS,
    PORTS,
    TRANSFERS,
    UNROLLINGS,
    VIEWS,
    copy_record,
    fill_corner,
    new_record,
)
from nestmap.costmodel.mac_energy import computation_energy
from nestmap.costmodel.ports import Transfer, link_ends, link_sharing, port_transfers
from nestmap.costmodel.spatial import fractional_factors, integer_factors, level_unrollings
from nestmap.model import Layer, MappingProblem, Relevance, SpatialProblem
from nestmap.model.arrays import Floats, Ints

P = TypeVar("P")


@final
class FlatProblem:
    """One spatial problem as a record of arrays.

    Axes: ``x`` operands (output first), ``l`` levels (0 is the array, memory levels follow, the
    innermost first), ``d`` loop dimensions, ``v`` views, ``m`` memories, ``p`` ports, ``q``
    partially relevant indices, ``t`` transfers: the movements that ports serve, port by port.
    Counts are floats: exact below 2**53, and the reference divides in floating point too.
    """

    operands: int
    dimensions: int
    memories: int
    ports: int
    transfers: int
    views: int  # 1 if both views are equal, else 2
    holds_inputs: int  # 1 if the array reuses an input word while it does not change
    relevance: Annotated[Ints, (OPERANDS, DIMENSIONS)]  # [x, d] Relevance
    levels: Annotated[Ints, (OPERANDS,)]  # [x] number of memory levels
    precision: Annotated[Floats, (OPERANDS,)]  # [x] bits of an element (of the output: finished)
    partial_precision: Annotated[
        Floats, (OPERANDS,)
    ]  # [x] bits of a partial sum (inputs: the same)
    r_dimension: Annotated[Ints, (OPERANDS * DIMENSIONS,)]  # r dimensions, operand by operand
    first_r: Annotated[Ints, (OPERANDS + 1,)]  # [x + 1] where those of an operand begin
    first_pr: Annotated[Ints, (OPERANDS + 1,)]  # [x + 1] where the pr indices of an operand begin
    pr_index: Annotated[Ints, (OPERANDS, DIMENSIONS)]  # [x, d] the pr index that d belongs to
    pr_dimensions: Annotated[Ints, (INDICES, 2)]  # [q, 2]
    pr_steps: Annotated[Floats, (INDICES, 2)]  # [q, 2] coefficients over their common divisor
    pr_length: Annotated[Floats, (INDICES,)]  # [q] axis length
    memory: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] memory of a level (-1 at level 0)
    memory_size: Annotated[Floats, (MEMORIES,)]  # [m] bits
    slots: Annotated[Ints, (MEMORIES,)]  # [m] operands of the layer that it holds
    # [m, i] operand and level of each slot, in the order in which the memory names them
    slot_operand: Annotated[Ints, (MEMORIES, OPERANDS)]
    slot_level: Annotated[Ints, (MEMORIES, OPERANDS)]
    double_buffered: Annotated[Ints, (MEMORIES,)]  # [m] 1 if the description forces it
    transfer_operand: Annotated[Ints, (TRANSFERS,)]  # [t]
    transfer_level: Annotated[Ints, (TRANSFERS,)]  # [t] memory level whose port serves it
    transfer_movement: Annotated[Ints, (TRANSFERS,)]  # [t]
    transfer_energy: Annotated[Floats, (TRANSFERS,)]  # [t] pJ per access of the port's full width
    first_transfer: Annotated[Ints, (PORTS + 1,)]  # [p + 1] where the transfers of a port begin
    port_min: Annotated[Floats, (PORTS,)]  # [p] bit/cycle
    port_max: Annotated[Floats, (PORTS,)]  # [p]
    # [x, l] ends of the link above level l whose ports serve both inputs
    link_sharing: Annotated[Ints, (OPERANDS, LEVELS)]
    # [x, l, 2] transfers at the low and the high end of the link above level l
    link_ends: Annotated[Ints, (OPERANDS, LEVELS, 2)]
    # the unrollings of an operand from the array upwards: dimensions, factors, and where those
    # above level l begin
    unrolled_dimension: Annotated[Ints, (OPERANDS, UNROLLINGS)]
    unrolled_factor: Annotated[Floats, (VIEWS, OPERANDS, UNROLLINGS)]
    first_unrolled: Annotated[Ints, (OPERANDS, LEVELS + 1)]
    # [v, l] 1 where an ir unrolling of the output is above level l or higher
    reduced_from: Annotated[Ints, (VIEWS, LEVELS + 1)]
    units: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] instances of a level in use
    # [v, x, l] units of level l that get different data from level l + 1
    boost: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]
    computation: float  # pJ of all multiply-accumulates
    leakage: float  # pJ a cycle
    ideal_cycles: float
    cycles_per_operation: float
    drain: float  # cycles


def flatten(spatial: SpatialProblem) -> FlatProblem:
    """The record of a spatial problem; kernels only read it.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    return _flatten(_Identity(spatial))


@final
class _Identity(Generic[P]):
    """A problem that equals only itself: comparing entire problems costs more than it saves."""

    def __init__(self, problem: P) -> None:
        self.problem = problem

    def __hash__(self) -> int:
        return id(self.problem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and hash(self) == hash(cast(object, other))


@lru_cache(maxsize=64)
def _flatten(same: _Identity[SpatialProblem]) -> FlatProblem:
    spatial = same.problem
    flat = copy_record(_flatten_problem(_Identity(spatial.problem)))
    _put_unrollings(flat, spatial)
    return flat


@lru_cache(maxsize=64)
def _flatten_problem(same: _Identity[MappingProblem]) -> FlatProblem:
    """The part of the record that is the same for all spatial mappings of a layer."""
    problem, flat = same.problem, new_record(FlatProblem)
    _put_layer(flat, problem)
    _put_memories(flat, problem)
    _put_transfers(flat, problem)
    array = problem.accelerator.array
    flat.leakage = leakage_of(problem.accelerator)
    flat.cycles_per_operation = array.operation_cycles
    flat.holds_inputs = int(array.holds_inputs)
    flat.ideal_cycles = ceil(ceil(problem.layer.macs / array.units) * array.operation_cycles)
    return flat


def _put_layer(flat: FlatProblem, problem: MappingProblem) -> None:
    layer = problem.layer
    where = f"layer {layer.name}"
    relevance = np.array(
        [[layer.relevance(o.name, loop.dimension) for loop in layer.loops] for o in layer.operands]
    )
    pr = partially_relevant_indices(layer)
    inputs = [operand.precision for operand in layer.inputs]
    flat.operands, flat.dimensions = relevance.shape
    fill_corner(flat.relevance, relevance, f"{where}: loop dimensions")
    fill_corner(flat.precision, [layer.output.precision, *inputs], f"{where}: operands")
    fill_corner(
        flat.partial_precision, [layer.output.partial_precision, *inputs], f"{where}: operands"
    )
    relevant = relevance == Relevance.RELEVANT
    fill_corner(flat.r_dimension, np.nonzero(relevant)[1], f"{where}: indices")
    fill_corner(flat.first_r, np.append(0, np.cumsum(relevant.sum(axis=1))), f"{where}: operands")
    first = np.searchsorted([i.operand for i in pr], np.arange(len(layer.operands) + 1))
    fill_corner(flat.first_pr, first, f"{where}: operands")
    for q, index in enumerate(pr):
        flat.pr_index[index.operand, list(index.dimensions)] = q
    if pr:
        fill_corner(flat.pr_dimensions, [i.dimensions for i in pr], f"{where}: affine indices")
        fill_corner(flat.pr_steps, [i.steps for i in pr], f"{where}: affine indices")
        fill_corner(flat.pr_length, [i.length for i in pr], f"{where}: affine indices")


def _put_memories(flat: FlatProblem, problem: MappingProblem) -> None:
    accelerator = problem.accelerator
    where = f"accelerator {accelerator.name}: memory levels of one operand and the array"
    memories = [level.instance for level in accelerator.memories]
    flat.memories = len(memories)
    fill_corner(
        flat.memory_size, [m.size for m in memories], f"accelerator {accelerator.name}: memories"
    )
    fill_corner(flat.double_buffered, [m.double_buffered for m in memories], "memories")
    fill_corner(flat.memory, _memory_of_level(problem), where)
    for m, level in enumerate(accelerator.memories):
        for operand in level.operands:
            for x in np.flatnonzero([operand == o for o in problem.links.values()]):
                flat.slot_operand[m, flat.slots[m]] = x
                flat.slot_level[m, flat.slots[m]] = list(flat.memory[x]).index(m)
                flat.slots[m] += 1
    fill_corner(flat.levels, [len(problem.levels(o.name)) for o in problem.layer.operands], where)


def _put_transfers(flat: FlatProblem, problem: MappingProblem) -> None:
    where = f"accelerator {problem.accelerator.name}"
    ports = [port for level in problem.accelerator.memories for port in level.instance.ports]
    transfers = port_transfers(problem)
    flat.ports = len(ports)
    fill_corner(flat.port_min, [port.width_min for port in ports], f"{where}: ports")
    fill_corner(flat.port_max, [port.width_max for port in ports], f"{where}: ports")
    put_transfers(flat, transfers, f"{where}: port allocations")
    first = np.searchsorted([t.port for t in transfers], np.arange(len(ports) + 1))
    fill_corner(flat.first_transfer, first, f"{where}: ports")
    fill_corner(flat.link_ends, link_ends(problem, transfers), f"{where}: memory levels")
    fill_corner(flat.link_sharing, link_sharing(problem, transfers), f"{where}: memory levels")


def put_transfers(flat: FlatProblem, transfers: Sequence[Transfer], where: str) -> None:
    """Writes the transfers and their energies per access.

    Raises:
        InputError: if they exceed the capacity of a record; ``where`` names them.
    """
    flat.transfers = len(transfers)
    fill_corner(flat.transfer_operand, [t.operand for t in transfers], where)
    fill_corner(flat.transfer_level, [t.level for t in transfers], where)
    fill_corner(flat.transfer_movement, [t.movement for t in transfers], where)
    fill_corner(flat.transfer_energy, [t.energy for t in transfers], where)


def _put_unrollings(flat: FlatProblem, spatial: SpatialProblem) -> None:
    factors = (fractional_factors(spatial), integer_factors(spatial))
    forms = [level_unrollings(spatial, view) for view in factors]
    flat.views = 1 if factors[FRACTIONAL] == factors[INTEGER] else 2
    flat.computation, flat.drain = computation_energy(spatial), _drain(spatial)
    fill_corner(flat.unrolled_dimension, forms[INTEGER].dimension, "unrollings")
    fill_corner(flat.unrolled_factor, np.stack([form.factor for form in forms]), "unrollings")
    fill_corner(flat.first_unrolled, forms[INTEGER].first, "unrollings")
    fill_corner(flat.reduced_from, np.stack([form.reduced_from for form in forms]), "unrollings")
    fill_corner(flat.units, np.stack([form.units for form in forms]), "unrollings")
    fill_corner(flat.boost, np.stack([form.boost for form in forms]), "unrollings")


class PartialIndex(NamedTuple):
    """One partially relevant index of an operand."""

    operand: int
    dimensions: tuple[int, int]
    steps: tuple[int, ...]
    length: int


def partially_relevant_indices(layer: Layer) -> list[PartialIndex]:
    """The indices of all operands that depend on two dimensions."""
    order, sizes = list(layer.sizes), layer.sizes
    return [
        PartialIndex(
            operand=x,
            dimensions=(order.index(index.dimensions[0]), order.index(index.dimensions[1])),
            steps=index.steps,
            length=index.axis_length(tuple(sizes[d] for d in index.dimensions)),
        )
        for x, operand in enumerate(layer.operands)
        for index in operand.indices
        if len(index.terms) == 2
    ]


def _memory_of_level(problem: MappingProblem) -> Ints:
    positions = {level.name: i for i, level in enumerate(problem.accelerator.memories)}
    hierarchies = [problem.levels(o.name) for o in problem.layer.operands]
    result = np.full((len(hierarchies), max(map(len, hierarchies)) + 1), -1, np.int64)
    for x, levels in enumerate(hierarchies):
        result[x, 1 : len(levels) + 1] = [positions[level.name] for level in levels]
    return result


def _drain(spatial: SpatialProblem) -> float:
    """Cycles until the last outputs have left the systolic dimensions.

    Formula: docs/cost-model.md#off-loading-and-drain
    """
    dimensions = spatial.accelerator.array.systolic_dimensions
    unrolled = [prod(loop.size for loop in spatial.spatial_mapping.on(name)) for name in dimensions]
    return float(sum(factor - 1 for factor in unrolled))
