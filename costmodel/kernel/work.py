"""The record that kernels fill for one mapping, reused for every row of a batch."""

from typing import Annotated, NamedTuple, final

from nestmap.costmodel.kernel.record import (
    DIMENSIONS,
    INDICES,
    LEVELS,
    LINK_TRANSFERS,
    LOOPS,
    MEMORIES,
    OPERANDS,
    PORTS,
    TRANSFERS,
    VIEWS,
)
from nestmap.model.arrays import Floats, Ints


@final
class Work:
    """Every quantity of one mapping's evaluation; axes as in ``FlatProblem`` (``n``: loops)."""

    loops: int
    dimension: Annotated[Ints, (LOOPS,)]  # [n] loop dimension of each loop, innermost first
    factor: Annotated[Floats, (LOOPS,)]  # [n]
    extent: Annotated[Floats, (DIMENSIONS,)]  # [d] scratch: iterations of a dimension in a tile
    # [v, l, q, i] those of a pr index's dimensions in the tile of a level
    level_extent: Annotated[Floats, (VIEWS, LEVELS, INDICES, 2)]
    # [d] scratch of the kinds of periods of a link: iterations of a dimension in the tile below it,
    # in a period, and in the clipped period at the end of the loop (0: none); full periods
    tile: Annotated[Floats, (DIMENSIONS,)]
    period: Annotated[Floats, (DIMENSIONS,)]
    last: Annotated[Floats, (DIMENSIONS,)]
    full: Annotated[Floats, (DIMENSIONS,)]
    # [d] full periods of the first instance, and whether its last one is clipped (1 or 0)
    first_full: Annotated[Floats, (DIMENSIONS,)]
    first_last: Annotated[Floats, (DIMENSIONS,)]
    edge: Annotated[Ints, (DIMENSIONS,)]  # [i] dimensions with a clipped period
    # [i] scratch: what is asked of the periods at an end of a link: bits of an element, and two
    # widths of words
    asked_bits: Annotated[Floats, (LINK_TRANSFERS,)]
    asked_narrow: Annotated[Floats, (LINK_TRANSFERS,)]
    asked_wide: Annotated[Floats, (LINK_TRANSFERS,)]
    # [i] the answer: narrow words of all instances, and wide words of the first one
    words: Annotated[Floats, (LINK_TRANSFERS,)]
    first_words: Annotated[Floats, (LINK_TRANSFERS,)]
    least_words: Annotated[Floats, (LINK_TRANSFERS,)]
    least_first: Annotated[Floats, (LINK_TRANSFERS,)]
    cut: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] loops at or below a memory level
    # [x, l] the same with the ir loops just above, during which data stays in place
    stationary_cut: Annotated[Ints, (OPERANDS, LEVELS)]
    cycles: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] product of those loops
    # [x, l] product of the contiguous r (ir) loops at the top of a level
    top_relevant: Annotated[Floats, (OPERANDS, LEVELS)]
    top_irrelevant: Annotated[Floats, (OPERANDS, LEVELS)]
    elements: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] held by one instance
    # [x, l] periods of the link above level l that load only what slides in, and its elements
    slides: Annotated[Floats, (OPERANDS, LEVELS)]
    fresh: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]
    # [x, l] the dimension whose loop moves the window, and the periods of its run
    moved: Annotated[Ints, (OPERANDS, LEVELS)]
    run: Annotated[Floats, (OPERANDS, LEVELS)]
    # [v, l] 1 where partial sums of the output cross the link above level l
    psum_above: Annotated[Ints, (VIEWS, LEVELS)]
    # [l] periods of the link above level l whose sums begin without a read
    first_sums: Annotated[Floats, (LEVELS,)]
    # where tiles are clipped: [x, l] elements of the largest period of the link above level l for
    # all units below the memory, if unrollings are between; [t] bits that an element takes at the
    # memory of a transfer (0: it does not happen), its minimal-width words, and full-width words of
    # its first instance
    largest: Annotated[Floats, (OPERANDS, LEVELS)]
    stored: Annotated[Floats, (TRANSFERS,)]
    narrow_words: Annotated[Floats, (TRANSFERS,)]
    wide_words: Annotated[Floats, (TRANSFERS,)]
    held: Annotated[Floats, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] bits that one instance holds
    utilization: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] held bits over memory size
    effective: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] the same for bits live at once
    shared: Annotated[Floats, (MEMORIES,)]  # [m] sum of utilization over what the memory holds
    effective_shared: Annotated[Floats, (MEMORIES,)]  # [m]
    promised: Annotated[Floats, (MEMORIES,)]  # [m] effective_shared and what double buffers take
    doubled: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] 1 where the level double-buffers
    bits: Annotated[Floats, (VIEWS, TRANSFERS)]  # [v, t] bits that a transfer moves in one period
    times: Annotated[Floats, (VIEWS, TRANSFERS)]  # [v, t] periods in the whole run; 0: never
    fresh_bits: Annotated[Floats, (VIEWS, TRANSFERS)]  # [v, t] bits of a period that slides
    accesses: Annotated[Floats, (TRANSFERS,)]  # [t] word accesses
    energy: Annotated[Floats, (TRANSFERS,)]  # [t] pJ
    allowed: Annotated[Floats, (TRANSFERS,)]  # [t] cycles of the window in which it must happen
    needed: Annotated[Floats, (TRANSFERS,)]  # [t] cycles that it takes
    fresh_needed: Annotated[Floats, (TRANSFERS,)]  # [t] the same in a period that slides
    # [t] cycles that the first (inputs) or last (output) transfer costs
    loading: Annotated[Floats, (TRANSFERS,)]
    # [x, sharing] cycles of an input's links, by how many of their ends serve both inputs
    load: Annotated[Floats, (OPERANDS, 3)]
    once: Annotated[Ints, (PORTS,)]  # [p] transfers that can hide behind computation
    port_stall: Annotated[Floats, (PORTS,)]  # [p] stall (positive) or slack of a port
    # [p] the same where latency is at least what the port is busy
    port_wait: Annotated[Floats, (PORTS,)]
    sequence: Annotated[Ints, (TRANSFERS,)]  # scratch: transfers of a port in some order
    # scratch of the window union, in ascending order of periods
    periods: Annotated[Floats, (TRANSFERS,)]
    windows: Annotated[Floats, (TRANSFERS,)]
    gain: Annotated[Floats, (TRANSFERS,)]
    rest: Annotated[Floats, (TRANSFERS,)]


class Totals(NamedTuple):
    """The figures of one row: energy in pJ, the rest in cycles."""

    memory_energy: float
    mac_energy: float
    ideal_temporal: float
    stall: float
    onloading: float
    offloading: float
    skipped: float
