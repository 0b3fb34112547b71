"""What a mapping spends that adds up over its boundaries: energy, and what bounds its latency.

Latency is not a sum over boundaries, but it is bounded by sums:

- A transfer is late by its needed cycles minus the longest window that there is, the whole period,
  in each period but one. A port stalls for the sum of these over its transfers, or for the
  cycles that all of them need minus all cycles there are, whichever is more.
- On-loading and off-loading add up link by link. One-time transfers can overlap computation,
  except those of the first tile of level 1. So loading takes at least what the boundaries above
  level 1 need if that tile is the smallest possible, and what each of them needs for that tile.
- The one-time transfers of a port overlap the share of all cycles in which the port is idle. So
  latency is at least their cycles in full plus those of the rest, or their share of all cycles,
  whichever is less.
- A memory that reuses windows loads at least what it does if all loops over one dimension follow
  each other right above its tile.
- Steps that zeros skip shorten all of these, but not what follows.
- With strict ports latency is at least what all transfers of a port need, and with limited hops
  what each link between units does.

Formulas: docs/cost-model.md#stall, docs/cost-model.md#cycles-of-loading,
docs/cost-model.md#busy-ports, docs/cost-model.md#busy-hops
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.busy_ports import moving_cycles
from nestmap.costmodel.energy import count_link_accesses
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import count_bits, count_operand_elements, find_partial_sums
from nestmap.costmodel.hops import hop_cycles, hop_energy_of, shared_below
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.loading import ALONE, HALF_SHARED, SHARED, average_width, link_cost
from nestmap.costmodel.reuse import IRRELEVANT, count_operand_cycles
from nestmap.costmodel.skipping import skippable_cycles
from nestmap.costmodel.sliding import bound_slides
from nestmap.costmodel.stall import time_transfers
from nestmap.costmodel.transfers import (
    count_first_sums,
    count_link_words,
    is_backward,
    later_periods,
    link_of,
    measure_link_transfers,
    store_link_bits,
)
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.temporal.exact.lattice import Lattice, load_point, most_levels

ENERGY, STALL, BUSY, ONCE, TOTAL, LOAD = 0, 1, 2, 3, 4, 5
"""Kinds of resources; a load is ``LOAD`` plus one of the following.

A second bound of it, by the first tile of level 1, is ``LOADS`` further on.
"""

SHARED_LOADS, OWN_LOADS, OFF_LOAD = 0, 2, 4
"""Loads: of links that both inputs share (two), of each input's own links (two), of the output."""

LOADS = 5

SEQUENCES = 3
"""Sets of loads that run one after the other: each input's own, or those that both share."""


class Resources(NamedTuple):
    """What crossing a boundary spends of each resource.

    Axes: ``k`` resources, ``x`` operands, ``l`` boundaries, ``p`` points.
    """

    spent: Floats  # [k, x, l, p]
    kind: Ints  # [k]
    offset: Floats  # [k] cycles to subtract: those that a port may take before it stalls
    width: Floats  # [k] bit/cycle of the port of a ONCE resource
    busy: Ints  # [k] the BUSY resource (bit/cycle) of the same port
    compared: int  # the first resources, of which the others are sums


@kernel
def energy_resource(problem: FlatProblem, work: Work, lattice: Lattice) -> Resources:
    """Energy alone (pJ); the work arrays are scratch."""
    spent = np.zeros((1, problem.operands, most_levels(problem) + 1, len(lattice.depth)))
    for p in range(len(lattice.depth)):
        load_point(work, lattice, p)
        _put_boundaries(problem, work, lattice.depth[p])
        _add_energy(problem, work, p, spent[0])
    none, kind = np.zeros(1), np.full(1, ENERGY, np.int64)
    return Resources(spent, kind, none, none, np.zeros(1, np.int64), len(kind))


@kernel
def all_resources(problem: FlatProblem, work: Work, lattice: Lattice) -> Resources:
    """Energy, and the resources of latency (cycles) that can matter; the work arrays are scratch.

    In this order: energy; by port late cycles, needed cycles and busy bits; by port and input the
    cycles of loading with what happens once in full, alone and with the other cycles; the loads,
    by boundary and by the first tile; by port all that it is busy, if ports are strict; by link
    between units, if hops are limited. Sums of these follow: a stall with the loads.
    """
    ports, links = problem.ports, _hop_links(problem)
    several = 1 + (3 + 2 * SEQUENCES) * ports
    waits = links + (ports if problem.strict_ports == 1 else 0)
    count = several + 2 * LOADS + waits
    spent = np.zeros((count, problem.operands, most_levels(problem) + 1, len(lattice.depth)))
    cycles, skippable = _fill_all(problem, work, lattice, spent)
    kind, offset = np.full(count, TOTAL), np.zeros(count)
    width, busy = np.ones(count), np.zeros(count, np.int64)
    kind[0], kind[1 : 1 + 2 * ports], kind[1 + 2 * ports : 1 + 3 * ports] = ENERGY, STALL, BUSY
    offset[1 + ports : 1 + 2 * ports] = cycles
    offset[several + 2 * LOADS :] = problem.drain - skippable
    for n in range(SEQUENCES * ports):
        k, port = 1 + 3 * ports + n, n % ports
        kind[k], width[k], busy[k] = ONCE, problem.port_max[port], 1 + 2 * ports + port
    for load in range(2 * LOADS):
        kind[several + load] = LOAD + load
    every, loads = Resources(spent, kind, offset, width, busy, count), _loads(kind, spent)
    return _that_matter(every, _which_matter(every, loads, cycles), loads, cycles)


@kernel
def _loads(kind: Ints, spent: Floats) -> Floats:
    """[which, x, l, p] the loads that run in sequence."""
    shape = spent.shape[1:]
    loads = np.zeros((SEQUENCES, shape[0], shape[1], shape[2]))
    for which in range(SEQUENCES):
        for k in range(len(kind)):
            if kind[k] >= LOAD and _is_in(kind[k] - LOAD, which):
                _add(loads[which], spent[k])
    return loads


@kernel
def _add(total: Floats, more: Floats) -> None:
    for x in range(total.shape[0]):
        for level in range(total.shape[1]):
            for p in range(total.shape[2]):
                total[x, level, p] += more[x, level, p]


@kernel
def _which_matter(every: Resources, loads: Floats, cycles: float) -> Flags:
    """[k] the resources that can exceed what is free, and of which no other is always as large."""
    count = len(every.kind)
    most, matters = _most(every.spent), np.zeros(count, np.bool_)
    for k in range(count):
        matters[k] = k == 0 or _may_exceed(every, loads, most, k, cycles)
    for k in range(count):
        for other in range(count):
            if matters[k] and matters[other] and k != other and most[k] <= most[other]:
                matters[k] = not _is_covered(every, k, other)
    for k in range(count):
        if matters[k] and every.kind[k] == ONCE:
            matters[every.busy[k]] = True
    return matters


@kernel
def _may_exceed(every: Resources, loads: Floats, most: Floats, k: int, cycles: float) -> bool:
    """Whether a resource can exceed what is free: at most ``most`` [k] are spent."""
    kind, free = every.kind[k], every.offset[k]
    if kind >= LOAD + LOADS:
        return _is_exceeded(every.spent[k - LOADS], every.spent[k])
    if kind == BUSY or (kind == ONCE and _adds_nothing(every.spent[k], loads)):
        return False
    if kind == ONCE:
        free = max(0.0, 1.0 - most[every.busy[k]] / every.width[k]) * cycles
    elif kind == TOTAL:
        free = cycles
    return bool(most[k] > free)


@kernel
def _is_exceeded(load: Floats, first: Floats) -> bool:
    """Whether a first tile adds more than the smallest one does."""
    for x in range(load.shape[0]):
        least = 0.0
        for level in range(2, load.shape[1]):
            least += load[x, level].min()
        for p in range(load.shape[2]):
            if first[x, 1, p] > load[x, 1, p] + least:
                return True
    return False


@kernel
def _most(spent: Floats) -> Floats:
    """[k] at most this is spent."""
    most = np.zeros(len(spent))
    for k in range(len(spent)):
        for x in range(spent.shape[1]):
            for level in range(spent.shape[2]):
                largest = 0.0
                for p in range(spent.shape[3]):
                    largest = max(largest, spent[k, x, level, p])
                most[k] += largest
    return most


@kernel
def _adds_nothing(spent: Floats, loads: Floats) -> bool:
    """Whether a port adds nothing to a sequence of loads; loading takes at least each of them."""
    covered = False
    for which in range(SEQUENCES):
        covered = covered or _is_at_most(spent, loads[which])
    return covered


@kernel
def _is_covered(every: Resources, k: int, other: int) -> bool:
    """Whether a resource exceeds what is free by as much as another one at most."""
    kind = every.kind[k]
    if kind != every.kind[other] or every.offset[k] < every.offset[other]:
        return False
    if kind == ONCE and every.busy[k] != every.busy[other]:
        return False
    return kind in (STALL, ONCE, TOTAL) and _is_at_most(every.spent[k], every.spent[other])


@kernel
def _is_at_most(one: Floats, other: Floats) -> bool:
    for x in range(one.shape[0]):
        for level in range(one.shape[1]):
            for p in range(one.shape[2]):
                if one[x, level, p] > other[x, level, p]:
                    return False
    return True


@kernel
def _that_matter(every: Resources, matters: Flags, loads: Floats, cycles: float) -> Resources:
    """The resources that matter, and each stall with the loads that run in sequence."""
    chosen, places = np.flatnonzero(matters), np.cumsum(matters) - 1
    stalls, counts = _of_kind(every.kind, chosen, STALL), _which_counts(loads)
    count, shape = len(chosen) + counts.sum() * len(stalls), every.spent.shape[1:]
    spent, kind = np.zeros((count, shape[0], shape[1], shape[2])), np.full(count, TOTAL)
    offset, width, busy = np.zeros(count), np.ones(count), np.zeros(count, np.int64)
    for n in range(len(chosen)):
        k = chosen[n]
        _add(spent[n], every.spent[k])
        kind[n], offset[n] = every.kind[k], every.offset[k]
        width[n], busy[n] = every.width[k], places[every.busy[k]]
    n = len(chosen)
    for which in range(SEQUENCES):
        for k in stalls:
            if counts[which]:
                _add(spent[n], every.spent[k])
                _add(spent[n], loads[which])
                offset[n] = every.offset[k] - cycles
                n += 1
    return Resources(spent, kind, offset, width, busy, len(chosen))


@kernel
def _of_kind(kind: Ints, chosen: Ints, wanted: int) -> Ints:
    """Those of the chosen resources that are of a kind."""
    found, count = np.empty(len(chosen), np.int64), 0
    for k in chosen:
        if kind[k] == wanted:
            found[count] = k
            count += 1
    return found[:count]


@kernel
def _which_counts(loads: Floats) -> Flags:
    """[which] the sequences of loads that are not always at most another one."""
    counts = np.ones(SEQUENCES, np.bool_)
    for which in range(SEQUENCES):
        for other in range(SEQUENCES):
            if other != which and counts[other] and _is_at_most(loads[which], loads[other]):
                counts[which] = False
    return counts


@kernel
def _fill_all(
    problem: FlatProblem, work: Work, lattice: Lattice, spent: Floats
) -> tuple[float, float]:
    """Fills all resources; returns the cycles of computation, and those that zeros skip."""
    least = np.full(problem.operands, np.inf)
    for p in range(len(lattice.depth)):
        load_point(work, lattice, p)
        _put_boundaries(problem, work, lattice.depth[p])
        _add_energy(problem, work, p, spent[0])
        count_bits(problem, work)
        _shorten_windows(problem, work, lattice.depth[p])
        time_transfers(problem, work)
        if p == 0:
            for x in range(problem.operands):
                each = min(problem.element_bits[x, 1], problem.partial_bits[x, 1])
                least[x] = work.elements[problem.views - 1, x, 1] * each
        _add_stalls(problem, work, p, spent)
        _add_loads(problem, work, least, p, spent)
        links = _hop_links(problem)
        if problem.strict_ports == 1:
            _add_busy(problem, work, p, spent[len(spent) - links - problem.ports :])
        if links > 0:
            _add_hops(problem, work, p, spent[len(spent) - links :])
    steps = float(work.cycles[0, problem.levels[0]])
    return float(np.ceil(steps * problem.cycles_per_operation)), skippable_cycles(problem, steps)


@kernel
def _put_boundaries(problem: FlatProblem, work: Work, cut: int) -> None:
    """Sets all boundaries of all operands to one place, with the longest windows."""
    for x in range(problem.operands):
        put_operand_boundaries(problem, work, x, cut)


@kernel
def put_operand_boundaries(problem: FlatProblem, work: Work, x: int, cut: int) -> None:
    """Sets all boundaries of an operand to one place, with the longest windows."""
    for level in range(problem.levels[x] + 1):
        work.stationary_cut[x, level] = cut
        work.doubled[x, level] = 1
    work.stationary_cut[x, problem.levels[x]] = work.loops


@kernel
def _shorten_windows(problem: FlatProblem, work: Work, cut: int) -> None:
    """Shortens the windows to those in which the data of level 1 is not in use, where that is sure.

    If no loop below the boundary leads to other data, a single operation is left as the window,
    unless the level may double-buffer.
    """
    for x in range(problem.operands):
        stays = 1.0
        for n in range(cut):
            same = problem.relevance[x, work.dimension[n]] == IRRELEVANT
            stays = stays * work.factor[n] if same else 0.0
        if stays > 0 and is_single(problem, work, x, 1):
            work.doubled[x, 1], work.top_irrelevant[x, 1] = 0, stays


@kernel
def is_single(problem: FlatProblem, work: Work, x: int, level: int) -> bool:
    """Whether a level cannot double-buffer if loops at its top leave its data in place.

    It takes more than half of the memory then, whatever else is in it.

    Formula: docs/cost-model.md#double-buffering
    """
    half = problem.memory_size[problem.memory[x, level]] / 2
    return bool(np.floor(work.held[FRACTIONAL, x, level]) > half)


@kernel
def _add_energy(problem: FlatProblem, work: Work, p: int, spent: Floats) -> None:
    """The energy of all links, for the boundaries in the work arrays."""
    for x in range(problem.operands):
        measure_operand(problem, work, x)
        for link in range(problem.levels[x]):
            spent[x, link, p] += link_energy(problem, work, x, link)


@kernel
def measure_operand(problem: FlatProblem, work: Work, x: int) -> None:
    """What the links of an operand need, for its boundaries in the work arrays."""
    count_operand_cycles(problem, work, x)
    count_operand_elements(problem, work, x)
    if x == OUT:
        find_partial_sums(problem, work)
        count_first_sums(problem, work)
    else:
        bound_slides(problem, work, x)


@kernel
def link_energy(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """The energy of a link (pJ), hops included, after :func:`measure_operand`."""
    if problem.counts_clipped == 1:
        store_link_bits(problem, work, x, link)
        count_link_words(problem, work, x, link)
    measure_link_transfers(problem, work, x, link)
    count_link_accesses(problem, work, x, link)
    energy = 0.0
    for i in range(problem.link_transfers[x, link]):
        t = problem.link_transfer[x, link, i]
        energy += work.accesses[t] * problem.transfer_energy[t] + hop_energy_of(problem, work, t)
    return float(energy)


@kernel
def _add_stalls(problem: FlatProblem, work: Work, p: int, spent: Floats) -> None:
    """Cycles by which transfers are late, and cycles that they need, port by port."""
    for port in range(problem.ports):
        for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
            if later_periods(problem, work, t) > 0:
                _add_stall(problem, work, (port, t), p, spent)


@kernel
def _add_stall(
    problem: FlatProblem, work: Work, place: tuple[int, int], p: int, spent: Floats
) -> None:
    """Adds a transfer that happens again and again; ``place`` is its port and its number.

    Windows are rounded up to cycles: with a fraction of a cycle an operation, they may be longer
    than all cycles, so that only what is late counts.
    """
    port, t = place
    x, link = problem.transfer_operand[t], link_of(problem, t)
    slides = work.slides[x, link]
    whole = later_periods(problem, work, t) - slides
    late = max(0.0, work.needed[t] - work.allowed[t]) * whole
    needed = work.needed[t] * whole
    if slides > 0:
        late += max(0.0, work.fresh_needed[t] - work.allowed[t]) * slides
        needed += work.fresh_needed[t] * slides
    spent[1 + port, x, link, p] += late
    if problem.cycles_per_operation != np.floor(problem.cycles_per_operation):
        needed = 0.0
    spent[1 + problem.ports + port, x, link, p] += needed
    if not is_backward(problem, t):
        width = np.ceil(average_width(problem, work, t) / problem.cycles_per_operation)
        cycles = np.ceil(work.cycles[0, problem.levels[0]] * problem.cycles_per_operation)
        spent[1 + 2 * problem.ports + port, x, link, p] += width
        share = min(needed, cycles * width / problem.port_max[port])
        for which in range(SEQUENCES):
            k = 1 + (3 + SEQUENCES + which) * problem.ports + port
            spent[k, x, link, p] += share


@kernel
def _add_busy(problem: FlatProblem, work: Work, p: int, spent: Floats) -> None:
    """Adds all cycles in which ports are busy."""
    for port in range(problem.ports):
        for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
            x, link = problem.transfer_operand[t], link_of(problem, t)
            spent[port, x, link, p] += moving_cycles(problem, work, t)


@kernel
def _hop_links(problem: FlatProblem) -> int:
    """The boundaries of operands at which units hand on words over links with a limit."""
    links = 0
    if problem.hop_bandwidth < np.inf:
        for x in range(problem.operands):
            for link in range(problem.levels[x]):
                if shared_below(problem, x, link) > 0:
                    links += 1
    return links


@kernel
def _add_hops(problem: FlatProblem, work: Work, p: int, spent: Floats) -> None:
    """Adds the cycles in which links between units are busy."""
    k = 0
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            if shared_below(problem, x, link) > 0:
                spent[k, x, link, p] += hop_cycles(problem, work, x, link)
                k += 1


@kernel
def _add_loads(problem: FlatProblem, work: Work, least: Floats, p: int, spent: Floats) -> None:
    """Cycles of loading; by port, also with what happens once on it in full."""
    for port in range(problem.ports):
        _load_transfers(problem, work, least, port, False)
    for x in range(problem.operands):
        for link in range(1, problem.levels[x]):
            load = _load_of(problem, x, link)
            if load >= 0:
                k = 1 + (3 + 2 * SEQUENCES) * problem.ports + load
                spent[k, x, link, p] += link_cost(problem, work, x, link)
    first = 1 + (3 + 2 * SEQUENCES) * problem.ports + LOADS
    _add_first_tiles(problem, work, p, spent[first : first + LOADS])
    for port in range(problem.ports):
        if problem.first_transfer[port] < problem.first_transfer[port + 1]:
            _load_transfers(problem, work, least, port, True)
            _add_sequences(problem, work, port, p, spent)
            _load_transfers(problem, work, least, port, False)


@kernel
def _add_first_tiles(problem: FlatProblem, work: Work, p: int, spent: Floats) -> None:
    """Adds the cycles of loading if no link moves more than the first tile of level 1.

    What does not fit is left out: it would only seem to matter.
    """
    for x in range(problem.operands):
        if work.held[FRACTIONAL, x, 1] <= problem.memory_size[problem.memory[x, 1]]:
            for link in range(1, problem.levels[x]):
                load = _load_of(problem, x, link)
                if load >= 0 and link == 1:
                    spent[load, x, 1, p] += link_cost(problem, work, x, 1)
                elif load >= 0:
                    spent[load, x, 1, p] += _first_cycles(problem, work, x, link)


@kernel
def _first_cycles(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """The least cycles in which a link moves the first tile of level 1."""
    view, cycles, each = problem.views - 1, 0.0, np.inf
    for level in range(1, problem.levels[x] + 1):
        each = min(each, problem.element_bits[x, level], problem.partial_bits[x, level])
    bits = work.elements[view, x, 1] * each
    for i in range(2):
        port = problem.transfer_port[problem.link_ends[x, link, i]]
        cycles = max(cycles, np.ceil(bits / problem.port_max[port]))
    return float(cycles)


@kernel
def _add_sequences(problem: FlatProblem, work: Work, port: int, p: int, spent: Floats) -> None:
    """Adds the loads in the work arrays to the sequences of a port."""
    first = 1 + 3 * problem.ports + port
    for x in range(problem.operands):
        for link in range(1, problem.levels[x]):
            cycles, load = link_cost(problem, work, x, link), _load_of(problem, x, link)
            for which in range(SEQUENCES):
                if load >= 0 and _is_in(load, which):
                    spent[first + which * problem.ports, x, link, p] += cycles
                    spent[first + (SEQUENCES + which) * problem.ports, x, link, p] += cycles


@kernel
def _is_in(load: int, which: int) -> bool:
    """Whether a load is in a sequence: of the first input, the second, or shared; all off-load."""
    if which == 2:
        return load in (SHARED_LOADS, SHARED_LOADS + 1, OFF_LOAD)
    return load in (SHARED_LOADS + which, OWN_LOADS + which, OFF_LOAD)


@kernel
def _load_transfers(
    problem: FlatProblem, work: Work, least: Floats, port: int, in_full: bool
) -> None:
    """The least cycles that the transfers of a port add, ``in_full`` those that happen once."""
    view = problem.views - 1
    for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
        work.loading[t] = 0.0
        if work.times[view, t] > 0 and not is_backward(problem, t):
            x = problem.transfer_operand[t]
            at_first = link_of(problem, t) == 1
            start = work.held[view, x, 1] if at_first else least[x]
            hidden = work.times[view, t] == 1 and not in_full
            first = np.ceil(start / problem.port_max[port])
            work.loading[t] = min(work.needed[t], first) if hidden else work.needed[t]


@kernel
def _load_of(problem: FlatProblem, x: int, link: int) -> int:
    """The load that a link adds to, -1 for none.

    Of the links of an input that are shared at one end, the outermost counts.
    """
    if x == OUT:
        return OFF_LOAD
    sharing = problem.link_sharing[x, link]
    if problem.operands == 2:
        return OWN_LOADS if sharing == ALONE else -1
    if sharing == SHARED:
        return SHARED_LOADS + x - 1
    if sharing == HALF_SHARED:
        for above in range(link + 1, problem.levels[x]):
            if problem.link_sharing[x, above] == HALF_SHARED:
                return -1
    return OWN_LOADS + x - 1
