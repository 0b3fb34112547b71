"""The record of one spatial problem that all kernels of the cost model read."""

from typing import Annotated, final

from nestmap.costmodel.kernel.record import (
    DIMENSIONS,
    INDICES,
    LEVELS,
    LINK_TRANSFERS,
    MEMORIES,
    OPERANDS,
    PORTS,
    SIDES,
    TRANSFERS,
    UNROLLINGS,
    VIEWS,
)
from nestmap.model.arrays import Floats, Ints


@final
class FlatProblem:
    """One spatial problem as a record of arrays.

    Axes: ``x`` operands (output first), ``l`` levels (0 is the array, memory levels follow, the
    innermost first), ``d`` loop dimensions, ``s`` array dimensions, ``v`` views, ``m`` memories,
    ``p`` ports, ``q`` partially relevant indices, ``t`` transfers: the movements that ports serve,
    port by port.
    Counts are floats: exact below 2**53, and the reference divides in floating point too.
    """

    operands: int
    dimensions: int
    sides: int
    memories: int
    ports: int
    transfers: int
    views: int  # 1 if both views are equal, else 2
    holds_inputs: int  # 1 if the array reuses an input word while it does not change
    free_first_sum: int  # 1 if sums begin without a read of zeros
    strict_ports: int  # 1 if latency is at least what each port is busy
    counts_exactly: int  # 1 if tiles end where their loops do, 0 if they are averages
    counts_clipped: int  # 1 if some tile does before it is full
    relevance: Annotated[Ints, (OPERANDS, DIMENSIONS)]  # [x, d] Relevance
    # [x, d] 1 if all iterations have to lie at or below the innermost memory
    held: Annotated[Ints, (OPERANDS, DIMENSIONS)]
    levels: Annotated[Ints, (OPERANDS,)]  # [x] number of memory levels
    # [x, l] bits of an element as it is stored: of the output finished, and of a partial sum
    element_bits: Annotated[Floats, (OPERANDS, LEVELS)]
    partial_bits: Annotated[Floats, (OPERANDS, LEVELS)]
    gating_density: Annotated[Floats, (OPERANDS,)]  # [x] share of elements that gate no operation
    skip_density: Annotated[Floats, (OPERANDS,)]  # [x] the same of those that do not skip steps
    least_share: Annotated[Floats, (OPERANDS,)]  # [x] least share of its accesses at the array
    r_dimension: Annotated[Ints, (OPERANDS * DIMENSIONS,)]  # r dimensions, operand by operand
    first_r: Annotated[Ints, (OPERANDS + 1,)]  # [x + 1] where those of an operand begin
    first_pr: Annotated[Ints, (OPERANDS + 1,)]  # [x + 1] where the pr indices of an operand begin
    pr_index: Annotated[Ints, (OPERANDS, DIMENSIONS)]  # [x, d] the pr index that d belongs to
    pr_dimensions: Annotated[Ints, (INDICES, 2)]  # [q, 2]
    pr_steps: Annotated[Floats, (INDICES, 2)]  # [q, 2] coefficients over their common divisor
    pr_length: Annotated[Floats, (INDICES,)]  # [q] axis length
    # the indices of all operands in their order: the dimension, or -1 - q of a pr index
    index: Annotated[Ints, (OPERANDS * DIMENSIONS,)]
    first_index: Annotated[Ints, (OPERANDS + 1,)]  # [x + 1] where those of an operand begin
    loop_size: Annotated[Floats, (DIMENSIONS,)]  # [d] iterations of the whole loop
    most_extent: Annotated[Floats, (DIMENSIONS,)]  # [d] those of the largest tile; or infinite
    least_overlap: float  # 0 if short windows are exact, else minus infinity
    memory: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] memory of a level (-1 at level 0)
    memory_size: Annotated[Floats, (MEMORIES,)]  # [m] bits
    memory_room: Annotated[Floats, (MEMORIES,)]  # [m] those that the layer may use
    slots: Annotated[Ints, (MEMORIES,)]  # [m] operands of the layer that it holds
    # [m, i] operand and level of each slot, in the order in which the memory names them
    slot_operand: Annotated[Ints, (MEMORIES, OPERANDS)]
    slot_level: Annotated[Ints, (MEMORIES, OPERANDS)]
    double_buffered: Annotated[Ints, (MEMORIES,)]  # [m] 1 if the description forces it
    reuses_windows: Annotated[Ints, (MEMORIES,)]  # [m] 1 if it loads only what slides in
    transfer_operand: Annotated[Ints, (TRANSFERS,)]  # [t]
    transfer_level: Annotated[Ints, (TRANSFERS,)]  # [t] memory level whose port serves it
    transfer_movement: Annotated[Ints, (TRANSFERS,)]  # [t]
    transfer_energy: Annotated[Floats, (TRANSFERS,)]  # [t] pJ per access of the port's full width
    transfer_port: Annotated[Ints, (TRANSFERS,)]  # [t]
    # [x, l, i] transfers over the link above level l, and their number
    link_transfer: Annotated[Ints, (OPERANDS, LEVELS, LINK_TRANSFERS)]
    link_transfers: Annotated[Ints, (OPERANDS, LEVELS)]
    first_transfer: Annotated[Ints, (PORTS + 1,)]  # [p + 1] where the transfers of a port begin
    port_min: Annotated[Floats, (PORTS,)]  # [p] bit/cycle
    port_max: Annotated[Floats, (PORTS,)]  # [p]
    # [x, l] ends of the link above level l whose ports serve both inputs
    link_sharing: Annotated[Ints, (OPERANDS, LEVELS)]
    # [x, l, 2] transfers at the low and the high end of the link above level l
    link_ends: Annotated[Ints, (OPERANDS, LEVELS, 2)]
    # [x, s] the level above which the unrollings over an array dimension are
    side_level: Annotated[Ints, (OPERANDS, SIDES)]
    systolic: Annotated[Ints, (SIDES,)]  # [s] 1 if operands advance one unit per cycle
    # the unrollings of an operand from the array upwards: dimensions, factors, and where those
    # above level l begin
    unrolled_dimension: Annotated[Ints, (OPERANDS, UNROLLINGS)]
    unrolled_factor: Annotated[Floats, (VIEWS, OPERANDS, UNROLLINGS)]
    first_unrolled: Annotated[Ints, (OPERANDS, LEVELS + 1)]
    # [x, l, d] how many iterations of a dimension the unrollings below level l take at once
    unrolled_below: Annotated[Floats, (OPERANDS, LEVELS + 1, DIMENSIONS)]
    # [v, l] 1 where an ir unrolling of the output is above level l or higher
    reduced_from: Annotated[Ints, (VIEWS, LEVELS + 1)]
    units: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] instances of a level in use
    # [v, x, l] units of level l that get different data from level l + 1
    boost: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]
    step_words: Annotated[Floats, (OPERANDS,)]  # [x] different words in a step of all units
    computation: float  # pJ of all multiply-accumulates
    hop_energy: float  # pJ a bit from unit to unit
    hop_bandwidth: float  # bit/cycle from unit to unit; infinite: any number
    leakage: float  # pJ a cycle
    ideal_cycles: float
    cycles_per_operation: float
    drain: float  # cycles
