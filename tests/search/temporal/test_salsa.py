"""SALSA: what is visited obeys all rules, and nothing depends on the number of workers."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate_batch, factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import (
    EvaluationBatch,
    InputError,
    LayerConstraints,
    Loop,
    MappingType,
    Objective,
    OrderedLoop,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.stages.mapping.salsa import SalsaStage
from nestmap.search import best_of, loma
from nestmap.search.temporal.loma import feasible_orders
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows
from nestmap.search.temporal.permutations import count_permutations
from nestmap.search.temporal.salsa import START_LIMIT, Annealing, salsa
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.properties.variants import examples, few_examples
from tests.strategies import spatial_problems

objectives = st.sampled_from(Objective)
mapping_types = st.sampled_from(MappingType)
UNEVEN = MappingType.UNEVEN

SHORT = Annealing(chains=3, iterations=4, seed=7)
"""So few orders that most problems have more."""

ROOMY = machine(memory("top", served="D1"))
"""A machine on which everything fits."""

BUFFERED = machine(
    memory("w", size=8 * 4, operands="I2", served="D1"),
    memory("middle", size=8 * 64, served="D1"),
    memory("top", served="D1"),
)
LARGE = mapped(matmul(k=2**4, c=2**3 * 3, b=2**2 * 5), BUFFERED)
"""11 prime factors in 277,200 orders."""


def search(
    spatial: SpatialProblem,
    annealing: Annealing = SHORT,
    objective: Objective = Objective.EDP,
    workers: int = 1,
) -> list[EvaluationBatch]:
    return list(salsa(spatial, objective, annealing, UNEVEN, workers))


def chains(batches: list[EvaluationBatch], annealing: Annealing) -> list[EvaluationBatch]:
    """The batches of the chains: those before the last one, which only counts failures."""
    return batches[-1 - annealing.chains : -1]


def orders(batch: EvaluationBatch) -> list[tuple[Loop, ...]]:
    return [batch.mappings.row(row).order for row in range(len(batch))]


def seen(batches: Sequence[EvaluationBatch]) -> int:
    """Orders looked at, whether they fit or not."""
    return sum(
        batch.statistics.evaluations + sum(entry.count for entry in batch.statistics.infeasible)
        for batch in batches
    )


def texts(order: Sequence[Loop]) -> list[str]:
    return sorted(map(str, order))


def same(one: list[EvaluationBatch], other: list[EvaluationBatch]) -> bool:
    return len(one) == len(other) and all(
        a.mappings.factors == b.mappings.factors
        and a.statistics == b.statistics
        and np.array_equal(a.mappings.orders, b.mappings.orders)
        and np.array_equal(a.mappings.cuts, b.mappings.cuts)
        and np.array_equal(a.energy, b.energy)
        and np.array_equal(a.latency2, b.latency2)
        for a, b in zip(one, other, strict=True)
    )


@examples
@given(spatial_problems(2**12), objectives, mapping_types)
def test_every_order_is_counted_and_is_a_permutation_of_the_factors(
    spatial: SpatialProblem, objective: Objective, mapping_type: MappingType
) -> None:
    batches = list(salsa(spatial, objective, SHORT, mapping_type, 1))
    primes, coarse = loop_factors(spatial, None), loop_factors(spatial, START_LIMIT)
    looked_at = min(count_permutations(primes), SHORT.budget)
    if primes == coarse:
        looked_at = count_permutations(primes)
    else:
        looked_at += count_permutations(coarse)
    assert seen(batches) == looked_at
    for batch in batches:
        assert batch.statistics.evaluations == len(batch)
        assert all(texts(order) in (texts(primes), texts(coarse)) for order in orders(batch))


@examples
@given(spatial_problems(2**12), objectives, mapping_types)
def test_allocations_and_costs_are_those_of_the_batch_functions(
    spatial: SpatialProblem, objective: Objective, mapping_type: MappingType
) -> None:
    for batch in salsa(spatial, objective, SHORT, mapping_type, 1):
        again, mappings = evaluate_batch(batch.mappings), batch.mappings
        for column in ("energy", "latency0", "latency1", "latency2"):
            assert np.array_equal(getattr(batch, column), getattr(again, column))
        assert batch.ideal_cycles == again.ideal_cycles
        kept, cuts = allocate_rows(
            flatten(spatial),
            factor_table(spatial, mappings.factors),
            mappings.orders.copy(),
            mapping_type is MappingType.EVEN,
            new_record(Failures),
        )
        assert np.array_equal(kept, mappings.orders)
        assert np.array_equal(cuts, mappings.cuts)


@few_examples
@given(spatial_problems(2**12), objectives, st.integers(0, 2**70))
def test_a_seed_gives_one_result_whatever_the_number_of_workers(
    spatial: SpatialProblem, objective: Objective, seed: int
) -> None:
    annealing = Annealing(chains=5, iterations=3, seed=seed)
    one, two, four = (search(spatial, annealing, objective, workers) for workers in (1, 2, 4))
    assert same(one, two)
    assert same(one, four)


def test_seeds_and_chains_differ() -> None:
    found = [
        orders(batch)
        for seed in (0, 1, 2**32)
        for batch in chains(search(LARGE, Annealing(chains=3, iterations=20, seed=seed)), SHORT)
    ]
    assert len({tuple(order) for order in found}) == 9


def test_more_chains_keep_those_that_were_there() -> None:
    few, many = (Annealing(chains=n, iterations=9) for n in (2, 4))
    assert same(chains(search(LARGE, few), few), chains(search(LARGE, many), many)[:2])


@pytest.mark.parametrize("chains", [1, 6 * 20])
def test_six_factors_or_fewer_are_tried_in_all_orders(chains: int) -> None:
    spatial = mapped(matmul(k=2**3, c=2**2 * 3), BUFFERED)  # 60 orders
    everything = [evaluate_batch(batch) for batch in loma(spatial, None, UNEVEN)]
    assert same(search(spatial, Annealing(chains=chains, iterations=1)), everything)


def test_a_small_space_is_searched_completely() -> None:
    spatial = mapped(matmul(k=2**4, c=2**3), BUFFERED)  # 60 orders of 6 factors, 35 of 7
    coarse = feasible_orders(spatial, START_LIMIT, UNEVEN)  # only the last batch has bounds
    batches = (*coarse, *loma(spatial, None, UNEVEN))
    everything = [evaluate_batch(batch) for batch in batches]
    assert seen(everything) == 60 + 35
    assert same(search(spatial, Annealing(chains=5, iterations=7)), everything)
    assert not same(search(spatial, Annealing(chains=17, iterations=2)), everything)


def test_a_layer_without_loops_is_one_order() -> None:
    spatial = mapped(matmul(k=1, c=1), ROOMY)
    batches = search(spatial, Annealing(chains=1, iterations=1))
    assert [orders(batch) for batch in batches if len(batch)] == [[loops("B 1")]]


@pytest.mark.parametrize("objective", Objective)
def test_the_first_chain_starts_at_the_best_of_loma_cut_into_primes(objective: Objective) -> None:
    batches = search(LARGE, objective=objective)
    best = best_of(map(evaluate_batch, loma(LARGE, START_LIMIT, UNEVEN)), objective)
    (order,) = orders(best)
    start = orders(chains(batches, SHORT)[0])[0]
    merged: list[Loop] = []
    for loop in order:
        size, taken = 1, 0
        while size < loop.size:
            assert start[taken].dimension == loop.dimension
            size *= start[taken].size
            taken += 1
        start = start[taken:]
        merged.append(Loop(dimension=loop.dimension, size=size))
    assert tuple(merged) == order
    assert start == ()
    assert best_of(batches, objective).values(objective)[0] <= best.values(objective)[0]


def distance(one: tuple[Loop, ...], other: tuple[Loop, ...]) -> int:
    """Positions at which two orders differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def test_a_hot_chain_takes_every_swap() -> None:
    hot = Annealing(chains=2, iterations=200, start_temperature=1e9, cooling=1.0)
    for batch in chains(search(LARGE, hot), hot):
        visited = orders(batch)
        assert all(distance(a, b) == 2 for a, b in pairwise(visited))
        assert len({order for order in visited}) > 150


@pytest.mark.parametrize("objective", Objective)
def test_a_cold_chain_only_goes_down(objective: Objective) -> None:
    cold = Annealing(chains=2, iterations=200, start_temperature=0.0)
    for batch in chains(search(LARGE, cold, objective), cold):
        visited, values = orders(batch), batch.values(objective)
        current = 0
        for row in range(1, len(visited)):
            assert distance(visited[current], visited[row]) == 2
            if values[row] <= values[current]:
                current = row


def test_a_chain_cools_down() -> None:
    steps = 400
    quick = Annealing(chains=1, iterations=steps, start_temperature=1e9, cooling=1e-6)
    (batch,) = chains(search(LARGE, quick, Objective.ENERGY), quick)
    visited, values = orders(batch), batch.energy
    assert values[1] > values[0]  # taken while it is hot, else the next one is no neighbour of it
    current = 1
    for row in range(2, steps):
        assert distance(visited[current], visited[row]) == 2
        if values[row] <= values[current]:
            current = row


def with_ordering(spatial: SpatialProblem, inner: str, outer: str = "") -> SpatialProblem:
    """A temporal ordering, innermost first: ``K 2 C *``."""
    updates: dict[str, object] = {"temporal_ordering": items(inner), "outer_ordering": items(outer)}
    constraints = copy_with(LayerConstraints(), updates)
    return copy_with(spatial, {"problem": copy_with(spatial.problem, {"constraints": constraints})})


def items(text: str) -> tuple[OrderedLoop, ...]:
    words = text.split()
    return tuple(
        OrderedLoop(dimension=d, size=None if n == "*" else int(n))
        for d, n in zip(words[::2], words[1::2], strict=True)
    )


def is_met(order: tuple[Loop, ...], pinned: tuple[OrderedLoop, ...]) -> bool:
    return all(
        loop.dimension == item.dimension and item.size in (None, loop.size)
        for loop, item in zip(order, pinned, strict=False)
    )


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("K 4", ""),  # a loop that is no prime
        ("C 3 K 2", ""),
        ("", "B 10"),
        ("C *", "B * K 4"),  # C 2 or C 3, B 2 or B 5
        ("C * C * C * C *", "B * B *"),
    ],
)
def test_temporal_orderings_hold(inner: str, outer: str) -> None:
    spatial = with_ordering(LARGE, inner, outer)
    annealing = Annealing(chains=8, iterations=30)
    batches = search(spatial, annealing)
    annealed = [order for batch in chains(batches, annealing) for order in orders(batch)]
    assert len(set(annealed)) > 30
    for order in [order for batch in batches for order in orders(batch)]:
        assert is_met(order, items(inner))
        assert is_met(order[::-1], items(outer)[::-1])


def test_each_way_to_meet_an_ordering_has_a_chain() -> None:
    spatial = with_ordering(LARGE, "C *", "B *")
    batches = search(spatial, Annealing(chains=1, iterations=5))
    ends = {(str(order[0]), str(order[-1])) for batch in batches[-5:] for order in orders(batch)}
    assert ends == {("C 2", "B 2"), ("C 2", "B 5"), ("C 3", "B 2"), ("C 3", "B 5")}


def test_ways_that_leave_nothing_free_are_each_looked_at_once() -> None:
    spatial = with_ordering(mapped(matmul(k=1, c=6), ROOMY), "C * C *")
    batches = search(spatial, Annealing(chains=1, iterations=1))
    annealed = [order for batch in batches[-3:] for order in orders(batch)]
    assert annealed == [loops("C 2 C 3"), loops("C 3 C 2")]


def test_orderings_that_only_primes_can_meet_are_annealed() -> None:
    spatial = with_ordering(mapped(matmul(k=2**8, c=2**8, b=2**8), ROOMY), "K * " * 5)
    batches = search(spatial)
    assert [len(batch) for batch in batches] == [4, 4, 4, 0]


def test_orderings_that_cannot_hold_are_wrong_input() -> None:
    with pytest.raises(InputError) as caught:
        search(with_ordering(LARGE, "C 7"))
    assert caught.value.where == "temporal_ordering for layer layer"


def test_where_nothing_fits_every_order_is_counted() -> None:
    small = memory("small", size=7, operands="I2", served="D1")
    spatial = mapped(LARGE.layer, machine(small, memory("top", served="D1")))
    batches = search(spatial)
    assert sum(map(len, batches)) == 0
    (entry,) = batches[-1].statistics.infeasible
    assert entry.reason == "small too small for W: needs at least 8 bit, has 7"
    assert entry.count == SHORT.budget


def test_failures_of_all_chains_are_added_and_the_least_need_is_told() -> None:
    spatial = mapped(LARGE.layer, TIGHT)
    annealing = Annealing(chains=4, iterations=50)
    batches = search(spatial, annealing)
    alone = [search(spatial, copy_with(annealing, {"chains": n})) for n in (1, 2, 3, 4)]
    counts = [sum(x.count for x in found[-1].statistics.infeasible) for found in alone]
    evaluated = sum(map(len, chains(batches, annealing)))
    assert 0 < evaluated == annealing.budget - counts[-1]
    assert counts == sorted(set(counts))
    (entry,) = batches[-1].statistics.infeasible
    assert "needs at least 24 bit, has 16" in entry.reason


TIGHT = machine(
    memory("tiny", size=8 * 2, operands="I2", served="D1"),
    memory("middle", size=8 * 2, operands="I2 I1", served="D1"),
    memory("top", served="D1"),
)
"""One order of LARGE in 16 fits."""


def test_a_chain_walks_until_something_fits() -> None:
    # from an order that does not fit every swap is taken, and then none to such an order again
    spatial = mapped(LARGE.layer, TIGHT)
    annealing = Annealing(chains=6, iterations=400, start_temperature=0.0)
    batches = chains(search(spatial, annealing), annealing)
    for batch in batches:
        assert 0 < len(batch) < annealing.iterations
        values, visited, current = batch.values(Objective.EDP), orders(batch), 0
        for row in range(1, len(visited)):
            assert distance(visited[current], visited[row]) == 2
            if values[row] <= values[current]:
                current = row


@pytest.mark.parametrize(
    "wrong",
    [
        {"chains": 0},
        {"iterations": 0},
        {"start_temperature": -0.1},
        {"start_temperature": float("inf")},
        {"cooling": 0.0},
        {"cooling": 1.1},
        {"seed": -1},
    ],
)
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        copy_with(Annealing(), dict(wrong))
    with pytest.raises(ValidationError):
        copy_with(SalsaStage(), dict(wrong))


def test_the_stage_is_the_search() -> None:
    stage = SalsaStage(
        objective=Objective.EDP, chains=3, iterations=4, seed=7, mapping_type=UNEVEN, workers=2
    )
    assert same(list(stage(LARGE)), search(LARGE))
    even = SalsaStage(objective=Objective.EDP, chains=3, iterations=4, seed=7).mapping_type
    assert even is UNEVEN
