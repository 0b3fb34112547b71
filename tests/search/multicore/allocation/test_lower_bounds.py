"""Bounds of latencies: below every schedule, and equal to some."""

from itertools import combinations, permutations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nestmap.model import Counting
from nestmap.search.multicore.allocation.lower_bounds import (
    Bounds,
    Job,
    earliest_end,
    latency_bound,
)
from nestmap.search.multicore.allocation.requirements import Requirements
from nestmap.search.multicore.schedule.evaluator import Evaluator
from tests.search.multicore.allocation.chains import problem
from tests.search.multicore.schedule.problems import Case, cases
from tests.sweeps import some_of

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)

jobs = st.lists(
    st.builds(Job, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6
)


@given(jobs)
@example([Job(0, 3, 0), Job(1, 1, 9)])
def test_the_least_end_is_that_of_the_tightest_part(work: list[Job]) -> None:
    parts = (part for n in range(len(work)) for part in combinations(work, n + 1))
    ends = (
        min(x.head for x in part) + sum(x.time for x in part) + min(x.tail for x in part)
        for part in parts
    )
    assert earliest_end(work) == max(ends)


@given(jobs)
def test_no_order_ends_sooner(work: list[Job]) -> None:
    for order in permutations(work):
        now = end = 0
        for job in order:
            now = max(now, job.head) + job.time
            end = max(end, now + job.tail)
        assert earliest_end(work) <= end


@settings(max_examples=some_of(60), deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_schedule_is_below_the_bound(case: Case) -> None:
    (fitness,) = Evaluator(case.problem)([case.allocation])
    if fitness is not None:
        assert latency_bound(case.problem, case.allocation) <= fitness.latency


@settings(max_examples=some_of(40), deadline=None, suppress_health_check=SLOW)
@given(cases(), st.data())
def test_the_bound_of_many_allocations_is_below_that_of_each(
    case: Case, data: st.DataObject
) -> None:
    demands, column = Requirements(case.problem), case.problem.costs.column
    chosen = [column(core) for core in case.allocation]
    wide = tuple(
        columns if data.draw(st.booleans()) else (own,)
        for own, columns in zip(chosen, demands.columns, strict=True)
    )
    one = Bounds(demands, tuple((own,) for own in chosen)).latency
    assert Bounds(demands, wide).latency <= one <= latency_bound(case.problem, case.allocation)


def test_a_chain_on_one_core_takes_runtimes_and_what_is_sent_at_its_ends() -> None:
    chain = problem([[10, 10], [20, 20]], [(0, 1)])
    # first two tensors in, of 8 cycles each; the weights of the second one meanwhile; one out
    assert latency_bound(chain, (0, 0)) == 16 + 10 + 20 + 8
    assert Evaluator(chain)([(0, 0)])[0] is not None


def test_a_chain_on_two_cores_waits_for_what_is_sent() -> None:
    chain = problem([[10, 10], [20, 20]], [(0, 1)])
    assert latency_bound(chain, (0, 1)) == 16 + 10 + 8 + 20 + 8
    fitness = Evaluator(chain)([(0, 1)])[0]
    assert fitness is not None
    assert fitness.latency == 16 + 10 + 8 + 20 + 8


def test_cores_bound_where_nothing_waits() -> None:
    alone = problem([[50, 60], [50, 60], [50, 60]], [], bandwidth=64)
    # each needs two tensors of a cycle, and sends one
    assert latency_bound(alone, (0, 0, 0)) == 2 + 150 + 1
    assert latency_bound(alone, (0, 0, 1)) == 2 + 100 + 1


def test_wires_bound_where_runtimes_are_short() -> None:
    alone = problem([[1, 1], [1, 1], [1, 1]], [])
    # six tensors in and three out, of 8 cycles each, over one bus; the first ones can be sent back
    # meanwhile
    assert latency_bound(alone, (0, 1, 0)) == 9 * 8
    fitness = Evaluator(alone)([(0, 1, 0)])[0]
    assert fitness is not None
    assert fitness.latency >= 9 * 8


def test_by_the_counting_of_stream_only_nodes_count() -> None:
    chain = problem([[10, 10], [20, 20]], [(0, 1)])
    nodes = type(chain.nodes)("s", chain.nodes.layers, chain.nodes.edges, Counting.REFERENCE)
    stream = type(chain)(chain.accelerator, nodes, chain.space, chain.costs, chain.options)
    assert latency_bound(stream, (0, 1)) == 30
