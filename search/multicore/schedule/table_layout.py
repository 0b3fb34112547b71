"""The tables that the scheduling kernels read and write, with the meaning of rows and columns.

Times are in cycles, sizes and capacities in bits, rates and bandwidths in bit/cycle, energies in
pJ. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.
"""

from typing import Final, NamedTuple

from nestmap.model.arrays import Floats, Ints

NONE: Final = -1
"""Marks a missing row or time."""

# tables of integers, as the fields of Network, then of State
NODES: Final = 0
NEEDS: Final = 1
FOLLOWING: Final = 2
TENSORS: Final = 3
PREFETCHED: Final = 4
COSTS: Final = 5
HOMES: Final = 6
MEMORIES: Final = 7
IS_AT: Final = 8
BANDWIDTHS: Final = 9
PATHS: Final = 10
PATH_WIRES: Final = 11
ROOMS: Final = 12  # the table after a table of curves has the number of steps of each curve
ROOM_STEPS: Final = 13
TRAFFIC: Final = 14
TRAFFIC_STEPS: Final = 15
CURVE_STEPS: Final = 16
COPIES: Final = 17
THERE: Final = 18
TRANSFERS: Final = 19
STREAMS: Final = 20
READS: Final = 21
LEFT: Final = 22
GONE: Final = 23
PROGRESS: Final = 24
ORDER: Final = 25
QUEUE: Final = 26
IDLE: Final = 27
COUNTS: Final = 28

# tables of floats
ENERGIES: Final = 29
MEMORY_ENERGIES: Final = 30
WIRE_ENERGIES: Final = 31
SENDING_ENERGIES: Final = 32
SPENT: Final = 33
TABLES: Final = 34

# nodes: one row each
KIND: Final = 0
LAYER: Final = 1
FIRST_NEED: Final = 2
END_NEED: Final = 3
FIRST_NEXT: Final = 4
END_NEXT: Final = 5
IS_RESULT: Final = 6
WAITS_FOR: Final = 7
RANK: Final = 8
NODE_COLUMNS: Final = 9

# needs: one row for each tensor that a node reads; the needs of a node are consecutive
NEEDED: Final = 0
SLOT: Final = 1

# tensors: one row each, first the outputs of the nodes, in the order of the nodes
BITS: Final = 0
WRITER: Final = 1
OFFCHIP_HOME: Final = 2

# costs by kind and core: cycles, 0 or 1, bit/cycle
RUNTIME: Final = 0
STREAMED: Final = 1
READ_RATE: Final = 2
WRITE_RATE: Final = 3
ONCHIP: Final = 0
OFFCHIP: Final = 1

# memories: one row each; capacities in bits, widths in bit/cycle
CAPACITY: Final = 0
IS_OFFCHIP: Final = 1
READ_WIDTH: Final = 2
WRITE_WIDTH: Final = 3
FIRST_CORE: Final = 4
READ: Final = 0
WRITE: Final = 1

# energies of channels in pJ
PER_BIT: Final = 0
PER_CYCLE: Final = 1

# candidate rules
BY_LATENCY: Final = 0
BY_RANK: Final = 1
BY_START: Final = 2


class Network(NamedTuple):
    """The tables that are the same for all allocations of a problem.

    ``paths`` has the offset of each route in ``path_wires``; routes are numbered ``sender * cores +
    receiver``. A channel of bandwidth 0 takes no time. ``homes`` is the memory of each operand by
    layer, core and slot (0: output, ``1 + i``: input). ``is_at`` tells which core has which memory.
    """

    nodes: Ints
    needs: Ints
    following: Ints
    tensors: Ints
    prefetched: Ints
    costs: Ints
    homes: Ints
    memories: Ints
    is_at: Ints
    bandwidths: Ints
    paths: Ints
    path_wires: Ints


class Energies(NamedTuple):
    """The energies of nodes (by kind and core), memories and channels, in pJ."""

    nodes: Floats
    memories: Floats
    wires: Floats


# steps of a curve: cycles, bits or bit/cycle
STEP: Final = 2
TIME: Final = 0
USED: Final = 1

# copies of tensors, one row each, linked in a list per tensor and a list per memory; cycles
TENSOR: Final = 0
MEMORY: Final = 1
SINCE: Final = 2
AVAILABLE: Final = 3
UNTIL: Final = 4
READ_UNTIL: Final = 5
SENT_UNTIL: Final = 6
NEXT_COPY: Final = 7
NEXT_THERE: Final = 8
LAST_THERE: Final = 9
WANTED: Final = 10
COPY_COLUMNS: Final = 11

# transfers, one row each, linked in a list per tensor, the last one first; cycles
SENDER: Final = 1
RECEIVER: Final = 2
SENDING: Final = 3
RECEIVING: Final = 4
START: Final = 5
END: Final = 6
REASON: Final = 7
CAUSE: Final = 8
EARLIER: Final = 9
TRANSFER_COLUMNS: Final = 10
ON_WIRES: Final = 0
IN_MEMORIES: Final = 1

# streams, one row each; their times are those of the nodes
STREAM_NODE: Final = 0
STREAM_RATE: Final = 1
STREAM_COLUMNS: Final = 5  # SENDING and RECEIVING as in transfers

# state of a tensor
FIRST_COPY: Final = 0
READS_LEFT: Final = 1
LAST_TRANSFER: Final = 2
LAST_READ: Final = 3
TENSOR_COLUMNS: Final = 4

# state of a node; times in cycles
CORE: Final = 0
NODE_START: Final = 1
NODE_END: Final = 2
READY_FROM: Final = 3
WAITING: Final = 4
STATE_COLUMNS: Final = 5

# counters
N_COPIES: Final = 0
N_TRANSFERS: Final = 1
N_STREAMS: Final = 2
N_READY: Final = 3
FAILURE: Final = 4
FAILED_TENSOR: Final = 5
FAILED_MEMORY: Final = 6
FAILED_NODE: Final = 7
COUNTERS: Final = 8

# failures
FINE: Final = 0
FULL: Final = 1
NO_ROOM: Final = 2
CANNOT_RUN: Final = 3

# categories of energy; transfers use 2 * reason + 2 (channels) and + 3 (memories)
COMPUTATION: Final = 0
STREAMING: Final = 1
SENT: Final = 2
STREAMING_LINKS: Final = 10
ENERGY_PARTS: Final = 11


class State(NamedTuple):
    """The tables that scheduling changes.

    ``rooms`` and ``traffic`` are the curves (steps of time and use) of the on-chip memories and of
    the channels, with ``room_steps`` and ``traffic_steps`` steps; ``most_steps`` is their capacity.
    ``left`` counts the unscheduled reads of each tensor in each memory (-1: it never had any);
    ``gone`` is the time (cycles) until which the memory last held the tensor. ``there`` is the
    first and the last copy in each memory.
    """

    rooms: Ints
    room_steps: Ints
    traffic: Ints
    traffic_steps: Ints
    most_steps: Ints
    copies: Ints
    there: Ints
    transfers: Ints
    streams: Ints
    reads: Ints
    left: Ints
    gone: Ints
    nodes: Ints
    order: Ints
    ready: Ints
    idle: Ints
    counters: Ints


class Spending(NamedTuple):
    """The energy in pJ of each transfer (on channels, in memories) and the totals by category."""

    transfers: Floats
    parts: Floats
