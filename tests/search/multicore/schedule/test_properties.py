"""What holds of every schedule, whatever network, split, machine, costs and allocation."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestmap.model import ComputeCore, Counting, InfeasibleError, MultiCoreAccelerator
from nestmap.model.base import copy_with
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryLevel
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import (
    CandidateRule,
    Schedule,
    ScheduleEnergy,
    ScheduleProblem,
    TransferKind,
)
from nestmap.search.multicore.allocation.lower_bounds import latency_bound
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.search.multicore.schedule.checker import violations
from tests.search.multicore.schedule.problems import Case, cases
from tests.search.multicore.schedule.replay import Demands, ints
from tests.sweeps import some_of


@settings(max_examples=some_of(200))
@given(cases())
def test_nothing_is_violated(case: Case) -> None:
    assert not violations(schedule(case.problem, case.allocation))


@settings(max_examples=some_of(50))
@given(cases(counting=Counting.REFERENCE))
def test_stream_violates_nothing_but_memories(case: Case) -> None:
    """Where it finishes: it may find no room where there would be some."""
    try:
        made = schedule(case.problem, case.allocation)
    except InfeasibleError:
        return
    assert not violations(made)


@settings(max_examples=some_of(50))
@given(cases())
def test_every_rule_finishes(case: Case) -> None:
    for rule in CandidateRule:
        options = copy_with(case.problem.options, {"rule": rule})
        made = schedule(replace(case.problem, options=options), case.allocation)
        assert len(made.start) == len(case.problem.nodes)


def same(first: Schedule, second: Schedule) -> bool:
    """Whether two schedules have the same events and costs."""
    pairs: list[tuple[object, object]] = [
        (first, second),
        (first.tensors, second.tensors),
        (first.transfers, second.transfers),
        (first.streams, second.streams),
        (first.residencies, second.residencies),
    ]
    columns = [
        (vars(one)[name], vars(other)[name])
        for one, other in pairs
        for name in vars(one)
        if isinstance(vars(one)[name], np.ndarray)
    ]
    figures = (first.latency, first.energy) == (second.latency, second.energy)
    return figures and all(np.array_equal(a, b) for a, b in columns)


@settings(max_examples=some_of(50))
@given(cases())
def test_the_same_problem_has_the_same_schedule(case: Case) -> None:
    first = schedule(case.problem, case.allocation)
    assert same(first, schedule(replace(case.problem), case.allocation))


@st.composite
def reordered(draw: st.DrawFn, machine: MultiCoreAccelerator) -> MultiCoreAccelerator:
    """The machine with its links and buses in another order."""
    links, buses = draw(st.permutations(machine.links)), draw(st.permutations(machine.buses))
    return copy_with(machine, {"links": tuple(links), "buses": tuple(buses)})


def path_names(machine: MultiCoreAccelerator) -> list[list[str]]:
    """The names of the wires from each core to each other one."""
    ways, cores = Interconnect(accelerator=machine), [core.id for core in machine.cores]
    pairs = ((a, b) for a in cores for b in cores)
    return [[ways.channels[x].name for x in ways.path(a, b)] for a, b in pairs]


@settings(max_examples=some_of(50))
@given(st.data(), cases())
def test_the_order_of_wires_does_not_matter(data: st.DataObject, case: Case) -> None:
    machine = data.draw(reordered(case.problem.accelerator))
    _ = assume(path_names(machine) == path_names(case.problem.accelerator))
    other = replace(case.problem, accelerator=machine)
    assert same(schedule(case.problem, case.allocation), schedule(other, case.allocation))


def critical_path(made: Schedule) -> int:
    """The longest chain of nodes, by runtimes."""
    demands = Demands(made.problem)
    runtime = [end - start for start, end in zip(ints(made.start), ints(made.end), strict=True)]
    ends = list(runtime)
    for before, after, _ in sorted(demands.edges, key=lambda edge: edge[1]):
        ends[after] = max(ends[after], ends[before] + runtime[after])
    return max(ends)


def busiest_core(made: Schedule) -> int:
    """The most that a core runs."""
    runtime = made.end - made.start
    return max(int(runtime[made.core == core].sum()) for core in np.unique(made.core))


def busiest_wire(made: Schedule) -> float:
    """The most cycles in which something passes a wire, broadcasts once."""
    ways, sent = Interconnect(accelerator=made.problem.accelerator), made.transfers
    busy: dict[int, dict[tuple[int, int, int], int]] = {}
    for row in range(len(sent)):
        start, end = int(sent.start[row]), int(sent.end[row])
        for wire in ways.path(int(sent.sending[row]), int(sent.receiving[row])):
            busy.setdefault(wire, {})[int(sent.tensor[row]), start, end] = end - start
    return max((sum(each.values()) for each in busy.values()), default=0)


@settings(max_examples=some_of(50))
@given(cases())
def test_no_schedule_is_faster_than_its_bounds(case: Case) -> None:
    made = schedule(case.problem, case.allocation)
    assert made.latency >= critical_path(made)
    assert made.latency >= busiest_core(made)
    assert made.latency >= busiest_wire(made)
    assert made.latency >= latency_bound(case.problem, case.allocation)


def widened(machine: MultiCoreAccelerator, times: int) -> MultiCoreAccelerator:
    """The machine with wires that carry so many times as much."""
    links, buses = (
        tuple(copy_with(x, {"bandwidth": x.bandwidth and times * x.bandwidth}) for x in ways)
        for ways in (machine.links, machine.buses)
    )
    return copy_with(machine, {"links": links, "buses": buses})


@settings(max_examples=some_of(50))
@given(cases(), st.integers(2, 5))
def test_more_bandwidth_makes_no_bound_worse(case: Case, times: int) -> None:
    wide = replace(case.problem, accelerator=widened(case.problem.accelerator, times))
    bound = latency_bound(case.problem, case.allocation)
    assert latency_bound(wide, case.allocation) <= bound
    assert schedule(wide, case.allocation).latency >= latency_bound(wide, case.allocation)


@settings(max_examples=some_of(50))
@given(cases())
def test_memory_usage_is_what_the_memories_hold(case: Case) -> None:
    made = schedule(case.problem, case.allocation)
    homes = Demands(case.problem).homes
    assert len(made.memory_usage) <= len(homes.memories)
    for place, (times, used) in enumerate(made.memory_usage):
        assert (np.diff(times) > 0).all()
        assert (used >= 0).all()
        assert (used <= homes.memories[place].level.instance.size).all()
        if len(used) and place not in homes.offchip:
            assert used[-1] == 0


def spending(problem: ScheduleProblem, part: str) -> ScheduleProblem:
    """The problem, where nothing costs energy but one of: cores, off-chip, wires, memories."""
    costs, machine = problem.costs, problem.accelerator
    nothing = {"energy_per_bit": 0.0, "energy_per_cycle": 0.0}
    free: dict[str, object] = {}
    if part != "wires":
        free["links"] = tuple(copy_with(x, {**nothing}) for x in machine.links)
        free["buses"] = tuple(copy_with(x, {**nothing}) for x in machine.buses)
    if part != "memories":
        free["cores"] = tuple(
            _free_core(x) if isinstance(x, ComputeCore) else copy_with(x, _free(x.memories))
            for x in machine.cores
        )
    zero = np.zeros_like(costs.onchip)
    return replace(
        problem,
        accelerator=copy_with(machine, free),
        costs=replace(
            costs,
            onchip=costs.onchip if part == "cores" else zero,
            offchip=costs.offchip if part == "streams" else zero,
        ),
    )


def _free(levels: tuple[MemoryLevel, ...]) -> dict[str, object]:
    nothing: dict[str, object] = {"read_energy": 0.0, "write_energy": 0.0}
    memories = (copy_with(x, {"instance": copy_with(x.instance, nothing)}) for x in levels)
    return {"memories": tuple(memories)}


def _free_core(core: ComputeCore) -> ComputeCore:
    accelerator: Accelerator = copy_with(core.accelerator, _free(core.accelerator.memories))
    return copy_with(core, {"accelerator": accelerator})


TRANSFERS = [kind.name.lower() for kind in TransferKind]
PARTS = {
    "nothing": (),
    "cores": ("computation",),
    "streams": ("streaming",),
    "wires": ("streaming_links", *(f"{kind}_links" for kind in TRANSFERS)),
    "memories": tuple(f"{kind}_memory" for kind in TRANSFERS),
}


@settings(max_examples=some_of(30))
@given(cases(), st.sampled_from([*PARTS]))
def test_each_cost_is_in_its_part_of_the_energy(case: Case, part: str) -> None:
    spent = schedule(spending(case.problem, part), case.allocation).energy
    whole = schedule(case.problem, case.allocation).energy
    for name in ScheduleEnergy.model_fields:
        expected = getattr(whole, name) if name in PARTS[part] else 0.0
        assert getattr(spent, name) == expected
    assert set(chain.from_iterable(PARTS.values())) == set(ScheduleEnergy.model_fields)


def listed(problem: ScheduleProblem, allocation: tuple[int, ...]) -> list[int]:
    """When each node starts if tensors are there at once: the rule decides who is next."""
    demands = Demands(problem)
    core = ints(problem.space.cores_of_nodes(allocation))
    runtime = [demands.run(p, c, {}).runtime for p, c in enumerate(core)]
    before: list[set[int]] = [set() for _ in core]
    for producer, consumer, _ in demands.edges:
        before[consumer].add(producer)
    free, end, start = dict.fromkeys(core, 0), dict[int, int](), [0] * len(core)
    while len(end) < len(core):
        able = [p for p in range(len(core)) if p not in end and before[p] <= end.keys()]
        ready = {p: max((end[x] for x in before[p]), default=0) for p in able}
        place = min(able, key=lambda p: _rank(problem, demands, p, ready[p]))
        start[place] = max(free[core[place]], ready[place])
        end[place] = free[core[place]] = start[place] + runtime[place]
    return start


def _rank(problem: ScheduleProblem, demands: Demands, place: int, ready: int) -> tuple[int, ...]:
    if problem.options.rule is CandidateRule.LATENCY:
        return ready, place
    layer, number = demands.layer_of[place]
    group = int(problem.nodes.layers[layer].groups[number])
    return -layer, group, -number


@pytest.mark.parametrize("rule", [CandidateRule.LATENCY, CandidateRule.MEMORY])
@settings(max_examples=some_of(50))
@given(case=cases(roomy=True))
def test_without_transfers_the_rule_decides(rule: CandidateRule, case: Case) -> None:
    options = copy_with(case.problem.options, {"rule": rule})
    problem = replace(case.problem, options=options)
    made = schedule(problem, case.allocation)
    assert ints(made.start) == listed(problem, case.allocation)
