"""Flattens one layer, accelerator and spatial mapping into the arrays that the kernels read."""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, inf, prod
from typing import Generic, NamedTuple, TypeVar, cast, final

import numpy as np

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.record import OUT, copy_record, fill_corner, new_record
from nestmap.costmodel.mac_energy import computation_energy
from nestmap.costmodel.ports import Transfer, link_ends, link_sharing, port_transfers
from nestmap.costmodel.spatial import put_unrollings, unrollings_of
from nestmap.costmodel.zeros import gating_densities, least_shares, skipping_densities, stored_bits
from nestmap.model import Counting, Layer, MappingProblem, Relevance, SpatialProblem
from nestmap.model.arrays import Ints
from nestmap.model.dims import ArrayDimension, LayerOperand

P = TypeVar("P")


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
    flat = copy_record(flatten_problem(spatial.problem))
    put_unrollings(flat, unrollings_of(spatial))
    flat.computation = computation_energy(spatial)
    return flat


def flatten_problem(problem: MappingProblem) -> FlatProblem:
    """The part of the record that is the same for all spatial mappings of a layer.

    :func:`~nestmap.costmodel.spatial.put_unrollings` adds a spatial mapping to a copy of it.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    return _flatten_problem(_Identity(problem))


@lru_cache(maxsize=64)
def _flatten_problem(same: _Identity[MappingProblem]) -> FlatProblem:
    problem, flat = same.problem, new_record(FlatProblem)
    _put_layer(flat, problem)
    _put_indices(flat, problem)
    _put_sides(flat, problem)
    _put_memories(flat, problem)
    _put_bits(flat, problem)
    _put_transfers(flat, problem)
    array = problem.accelerator.array
    flat.leakage = leakage_of(problem.accelerator)
    flat.hop_energy = array.hop_energy
    flat.hop_bandwidth = inf if array.hop_bandwidth is None else array.hop_bandwidth
    flat.cycles_per_operation = array.operation_cycles
    flat.holds_inputs = int(array.holds_inputs)
    flat.free_first_sum = int(problem.accelerator.free_first_sum)
    is_exact = problem.accelerator.counting is Counting.EXACT
    flat.counts_exactly = int(is_exact)
    flat.strict_ports = int(is_exact or problem.accelerator.strict_ports)
    flat.most_extent[:] = flat.loop_size if is_exact else inf
    flat.least_overlap = 0.0 if is_exact else -inf
    steps = ceil(problem.layer.macs / array.units) * array.operation_cycles
    executed = prod(skipping_densities(problem))
    flat.ideal_cycles = ceil(steps) if executed == 1.0 else max(1, floor(steps * executed))
    return flat


def _put_layer(flat: FlatProblem, problem: MappingProblem) -> None:
    layer = problem.layer
    where = f"layer {layer.name}"
    relevance = np.array(
        [[layer.relevance(o.name, loop.dimension) for loop in layer.loops] for o in layer.operands]
    )
    flat.operands, flat.dimensions = relevance.shape
    fill_corner(flat.relevance, relevance, f"{where}: loop dimensions")
    held = problem.held_dimensions
    for x, operand in enumerate(layer.operands):
        held_here = held.get(operand.name, ())
        flat.held[x, : flat.dimensions] = [loop.dimension in held_here for loop in layer.loops]
    relevant = relevance == Relevance.RELEVANT
    fill_corner(flat.r_dimension, np.nonzero(relevant)[1], f"{where}: indices")
    fill_corner(flat.first_r, np.append(0, np.cumsum(relevant.sum(axis=1))), f"{where}: operands")
    fill_corner(flat.loop_size, list(layer.sizes.values()), f"{where}: loop dimensions")


def _put_indices(flat: FlatProblem, problem: MappingProblem) -> None:
    layer = problem.layer
    where, dimensions = f"layer {layer.name}", list(layer.sizes)
    pr, index, first = partially_relevant_indices(layer), list[int](), [0]
    numbers = iter(range(-1, -1 - len(pr), -1))
    for operand in layer.operands:
        for found in operand.indices:
            alone = len(found.terms) == 1
            index.append(dimensions.index(found.dimensions[0]) if alone else next(numbers))
        first.append(len(index))
    fill_corner(flat.index, index, f"{where}: indices")
    fill_corner(flat.first_index, first, f"{where}: operands")
    first_pr = np.searchsorted([i.operand for i in pr], np.arange(len(layer.operands) + 1))
    fill_corner(flat.first_pr, first_pr, f"{where}: operands")
    for q, partial in enumerate(pr):
        flat.pr_index[partial.operand, list(partial.dimensions)] = q
    if pr:
        fill_corner(flat.pr_dimensions, [i.dimensions for i in pr], f"{where}: affine indices")
        fill_corner(flat.pr_steps, [i.steps for i in pr], f"{where}: affine indices")
        fill_corner(flat.pr_length, [i.length for i in pr], f"{where}: affine indices")


def _put_sides(flat: FlatProblem, problem: MappingProblem) -> None:
    array = problem.accelerator.array
    where, names = f"accelerator {problem.accelerator.name}: array dimensions", list(array.sizes)
    flat.sides = len(names)
    fill_corner(flat.systolic, [array.systolic_dimensions.count(x) for x in names], where)
    levels = [[_side_level(problem, o.name, x) for x in names] for o in problem.layer.operands]
    fill_corner(flat.side_level, levels, where)


def _side_level(problem: MappingProblem, operand: LayerOperand, side: ArrayDimension) -> int:
    """The level above which the unrollings over an array dimension are.

    The innermost level that serves it is the next one above, else the top is below.
    """
    memories = problem.levels(operand)
    serving = (i for i, memory in enumerate(memories) if side in memory.served_dimensions)
    return next(serving, len(memories))


def _put_memories(flat: FlatProblem, problem: MappingProblem) -> None:
    accelerator = problem.accelerator
    where = f"accelerator {accelerator.name}: memory levels of one operand and the array"
    memories = [level.instance for level in accelerator.memories]
    flat.memories = len(memories)
    sizes, room = [m.size for m in memories], [problem.room_in(x) for x in accelerator.memories]
    fill_corner(flat.memory_size, sizes, f"accelerator {accelerator.name}: memories")
    fill_corner(flat.memory_room, room, f"accelerator {accelerator.name}: memories")
    fill_corner(flat.double_buffered, [m.double_buffered for m in memories], "memories")
    fill_corner(flat.reuses_windows, [m.window_reuse for m in memories], "memories")
    fill_corner(flat.memory, _memory_of_level(problem), where)
    for m, level in enumerate(accelerator.memories):
        for operand in level.operands:
            for x in np.flatnonzero([operand == o for o in problem.links.values()]):
                flat.slot_operand[m, flat.slots[m]] = x
                flat.slot_level[m, flat.slots[m]] = list(flat.memory[x]).index(m)
                flat.slots[m] += 1
    fill_corner(flat.levels, [len(problem.levels(o.name)) for o in problem.layer.operands], where)


def _put_bits(flat: FlatProblem, problem: MappingProblem) -> None:
    """Writes how many bits an element takes at each level, and which zeros gate operations.

    Partial sums are never compressed.
    """
    gating = gating_densities(problem)
    fill_corner(flat.gating_density, gating, "operands")
    fill_corner(flat.skip_density, skipping_densities(problem), "operands")
    fill_corner(flat.least_share, least_shares(gating), "operands")
    for x, operand in enumerate(problem.layer.operands):
        levels = problem.levels(operand.name)
        stored = [level.compression_of(problem.links[operand.name]) for level in levels]
        bits = [stored_bits(operand.precision, operand.density, x) for x in (None, *stored)]
        sums = problem.layer.output.partial_precision
        flat.element_bits[x, : len(bits)] = bits
        flat.partial_bits[x, : len(bits)] = sums if x == OUT else bits


def _put_transfers(flat: FlatProblem, problem: MappingProblem) -> None:
    where = f"accelerator {problem.accelerator.name}"
    ports = [port for level in problem.accelerator.memories for port in level.instance.ports]
    transfers = port_transfers(problem)
    flat.ports = len(ports)
    fill_corner(flat.port_min, [port.width_min for port in ports], f"{where}: ports")
    fill_corner(flat.port_max, [port.width_max for port in ports], f"{where}: ports")
    put_transfers(flat, transfers, f"{where}: port allocations")
    fill_corner(flat.transfer_port, [t.port for t in transfers], f"{where}: port allocations")
    by_link, counts = flat.link_transfer, flat.link_transfers  # reading a record is slow
    for t, transfer in enumerate(transfers):
        place = transfer.operand, transfer.link
        by_link[place][counts[place]] = t
        counts[place] += 1
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
