"""The allocations that a search begins with: allowed, deterministic, and what their rules say."""

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from nestmap.model.arrays import Floats
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import INFEASIBLE, CnCosts
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.search.multicore.allocation.initial_allocations import (
    InitialAllocations,
    Placing,
    initial_allocations,
)
from tests.search.multicore.allocation.spaces import is_allowed
from tests.search.multicore.schedule.lines import Row, core, line, machine, problem
from tests.search.multicore.schedule.machines import Costs
from tests.search.multicore.schedule.problems import Case, cases
from tests.sweeps import some_of

FAST = Costs(10**6, 0.0, 0.0)
SLOW = Costs(1, 0.0, 0.0)

few = settings(max_examples=some_of(25), suppress_health_check=[HealthCheck.too_slow])


@few
@given(cases())
def test_all_are_allowed_and_different_and_the_same_again(case: Case) -> None:
    space = case.problem.space
    found = initial_allocations(case.problem)
    assert found == initial_allocations(case.problem)
    assert 1 <= len(found) == len(set(found))
    for allocation in found:
        assert is_allowed(space, allocation)


@few
@given(cases())
def test_no_node_is_where_it_cannot_run(case: Case) -> None:
    costs = case.problem.costs
    for allocation in initial_allocations(case.problem):
        cores = case.problem.space.cores_of_nodes(allocation).tolist()
        for place, number in enumerate(cores):
            assert costs.is_feasible(int(costs.kind[place]), number)


def timed(
    runtime: list[list[int]],
    energy: list[list[float]] | None = None,
    between: Costs = FAST,
    rows: int = 1,
) -> ScheduleProblem:
    """Layers in a line with these runtimes (and energies) of a node on each core."""
    table: NDArray[np.int64] = np.array(runtime)
    layers, cores = table.shape
    network = line([Row(100)] * layers, rows=rows)
    made = problem(network, machine(*map(core, range(cores)), between=between))
    costs = CnCosts(
        kind=np.array([n // rows for n in range(layers * rows)]),
        cores=made.costs.cores,
        runtime=table,
        onchip=np.ones(table.shape) if energy is None else np.array(energy),
        offchip=np.zeros(table.shape),
        streamed=np.zeros_like(table),
        read_rate=np.zeros_like(table),
        write_rate=np.zeros_like(table),
    )
    genes = tuple(
        NodeGroup(
            layer=layer,
            group=0,
            cores=tuple(c for c in made.costs.cores if table[layer, c] != INFEASIBLE) or (0,),
        )
        for layer in range(layers)
    )
    return replace(made, costs=costs, space=AllocationSpace(genes, made.space.group_of))


def fastest(made: ScheduleProblem) -> Placing:
    return InitialAllocations(made).balanced_loads(lambda runtime, _: runtime)


def cheapest(made: ScheduleProblem) -> Placing:
    return InitialAllocations(made).balanced_loads(lambda _, energy: energy)


def longest_first(made: ScheduleProblem) -> Placing:
    return InitialAllocations(made).balanced_loads(lambda runtime, _: runtime * 0)


def test_each_gene_is_where_it_is_fastest() -> None:
    assert fastest(timed([[3, 2, 9], [1, 5, 5], [7, 7, 6]])) == [1, 0, 2]


def test_each_gene_is_where_it_is_cheapest() -> None:
    made = timed([[3, 2], [1, 5], [1, 9]], [[2.0, 1.0], [4.0, 5.0], [9.0, 8.5]])
    assert cheapest(made) == [1, 0, 1]


def test_of_equally_good_cores_the_less_busy_one_is_taken() -> None:
    made = timed([[4, 4, 9], [8, 8, 9], [5, 5, 9], [6, 6, 9]])
    assert fastest(made) == [0, 0, 1, 1]  # 8 and 4, 6 and 5


def test_the_longest_are_placed_first_where_they_end_first() -> None:
    assert longest_first(timed([[4, 4], [8, 8], [5, 5], [6, 6]])) == [0, 0, 1, 1]
    assert longest_first(timed([[9, 1], [9, 1], [9, 3]])) == [1, 1, 1]
    assert longest_first(timed([[2, 3], [9, 9]])) == [1, 0]


def test_runtimes_of_all_nodes_of_a_gene_count() -> None:
    asked = list[list[float]]()

    def seen(runtime: Floats, energy: Floats) -> Floats:
        asked.extend((runtime.tolist(), energy.tolist()))
        return runtime

    made = timed([[3, 2], [1, 5]], [[0.5, 1.0], [2.0, 0.25]], rows=4)
    assert InitialAllocations(made).balanced_loads(seen) == [1, 0]
    assert asked == [[12, 8], [2.0, 4.0], [4, 20], [8.0, 1.0]]


def test_list_scheduling_weighs_transfers_against_speed() -> None:
    runtime = [[10, 50], [30, 10], [10, 50]]
    assert InitialAllocations(timed(runtime)).earliest_end() == [0, 1, 0]
    assert InitialAllocations(timed(runtime, between=SLOW)).earliest_end() == [0, 0, 0]


def test_list_scheduling_runs_side_by_side_what_does_not_wait() -> None:
    made = timed([[10, 11], [10, 11]])
    empty = replace(
        made.nodes.edges,
        producer=np.zeros(0, np.int64),
        consumer=np.zeros(0, np.int64),
        read=np.zeros(0, np.int64),
        bits=np.zeros(0, np.int64),
    )
    apart = replace(made, nodes=replace(made.nodes, edges=empty))
    assert InitialAllocations(made).earliest_end() == [0, 0]
    assert sorted(InitialAllocations(apart).earliest_end()) == [0, 1]


def test_stretches_take_equally_long() -> None:
    made = timed([[2, 2], [2, 2], [2, 2], [6, 6]])
    assert InitialAllocations(made).stretches() == [0, 0, 0, 1]


def test_the_line_goes_back_and_forth_over_the_cores() -> None:
    made = timed([[1, 1, 1]] * 8)
    assert InitialAllocations(made).back_and_forth() == [0, 1, 2, 2, 1, 0, 0, 1]
    assert InitialAllocations(made).round_robin() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_all_on_one_core_but_what_cannot_run_there() -> None:
    no = INFEASIBLE
    made = timed([[1, 1, no], [no, 9, 4], [1, 1, no]])
    assert list(InitialAllocations(made).single_core()) == [[0, 2, 0], [1, 1, 1], [0, 2, 0]]


def test_what_has_one_core_only_takes_no_turn() -> None:
    no = INFEASIBLE
    made = timed([[1, 1, no], [no, no, 4], [1, 1, no], [1, 1, no]])
    genes = InitialAllocations(made)
    assert genes.round_robin() == [0, 2, 1, 0]
    assert genes.back_and_forth() == [0, 2, 1, 1]
    assert genes.stretches() == [0, 2, 1, 1]
    assert list(genes.single_core()) == [[0, 2, 0, 0], [1, 2, 1, 1]]


def test_nothing_to_choose_is_one_allocation() -> None:
    no = INFEASIBLE
    assert initial_allocations(timed([[3, no], [no, 4]])) == ((0, 1),)


def test_a_gene_that_can_run_nowhere_is_where_it_may() -> None:
    assert initial_allocations(timed([[INFEASIBLE, INFEASIBLE]])) == ((0,),)
