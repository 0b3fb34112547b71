"""Who goes on and who is on the front, against brute force."""

from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Objective
from nestmap.model.evaluation.objective import AllocationObjective
from nestmap.model.multicore.allocation import Individual
from nestmap.search.multicore.allocation.genetic import costs_of, pareto_front, select_survivors
from tests.search.multicore.allocation.spaces import ALL, dominates, individual

LATENCY, ENERGY = Objective.LATENCY, Objective.ENERGY

objectives = st.lists(st.sampled_from(ALL), min_size=1, unique=True).map(tuple)
figures = st.one_of(st.just(()), st.tuples(*[st.integers(0, 4)] * 3))
populations = st.lists(figures, max_size=14).map(
    lambda rows: [individual((i,), *row) for i, row in enumerate(rows)]
)
Chosen = tuple[AllocationObjective, ...]


def ranks(individuals: list[Individual], chosen: Chosen) -> dict[Individual, int]:
    """The number of the front of each feasible individual, front after front."""
    left, found, rank = [x for x in individuals if x.fitness], dict[Individual, int](), 0
    while left:
        front = [
            x
            for x in left
            if not any(dominates(costs_of(y, chosen), costs_of(x, chosen)) for y in left)
        ]
        found |= dict.fromkeys(front, rank)
        left = [x for x in left if x not in front]
        rank += 1
    return found


@given(populations, objectives)
def test_the_front_is_what_nothing_dominates(individuals: list[Individual], chosen: Chosen) -> None:
    first = [x for x, rank in ranks(individuals, chosen).items() if rank == 0]
    front = pareto_front(individuals, chosen)
    assert {costs_of(x, chosen) for x in front} == {costs_of(x, chosen) for x in first}
    costs = [costs_of(x, chosen) for x in front]
    assert costs == sorted(set(costs))
    for x in front:
        same = [y for y in first if costs_of(y, chosen) == costs_of(x, chosen)]
        assert x is same[0]


@given(populations, populations, objectives)
def test_a_front_can_be_made_piece_by_piece(
    some: list[Individual], more: list[Individual], chosen: Chosen
) -> None:
    step = pareto_front((*pareto_front(some, chosen), *more), chosen)
    assert step == pareto_front((*some, *more), chosen)


@given(populations, objectives, st.integers(1, 16))
def test_survivors_are_the_best_fronts_and_infeasible_ones_come_last(
    individuals: list[Individual], chosen: Chosen, count: int
) -> None:
    kept = select_survivors(individuals, chosen, count)
    assert len(kept) == min(count, len(individuals))
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(individuals)
    rank = ranks(individuals, chosen)
    worst = len(individuals)
    lost = [rank.get(x, worst) for x in individuals if x not in kept]
    assert max((rank.get(x, worst) for x in kept), default=0) <= min(lost, default=worst)
    infeasible = [x for x in individuals if x.fitness is None]
    assert [x for x in kept if x.fitness is None] == infeasible[::-1][: max(0, count - len(rank))]


@given(st.data(), st.integers(1, 10), st.integers(1, 10))
def test_of_a_front_the_least_crowded_go_on(data: st.DataObject, size: int, count: int) -> None:
    numbers = st.sets(st.integers(0, 50), min_size=size, max_size=size).map(sorted)
    latencies, energies = data.draw(numbers), data.draw(numbers)[::-1]
    rows = zip(latencies, energies, strict=True)
    front = [individual((i,), *row) for i, row in enumerate(rows)]
    kept = select_survivors(data.draw(st.permutations(front)), (LATENCY, ENERGY), count)
    distances = dict(zip(front, crowding(latencies, energies), strict=True))
    outside = [distances[x] for x in front if x not in kept]
    assert min(distances[x] for x in kept) >= max(outside, default=0) - 1e-12


def crowding(rising: list[int], falling: list[int]) -> list[float]:
    """How far apart the neighbours of each are, in shares of the whole width."""
    wide = max(1, rising[-1] - rising[0]), max(1, falling[0] - falling[-1])
    inner = range(1, len(rising) - 1)
    between = [
        (rising[i + 1] - rising[i - 1]) / wide[0] + (falling[i - 1] - falling[i + 1]) / wide[1]
        for i in inner
    ]
    return [float("inf"), *between, float("inf")][: len(rising)]


def test_infeasible_ones_cost_infinitely_much() -> None:
    assert costs_of(individual((0,)), (LATENCY, ENERGY)) == (float("inf"),) * 2
    assert costs_of(individual((0,), 3, 4, 5), ALL) == (3.0, 4.0, 12.0, 5.0)


def test_the_process_wide_random_numbers_are_left_alone() -> None:
    import random  # noqa: PLC0415 (only to look at its state)

    before = random.getstate()
    many = [individual((i,), i % 5, (i * 7) % 11) for i in range(40)]
    _ = select_survivors(many, (LATENCY, ENERGY), 7)
    _ = pareto_front(many, (LATENCY, ENERGY))
    assert random.getstate() == before
