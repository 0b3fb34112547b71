"""Flat arrays for one layer, accelerator and spatial mapping: all that the kernels read."""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nestmap.costmodel.spatial import (
    Factors,
    fractional_factors,
    integer_factors,
    level_unrollings,
)
from nestmap.model import MOVEMENTS, Layer, Relevance, SpatialProblem, needed_movements

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

OUT = 0
"""The row of the output in every array over operands."""

RD_LOW, WR_LOW, RD_HIGH, WR_HIGH = range(4)
"""The columns of the four movements, in the order of :data:`nestmap.model.MOVEMENTS`."""

FRACTIONAL, INTEGER = 0, 1
"""The two views of a spatial mapping: energy uses the first, latency the second."""


class FlatProblem(NamedTuple):
    """One spatial problem as arrays.

    Axes: ``x`` operands (output first), ``l`` levels (0 is the array, memory levels follow, the
    innermost first), ``d`` loop dimensions, ``v`` views, ``m`` memories, ``p`` ports, ``q``
    partially relevant indices, ``t`` transfers: the movements that ports serve, port by port.
    Counts are floats: exact below 2**53, and the reference divides in floating point too.
    """

    relevance: I64  # [x, d] Relevance
    levels: I64  # [x] number of memory levels
    precision: F64  # [x] bits of an element (of the output: finished)
    partial_precision: F64  # [x] bits of a partial sum (inputs: as precision)
    r_dimension: I64  # relevant dimensions, operand by operand
    first_r: I64  # [x + 1] where those of an operand begin
    first_pr: I64  # [x + 1] where the indices of an operand begin
    pr_dimensions: I64  # [q, 2]
    pr_steps: F64  # [q, 2] coefficients over their greatest common divisor
    pr_length: F64  # [q] axis length
    memory: I64  # [x, l] memory of a level (-1 at level 0)
    memory_size: F64  # [m] bits
    double_buffered: Flags  # [m] forced by the description
    transfer_operand: I64  # [t]
    transfer_level: I64  # [t] memory level whose port serves it
    transfer_movement: I64  # [t]
    transfer_energy: F64  # [t] pJ per access of the port's full width
    first_transfer: I64  # [p + 1] where the transfers of a port begin
    port_min: F64  # [p] bit/cycle
    port_max: F64  # [p]
    link_sharing: I64  # [x, l] ends of the link above level l whose ports serve both inputs
    link_ports: I64  # [x, l, 2] transfers at the low and the high end of the link above level l
    unrolled: F64  # [v, x, l, d] product of the unrollings of d between the array and level l
    reduced_from: Flags  # [v, l] whether an ir unrolling of the output stands above level >= l
    units: F64  # [v, x, l] instances of a level in use
    boost: F64  # [v, x, l] units of level l that get different data from level l + 1
    views: int  # 1 if both views are equal, else 2
    macs: float
    unit_energy: float  # pJ
    ideal_cycles: float
    cycles_per_operation: float
    drain: float  # cycles


def flatten(spatial: SpatialProblem) -> FlatProblem:
    """The arrays of a spatial problem."""
    layer, accelerator = spatial.layer, spatial.accelerator
    memories, array = accelerator.memories, accelerator.array
    factors = (fractional_factors(spatial), integer_factors(spatial))
    forms = tuple(level_unrollings(spatial, view) for view in factors)
    pr, relevance = partially_relevant(layer), _relevance(layer)
    transfers = port_transfers(spatial)
    ports = [port for level in memories for port in level.instance.ports]
    inputs = [float(operand.precision) for operand in layer.inputs]
    return FlatProblem(
        relevance=relevance,
        levels=np.array([len(spatial.problem.levels(o.name)) for o in layer.operands], np.int64),
        precision=np.array([layer.output.precision, *inputs], np.float64),
        partial_precision=np.array([layer.output.partial_precision, *inputs], np.float64),
        r_dimension=np.nonzero(relevance == Relevance.RELEVANT)[1],
        first_r=np.append(0, np.cumsum((relevance == Relevance.RELEVANT).sum(axis=1))),
        first_pr=np.searchsorted([i.operand for i in pr], np.arange(len(layer.operands) + 1)),
        pr_dimensions=np.array([index.dimensions for index in pr], np.int64).reshape(-1, 2),
        pr_steps=np.array([index.steps for index in pr], np.float64).reshape(-1, 2),
        pr_length=np.array([index.length for index in pr], np.float64),
        memory=_memory_of_level(spatial),
        memory_size=np.array([m.instance.size for m in memories], np.float64),
        double_buffered=np.array([m.instance.double_buffered for m in memories], np.bool_),
        transfer_operand=np.array([t.operand for t in transfers], np.int64),
        transfer_level=np.array([t.level for t in transfers], np.int64),
        transfer_movement=np.array([t.movement for t in transfers], np.int64),
        transfer_energy=np.array([t.energy for t in transfers], np.float64),
        first_transfer=np.searchsorted([t.port for t in transfers], np.arange(len(ports) + 1)),
        port_min=np.array([port.width_min for port in ports], np.float64),
        port_max=np.array([port.width_max for port in ports], np.float64),
        link_sharing=_link_sharing(spatial, transfers),
        link_ports=_link_ends(spatial, transfers),
        unrolled=np.stack([form.cumulative for form in forms]),
        reduced_from=np.stack([form.reduced_from for form in forms]),
        units=np.stack([form.units for form in forms]),
        boost=np.stack([form.boost for form in forms]),
        views=1 if factors[FRACTIONAL] == factors[INTEGER] else 2,
        macs=float(layer.macs),
        unit_energy=array.unit_energy,
        ideal_cycles=float(ceil(ceil(layer.macs / array.units) * array.cycles_per_operation)),
        cycles_per_operation=array.cycles_per_operation,
        drain=_drain(spatial, factors[FRACTIONAL]),
    )


class Transfer(NamedTuple):
    """One movement of an operand through a port of one of its memory levels."""

    port: int
    operand: int
    level: int
    movement: int
    energy: float


def port_transfers(spatial: SpatialProblem) -> list[Transfer]:
    """All movements that the memories' ports serve for this layer, port by port."""
    memories = spatial.accelerator.memories
    counts = [len(level.instance.ports) for level in memories]
    first = {level.name: sum(counts[:i]) for i, level in enumerate(memories)}
    transfers: list[Transfer] = []
    for x, (name, memory_operand) in enumerate(spatial.problem.links.items()):
        levels = spatial.problem.levels(name)
        for i, memory in enumerate(levels):
            for movement in needed_movements(memory_operand, is_top=i + 1 == len(levels)):
                port = memory.port_index(memory_operand, movement)
                assert port is not None, "the accelerator's constructor demands these ports"
                instance = memory.instance
                energy = instance.read_energy if movement.reads else instance.write_energy
                where = (first[memory.name] + port, x, i + 1, MOVEMENTS.index(movement))
                transfers.append(Transfer(*where, energy))
    return sorted(transfers)


def _link_ends(spatial: SpatialProblem, transfers: list[Transfer]) -> I64:
    """[x, l, 2] the transfers that load inputs, or store outputs, over the link above level l."""
    at = {(t.operand, t.level, t.movement): i for i, t in enumerate(transfers)}
    result = np.full((*_memory_of_level(spatial).shape, 2), -1, np.int64)
    for x, operand in enumerate(spatial.layer.operands):
        low, high = (RD_HIGH, WR_LOW) if x == OUT else (WR_HIGH, RD_LOW)
        for level in range(1, len(spatial.problem.levels(operand.name))):
            result[x, level] = at[x, level, low], at[x, level + 1, high]
    return result


def _link_sharing(spatial: SpatialProblem, transfers: list[Transfer]) -> I64:
    """[x, l] how many of the two ports at the ends of a link serve both inputs (0, 1 or 2)."""
    ends = _link_ends(spatial, transfers)
    users: dict[int, set[int]] = {}
    for transfer in transfers:
        if transfer.operand != OUT:
            users.setdefault(transfer.port, set()).add(transfer.operand)
    shared = np.array([len(users.get(t.port, ())) > 1 for t in transfers])
    return np.where(ends >= 0, shared[ends], False).sum(axis=2).astype(np.int64)


class PartialIndex(NamedTuple):
    """One partially relevant index of an operand."""

    operand: int
    dimensions: tuple[int, int]
    steps: tuple[int, ...]
    length: int


def partially_relevant(layer: Layer) -> list[PartialIndex]:
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


def _relevance(layer: Layer) -> I64:
    return np.array(
        [[layer.relevance(o.name, loop.dimension) for loop in layer.loops] for o in layer.operands],
        np.int64,
    )


def _memory_of_level(spatial: SpatialProblem) -> I64:
    positions = {level.name: i for i, level in enumerate(spatial.accelerator.memories)}
    hierarchies = [spatial.problem.levels(o.name) for o in spatial.layer.operands]
    result = np.full((len(hierarchies), max(map(len, hierarchies)) + 1), -1, np.int64)
    for x, levels in enumerate(hierarchies):
        result[x, 1 : len(levels) + 1] = [positions[level.name] for level in levels]
    return result


def _drain(spatial: SpatialProblem, factors: Factors) -> float:
    """Cycles until the last results have left the systolic dimensions (spec section 7.6)."""
    mapped = [factors[name] for name in spatial.accelerator.array.systolic_dimensions]
    return float(sum(ceil(prod(loops.values())) - 1 for loops in mapped))
