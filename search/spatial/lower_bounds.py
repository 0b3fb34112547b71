"""Lower bounds of energy and latency of a spatial mapping, for any order of its temporal loops.

Three facts bound the cost from below. Every word of an operand crosses every link of its hierarchy
at least once (compulsory traffic). In each cycle the array writes its sums and rereads the inputs
to which the innermost loop is relevant, so not all operands can be reused at once. The array needs
one cycle for every temporal iteration, a port one cycle for every word of its width, a link between
units one for every bit of its bandwidth. If unrollings
do not divide their loops, their integer part counts, which bounds all rounding in the cost model
from below.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten, flatten_problem
from nestmap.costmodel.footprint import distinct_values, tile_elements
from nestmap.costmodel.hops import shared_below
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.periods import End, ask, count_kinds, divide_loops
from nestmap.costmodel.reuse import IRRELEVANT, PARTIALLY_RELEVANT
from nestmap.costmodel.skipping import executed_share, skippable_cycles
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes, unrollings_of
from nestmap.costmodel.transfers import count_link_words, is_backward, link_of
from nestmap.model import CostBounds, MappingProblem, Objective, SpatialProblem
from nestmap.model.arrays import Floats, Ints
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energies

ARRAY = 0
"""The link between the array and level 1."""


class BoundColumns(NamedTuple):
    """Lower bounds of many spatial mappings: energy in pJ, latency in cycles."""

    energy: Floats  # [row]
    latency: Floats  # [row]

    def of(self, objective: Objective) -> Floats:
        """[row] the bounds of an objective."""
        return objective.value_of(self.energy, self.latency)


def lower_bounds(spatial: SpatialProblem) -> CostBounds:
    """Lower bounds over all temporal mappings of the problem.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    problem, unrollings = flatten(spatial), unrollings_of(spatial)
    sizes, extent = np.empty(problem.dimensions), np.empty(problem.dimensions)
    total = temporal_sizes(problem, unrollings, sizes)
    energy, latency = _bounds(problem, new_record(Work), sizes, total, extent)
    total_energy, cycles = float(energy + problem.leakage * latency), float(latency)
    return CostBounds(energy=total_energy, latency=cycles, edp=total_energy * cycles)


def lower_bounds_of(problem: MappingProblem, table: UnrollingTable) -> BoundColumns:
    """The same for every spatial mapping of a table, in one kernel call.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    flat = copy_record(flatten_problem(problem))
    computation = array_energies(problem, table)
    work = new_record(Work)
    energy, latency = _bounds_of_rows(flat, work, table.unrollings, table.first, computation)
    return BoundColumns(energy + flat.leakage * latency, latency)


@kernel
def _bounds_of_rows(
    problem: FlatProblem, work: Work, unrollings: Ints, first: Ints, computation: Floats
) -> tuple[Floats, Floats]:
    """[row] energy without leakage, and latency; the records are scratch."""
    rows = len(first) - 1
    energy, latency = np.empty(rows), np.empty(rows)
    sizes, extent = np.empty(problem.dimensions), np.empty(problem.dimensions)
    for row in range(rows):
        unrolled = unrollings[first[row] : first[row + 1]]
        put_unrollings(problem, unrolled)
        problem.computation = computation[row]
        total = temporal_sizes(problem, unrolled, sizes)
        energy[row], latency[row] = _bounds(problem, work, sizes, total, extent)
    return energy, latency


@kernel
def _bounds(
    problem: FlatProblem, work: Work, sizes: Floats, total: float, extent: Floats
) -> tuple[float, float]:
    """Energy without leakage, and latency.

    ``sizes`` are the temporal iterations of each dimension, ``total`` their product.
    """
    if problem.counts_exactly == 1:
        return _exact_bounds(problem, work, sizes, total)
    energy = problem.computation
    latency = total * problem.cycles_per_operation + problem.drain
    for t in range(problem.transfers):
        if is_backward(problem, t):
            continue
        if link_of(problem, t) != ARRAY:
            energy += _energy_once(problem, t, sizes, extent)
            latency = max(latency, _cycles_once(problem, t, sizes, extent))
        elif problem.transfer_operand[t] == OUT or problem.holds_inputs == 0:
            energy += _energy_always(problem, t, total)
            latency = max(
                latency, _cycles_always(problem, t, total), _hops_always(problem, t, total)
            )
    skipped = skippable_cycles(problem, total)
    if problem.holds_inputs == 0:
        return energy, latency - skipped
    least, fastest = np.inf, np.inf
    for d in range(problem.dimensions):
        if sizes[d] > 1.0:
            reads, cycles = _reads(problem, d, sizes, total, extent)
            least, fastest = min(least, reads), min(fastest, cycles)
    if least == np.inf:
        return energy, latency - skipped
    return energy + least, max(latency, fastest) - skipped


@kernel
def _exact_bounds(
    problem: FlatProblem, work: Work, sizes: Floats, total: float
) -> tuple[float, float]:
    """The same in exact counting: each link moves at least what it does with all loops below it.

    What the innermost loop does not leave at the array crosses in each cycle. All that a port moves
    takes its cycles.
    """
    once, always = least_traffic(problem, work, sizes)
    energy = problem.computation
    for t in range(problem.transfers):
        energy += once[0, t]
    more, busiest = np.inf, np.inf
    for d in range(problem.dimensions):
        if sizes[d] > 1.0:
            extra, cycles = _innermost(problem, d, once, always, total)
            more, busiest = min(more, extra), min(busiest, cycles)
    if more == np.inf:
        more, busiest = _innermost(problem, -1, once, always, total)
    cycles = total * problem.cycles_per_operation + problem.drain
    return energy + more, max(cycles - skippable_cycles(problem, total), busiest)


@kernel
def least_traffic(problem: FlatProblem, work: Work, sizes: Floats) -> tuple[Floats, Floats]:
    """[2, t] the least energy (pJ) of each transfer and cycles of its port, in exact counting.

    Once with all loops below its link, or as few as there may be; then with none below the array.
    """
    _load_all(problem, work, sizes)
    once, always = np.zeros((2, problem.transfers)), np.zeros((2, problem.transfers))
    for t in range(problem.transfers):
        work.stored[t] = 0.0 if is_backward(problem, t) else _least_bits(problem, t)
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            _put_link(problem, work, (x, link), once, always)
    return once, always


@kernel
def _load_all(problem: FlatProblem, work: Work, sizes: Floats) -> None:
    """Writes a loop for each dimension."""
    work.loops = problem.dimensions
    for d in range(problem.dimensions):
        work.dimension[d], work.factor[d] = d, sizes[d]


@kernel
def _put_link(
    problem: FlatProblem, work: Work, place: tuple[int, int], once: Floats, always: Floats
) -> None:
    """Writes the least that the transfers of a link need, as in :func:`_put_least`.

    With all loops below it, and at the array with none.
    """
    x, link = place
    if link == ARRAY:
        _put_least(problem, work, place, 0, always)
        if x == OUT or problem.holds_inputs == 0:  # the array keeps no word while loops run
            for i in range(problem.link_transfers[place]):
                t = problem.link_transfer[x, link, i]
                once[:, t] = always[:, t]
            return
    _put_least(problem, work, place, work.loops, once)
    if problem.counts_clipped == 1:
        _put_least_cycles(problem, work, place, once)
        if shares_index(problem, x, link):
            _put_shared(problem, work, place, once)


@kernel
def _put_least(
    problem: FlatProblem, work: Work, place: tuple[int, int], cut: int, least: Floats
) -> None:
    """Writes what the transfers of a link need with so many loops below it.

    ``place``: operand and link; ``least`` [2, t]: energy, and cycles of the port.
    """
    x, link = place
    work.stationary_cut[place] = cut
    share = problem.least_share[x] if link == ARRAY else 1.0
    executed = executed_share(problem) if link == ARRAY else 1.0
    count_link_words(problem, work, x, link)
    for i in range(problem.link_transfers[place]):
        t = problem.link_transfer[x, link, i]
        port = problem.transfer_port[t]
        accesses = work.narrow_words[t] * problem.port_min[port] / problem.port_max[port] * share
        least[0, t] = np.trunc(accesses) * problem.transfer_energy[t]
        least[1, t] = work.wide_words[t] * executed


@kernel
def _put_least_cycles(
    problem: FlatProblem, work: Work, place: tuple[int, int], least: Floats
) -> None:
    """Writes the fewest cycles of a link's ports where tiles are clipped, as in :func:`_put_least`.

    The first instance has the fewest iterations of a loop in the smallest tiles: in a tile of
    several it also has those that lie between them, and the loop ends in fewer rounds. Tiles of
    what it has touch at least the elements of as many adjacent iterations.
    """
    x, link = place
    work.stationary_cut[place] = 0
    executed = executed_share(problem) if link == ARRAY else 1.0
    for is_high in range(2):
        _put_first_extents(problem, work, End(x, link, is_high))
        elements = tile_elements(problem, work, x)
        for i in range(problem.link_transfers[place]):
            t = problem.link_transfer[x, link, i]
            if (problem.transfer_level[t] > link) == (is_high == 1):
                wide = problem.port_max[problem.transfer_port[t]]
                least[1, t] = np.ceil(elements * work.stored[t] / wide) * executed


@kernel
def _put_first_extents(problem: FlatProblem, work: Work, end: End) -> None:
    """Writes how many iterations the first instance has of each dimension."""
    divide_loops(problem, work, end)
    for d in range(problem.dimensions):
        clipped = work.first_last[d] * work.last[d]
        work.extent[d] = work.first_full[d] * work.period[d] + clipped


@kernel
def _put_shared(problem: FlatProblem, work: Work, place: tuple[int, int], least: Floats) -> None:
    """Lowers energy and cycles at the end above units that share words along an affine index.

    How many they share depends on the sizes of their tiles, and may be more in small ones.
    """
    x, link = place
    if depends_on_tiles(problem, x, link):
        elements = _of_one_unit(problem, work, place)
    else:
        elements = _fewest_shared(problem, work, End(x, link, 1))
    share = problem.least_share[x] if link == ARRAY else 1.0
    executed = executed_share(problem) if link == ARRAY else 1.0
    for i in range(problem.link_transfers[place]):
        t = problem.link_transfer[x, link, i]
        if problem.transfer_level[t] > link:
            words = work.stored[t] / problem.port_max[problem.transfer_port[t]]
            accesses = np.trunc(elements[0] * words * share)
            least[0, t] = min(least[0, t], accesses * problem.transfer_energy[t])
            least[1, t] = np.ceil(elements[1] * words) * executed


@kernel
def _of_one_unit(problem: FlatProblem, work: Work, place: tuple[int, int]) -> tuple[float, float]:
    """Elements of all instances and of the first, if of the units that share one alone counts.

    The first unit has at least as many iterations as there are in time.
    """
    x, link = place
    for d in range(problem.dimensions):
        is_shared = problem.relevance[x, d] == PARTIALLY_RELEVANT
        work.extent[d] = work.factor[d] if is_shared else problem.loop_size[d]
    every = tile_elements(problem, work, x)
    work.stationary_cut[place] = 0
    _put_first_extents(problem, work, End(x, link, 1))
    for d in range(problem.dimensions):
        if problem.relevance[x, d] == PARTIALLY_RELEVANT:
            work.extent[d] = min(work.extent[d], work.factor[d])
    return every, tile_elements(problem, work, x)


@kernel
def _fewest_shared(problem: FlatProblem, work: Work, end: End) -> tuple[float, float]:
    """The fewest elements that cross an end above units that share them: of all, and of the first.

    What a period moves is a product over ordinary indices and affine ones. So tiles are tried along
    one affine index at a time, beside whole loops for all instances, and beside the smallest tiles
    for the first, which then has the fewest iterations.
    """
    sizes = work.factor[: problem.dimensions].copy()
    every = whole = _crossing(problem, work, end)[0]
    work.factor[: problem.dimensions] = 1.0
    first = small = _crossing(problem, work, end)[1]
    for q in range(problem.first_pr[end.x], problem.first_pr[end.x + 1]):
        a, b = problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]
        fewest, fewest_first = whole, small
        for tile_a in range(1, int(sizes[a]) + 1):
            for tile_b in range(1, int(sizes[b]) + 1 if sizes[a] % tile_a == 0 else 1):
                if sizes[b] % tile_b == 0:
                    work.factor[: problem.dimensions] = sizes
                    work.factor[a], work.factor[b] = tile_a, tile_b
                    fewest = min(fewest, _crossing(problem, work, end)[0])
                    work.factor[: problem.dimensions] = 1.0
                    work.factor[a], work.factor[b] = tile_a, tile_b
                    fewest_first = min(fewest_first, _crossing(problem, work, end)[1])
        every, first = every * fewest / whole, first * fewest_first / small
    work.factor[: problem.dimensions] = sizes
    return every, first


@kernel
def _crossing(problem: FlatProblem, work: Work, end: End) -> tuple[float, float]:
    """Elements that cross an end with all loops below it, once for all ir loops above."""
    work.stationary_cut[end.x, end.link] = work.loops
    ask(work, 0, 1.0, 1.0, 1.0)
    divide_loops(problem, work, end)
    count_kinds(problem, work, end, 1)
    return float(work.words[0]), float(work.first_words[0])


@kernel
def shares_index(problem: FlatProblem, x: int, link: int) -> bool:
    """Whether units above a level share words along an affine index, as far as the next level."""
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        for i in range(2):
            d = problem.pr_dimensions[q, i]
            if problem.unrolled_below[x, link, d] < problem.unrolled_below[x, link + 1, d]:
                return True
    return False


@kernel
def depends_on_tiles(problem: FlatProblem, x: int, link: int) -> bool:
    """Whether how many units share a word is rounded, or changes as windows slide.

    Else their number along each affine index is whole: nothing is unrolled below that they share.
    """
    if not shares_index(problem, x, link):
        return False
    if problem.reuses_windows.any():
        return True
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        for i in range(2):
            if problem.unrolled_below[x, link, problem.pr_dimensions[q, i]] > 1.0:
                return True
    return False


@kernel
def _innermost(
    problem: FlatProblem, innermost: int, once: Floats, always: Floats, total: float
) -> tuple[float, float]:
    """Energy that the innermost dimension adds, and cycles of the busiest port or link of hops.

    Without such a dimension (-1) it adds nothing.
    """
    energy, busiest = 0.0, 0.0
    for port in range(problem.ports):
        busy = 0.0
        for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
            x = problem.transfer_operand[t]
            moves = innermost >= 0 and problem.relevance[x, innermost] != IRRELEVANT
            if link_of(problem, t) == ARRAY and (x == OUT or problem.holds_inputs == 0 or moves):
                busy += always[1, t]
                energy += always[0, t] - once[0, t]
                if not is_backward(problem, t):
                    busiest = max(busiest, _hops_always(problem, t, total))
            else:
                busy += once[1, t]
        busiest = max(busiest, busy)
    return energy, busiest


@kernel
def _reads(
    problem: FlatProblem, innermost: int, sizes: Floats, total: float, extent: Floats
) -> tuple[float, float]:
    """Energy and cycles of reading the inputs into the array, for this innermost dimension."""
    energy, cycles = 0.0, 0.0
    for t in range(problem.transfers):
        x = problem.transfer_operand[t]
        if x == OUT or link_of(problem, t) != ARRAY:
            continue
        if problem.relevance[x, innermost] == IRRELEVANT:
            energy += _energy_once(problem, t, sizes, extent)
        else:
            energy += _energy_always(problem, t, total)
            cycles = max(cycles, _cycles_always(problem, t, total), _hops_always(problem, t, total))
    return energy, cycles


@kernel
def _energy_once(problem: FlatProblem, t: int, sizes: Floats, extent: Floats) -> float:
    """Every word crosses the link once, and once more for every copy of it above."""
    x, level = problem.transfer_operand[t], problem.transfer_level[t]
    words = _words(problem, x, int(problem.levels[x]) + 1, sizes, extent)
    bits = words * _copies(problem, x, level) * _least_bits(problem, t)
    share = problem.least_share[x] if link_of(problem, t) == ARRAY else 1.0
    accesses = max(0.0, bits / problem.port_max[problem.transfer_port[t]] * share - 1.0)
    return float(accesses * problem.transfer_energy[t])


@kernel
def _cycles_once(problem: FlatProblem, t: int, sizes: Floats, extent: Floats) -> float:
    """Cycles of loading all words from the top memory, or of writing them to it.

    A single input does not wait for a link that another could use, as in the reference.
    """
    if np.floor(problem.cycles_per_operation) != problem.cycles_per_operation:
        return 0.0  # windows are rounded up: they hide more cycles than there are
    x, level = problem.transfer_operand[t], int(problem.transfer_level[t])
    alone = problem.operands == 2 and problem.link_sharing[x, level - 1] != 0
    if level != problem.levels[x] or (x != OUT and alone):
        return 0.0
    words = _words(problem, x, level, sizes, extent)
    return float(words * _least_bits(problem, t) / problem.port_max[problem.transfer_port[t]])


@kernel
def _energy_always(problem: FlatProblem, t: int, total: float) -> float:
    """The energy of the array's words in one cycle, times the number of cycles."""
    x, level = problem.transfer_operand[t], problem.transfer_level[t]
    port = problem.transfer_port[t]
    narrow, wide = problem.port_min[port], problem.port_max[port]
    bits = problem.boost[FRACTIONAL, x, ARRAY] * _least_bits(problem, t)
    accesses = (
        np.ceil(bits / narrow) * (narrow / wide) * total * problem.units[FRACTIONAL, x, level]
    ) * problem.least_share[x]
    return float(max(0.0, accesses - 1.0) * problem.transfer_energy[t])


@kernel
def _cycles_always(problem: FlatProblem, t: int, total: float) -> float:
    """Cycles in which the port is busy with these words, except the last."""
    if np.floor(problem.cycles_per_operation) != problem.cycles_per_operation:
        return 0.0  # windows are rounded up, so their sum may exceed all cycles
    x = problem.transfer_operand[t]
    bits = problem.boost[problem.views - 1, x, ARRAY] * _least_bits(problem, t)
    return float(np.ceil(bits / problem.port_max[problem.transfer_port[t]]) * (total - 1.0))


@kernel
def _hops_always(problem: FlatProblem, t: int, total: float) -> float:
    """Cycles in which units hand on one word in each cycle of the array."""
    x = problem.transfer_operand[t]
    if shared_below(problem, x, ARRAY) == 0.0:
        return 0.0
    cycles = np.ceil(problem.partial_bits[x, 0] / problem.hop_bandwidth)
    return float(cycles * total * executed_share(problem))


@kernel
def _least_bits(problem: FlatProblem, t: int) -> float:
    """The fewest bits of an element that the transfer's memory may hold."""
    place = problem.transfer_operand[t], problem.transfer_level[t]
    return float(min(problem.element_bits[place], problem.partial_bits[place]))


@kernel
def _copies(problem: FlatProblem, x: int, level: int) -> float:
    """The number of units of a level that use the same word."""
    copies = 1.0
    for i in range(
        problem.first_unrolled[x, level], problem.first_unrolled[x, problem.levels[x] + 1]
    ):
        if problem.relevance[x, problem.unrolled_dimension[x, i]] == IRRELEVANT:
            copies *= problem.unrolled_factor[problem.views - 1, x, i]
    return copies


@kernel
def _words(problem: FlatProblem, x: int, level: int, sizes: Floats, extent: Floats) -> float:
    """Elements of an operand in all temporal loops and the unrollings below a level.

    Only integer parts of unrollings count, and of an affine index only if one level holds all of
    them: the cost model rounds the growth at each level separately.
    """
    for d in range(problem.dimensions):
        extent[d] = sizes[d]
    for i in range(problem.first_unrolled[x, level]):
        extent[problem.unrolled_dimension[x, i]] *= problem.unrolled_factor[problem.views - 1, x, i]
    words = 1.0
    for i in range(problem.first_r[x], problem.first_r[x + 1]):
        words *= extent[problem.r_dimension[i]]
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        first, second = problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]
        spread = _is_spread(problem, x, q)
        a = float(sizes[first] if spread else extent[first])
        b = float(sizes[second] if spread else extent[second])
        values = distinct_values(a, b, problem.pr_steps[q, 0], problem.pr_steps[q, 1])
        words *= min(values, a * b, problem.pr_length[q])
    return float(words)


@kernel
def _is_spread(problem: FlatProblem, x: int, q: int) -> bool:
    """Whether the unrollings of a pr index are at several levels."""
    levels = 0
    for level in range(problem.levels[x] + 1):
        for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
            d, factor = problem.unrolled_dimension[x, i], problem.unrolled_factor[0, x, i]
            if factor > 1.0 and d in (problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]):
                levels += 1
                break
    return levels > 1
