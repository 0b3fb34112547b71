"""The cost model: evaluates temporal mappings of one spatial problem.

Formulas: docs/cost-model.md
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.busy_ports import busy_cycles, wait_for_ports
from nestmap.costmodel.energy import count_accesses, memory_energy
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import count_bits, count_elements, find_partial_sums
from nestmap.costmodel.hops import hop_cycles, hop_energy, wait_for_hops
from nestmap.costmodel.kernel.jit import is_compiled, kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, new_record
from nestmap.costmodel.kernel.work import Totals, Work
from nestmap.costmodel.loading import load_ports, offloading, onloading
from nestmap.costmodel.reuse import count_cycles, measure_tops, place_loops
from nestmap.costmodel.skipping import skippable_cycles
from nestmap.costmodel.sliding import measure_slides
from nestmap.costmodel.stall import time_transfers, worst_stall
from nestmap.costmodel.transfers import count_first_sums, count_moved_words, measure_transfers
from nestmap.model.arrays import Codes, Floats, Ints

# --- utilization of memories, and the levels that can double-buffer ---

REFUSED = -1.0


@kernel
def utilize_memories(problem: FlatProblem, work: Work) -> None:
    """The share of a memory that an operand uses at each level, and the sums by memory.

    Formula: docs/cost-model.md#utilization

    Reads: held, top_relevant.
    Fills: utilization, effective, shared, effective_shared.
    """
    for memory in range(problem.memories):
        work.shared[memory] = 0.0
        work.effective_shared[memory] = 0.0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            memory = problem.memory[x, level]
            held, size = work.held[FRACTIONAL, x, level], problem.memory_size[memory]
            work.utilization[x, level] = held / size
            work.effective[x, level] = live_share(held, work.top_relevant[x, level], float(size))
            work.shared[memory] += work.utilization[x, level]
            work.effective_shared[memory] += work.effective[x, level]


@kernel
def live_share(held: float, top_relevant: float, capacity: float) -> float:
    """The share of a memory that bits take which are live at once.

    Formula: docs/cost-model.md#utilization
    """
    return float(np.floor(held / top_relevant) / capacity)


@kernel
def find_double_buffers(problem: FlatProblem, work: Work) -> None:
    """The levels that load the next data while the current data is in use.

    Operands are served in the layer's order; each reduces the capacity left for the next.

    Formula: docs/cost-model.md#double-buffering

    Reads: effective, effective_shared.
    Fills: promised, doubled.
    """
    for memory in range(problem.memories):
        work.promised[memory] = work.effective_shared[memory]
    for x in range(problem.operands):
        work.doubled[x, 0] = 0
        for level in range(1, problem.levels[x] + 1):
            memory, doubled = problem.memory[x, level], 0
            promised = promise(float(work.promised[memory]), work.effective[x, level])
            if promised != REFUSED:
                work.promised[memory], doubled = promised, 1
            work.doubled[x, level] = doubled


@kernel
def promise(promised: float, own: float) -> float:
    """The share of a memory that is promised once a level double-buffers; ``REFUSED`` if it cannot.

    Formula: docs/cost-model.md#double-buffering
    """
    if promised <= 0.5:
        return promised
    return promised + own if own <= 1 - promised else REFUSED


# --- the cost model: evaluates temporal mappings of one spatial problem ---


class Columns(NamedTuple):
    """Costs of a batch, one row per mapping: energy in pJ, latencies in cycles."""

    energy: Floats
    latency0: Floats
    latency1: Floats
    latency2: Floats


@kernel
def load_order(work: Work, factors: Ints, order: Codes) -> None:
    """Writes the loops of one mapping to the work arrays."""
    work.loops = len(order)
    for n in range(len(order)):
        work.dimension[n] = factors[order[n], 0]
        work.factor[n] = factors[order[n], 1]


@kernel
def load_row(work: Work, factors: Ints, order: Codes, cuts: Codes) -> None:
    """Writes one mapping to the work arrays.

    ``factors`` [f, 2]: dimension and size of each factor; ``order`` [n]; ``cuts`` [x, level].
    """
    load_order(work, factors, order)
    for x in range(cuts.shape[0]):
        for level in range(cuts.shape[1]):
            work.cut[x, level + 1] = cuts[x, level]


@kernel
def evaluate_row(problem: FlatProblem, work: Work) -> Totals:
    """The cost of the mapping in the work arrays; fills all of them.

    Each kernel declares the arrays it reads and fills; ``tests/costmodel/test_evaluate_rows.py``
    checks this, and that no array is read before it is filled.
    """
    place_loops(problem, work)
    count_cycles(problem, work)
    measure_tops(problem, work)
    count_elements(problem, work)
    measure_slides(problem, work)
    find_partial_sums(problem, work)
    count_first_sums(problem, work)
    count_bits(problem, work)
    count_moved_words(problem, work)
    measure_transfers(problem, work)
    count_accesses(problem, work)
    utilize_memories(problem, work)
    find_double_buffers(problem, work)
    time_transfers(problem, work)
    stall = worst_stall(problem, work)
    cycles = work.cycles[0, problem.levels[0]] * problem.cycles_per_operation
    load_ports(problem, work, np.ceil(cycles) + stall)
    first, last = onloading(problem, work), offloading(problem, work)
    others = np.ceil(cycles) + first + last + problem.drain
    if problem.strict_ports == 1:
        stall = wait_for_ports(problem, work, stall, others)
    stall = wait_for_hops(problem, work, stall, others)
    skipped = skipped_cycles(problem, work, others + stall)
    return Totals(
        memory_energy(problem, work),
        problem.computation + hop_energy(problem, work),
        np.ceil(cycles) - skipped,
        stall,
        first,
        last,
        skipped,
    )


@kernel
def skipped_cycles(problem: FlatProblem, work: Work, latency: float) -> float:
    """The cycles by which skipped steps shorten a latency.

    A layer still takes as long as each port and each link between units is busy.

    Formula: docs/cost-model.md#skipped-steps

    Reads: dimension, factor, stationary_cut, cycles, elements, slides, fresh, moved, run, times,
    needed, fresh_needed, wide_words.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    skippable = skippable_cycles(problem, float(work.cycles[0, problem.levels[0]]))
    if skippable == 0.0:
        return skippable
    busy = 0.0
    for port in range(problem.ports):
        busy = max(busy, busy_cycles(problem, work, port))
    if problem.hop_bandwidth < np.inf:
        for x in range(problem.operands):
            for link in range(problem.levels[x]):
                busy = max(busy, hop_cycles(problem, work, x, link))
    return float(max(0.0, min(skippable, np.floor(latency - busy))))


def evaluate_rows(
    problem: FlatProblem, factors: Ints, orders: Codes, cuts: Codes, columns: Columns
) -> None:
    """Fills ``columns`` with the cost of every row of ``orders`` and ``cuts``."""
    evaluate_orders(problem, new_record(Work), factors, orders, cuts, columns)


@kernel
def evaluate_orders(
    problem: FlatProblem, work: Work, factors: Ints, orders: Codes, cuts: Codes, columns: Columns
) -> None:
    """Fills ``columns`` as :func:`evaluate_rows` does; ``work`` is scratch."""
    for row in range(len(orders)):
        load_row(work, factors, orders[row], cuts[row])
        write_costs(problem, evaluate_row(problem, work), columns, row)


def is_compiled_before() -> bool:
    """Whether this machine has compiled the cost model before.

    Otherwise the first run is slower.
    """
    return is_compiled(evaluate_row)


@kernel
def latencies(problem: FlatProblem, totals: Totals) -> tuple[float, float, float]:
    """Cycles of computation with stalls; with on-loading; with off-loading and drain as well."""
    latency0 = totals.ideal_temporal + totals.stall
    latency1 = latency0 + totals.onloading
    return latency0, latency1, latency1 + totals.offloading + problem.drain


@kernel
def write_costs(problem: FlatProblem, totals: Totals, columns: Columns, row: int) -> None:
    """Writes the figures of one mapping to a row of the columns."""
    latency0, latency1, latency2 = latencies(problem, totals)
    dynamic = totals.memory_energy + totals.mac_energy
    columns.energy[row] = dynamic + problem.leakage * latency2
    columns.latency0[row] = latency0
    columns.latency1[row] = latency1
    columns.latency2[row] = latency2
