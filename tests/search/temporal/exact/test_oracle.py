"""Brute force itself: that it looks at everything once, and at problems that have everything."""

from collections import Counter
from math import prod

import pytest
from hypothesis import given

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import MappingBatch, MappingType, Objective, Relevance, SpatialProblem
from nestmap.search import loma
from nestmap.search.temporal.loop_factors import loop_factors
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.properties.variants import few_examples
from tests.search.temporal.exact.oracle import (
    all_mappings,
    are_even,
    count_mappings,
    inner_levels,
    least,
    pareto,
    truth,
)
from tests.search.temporal.exact.problems import Kind, Small, seeded_problem, small_problems
from tests.search.temporal.orderings import with_ordering
from tests.search.temporal.test_memory_allocation import is_even

UNEVEN = MappingType.UNEVEN
BUFFERED = machine(memory("w", size=8 * 3, operands="I2", served="D1"), memory("top", served="D1"))
PRODUCT = mapped(matmul(k=4, c=3), BUFFERED)


def test_every_order_is_there_with_every_cut() -> None:
    # K 2 K 2 C 3 in three orders, weights cut at 0 to 3
    mappings = [batch.row(row) for batch in all_mappings(PRODUCT) for row in range(len(batch))]
    assert len(set(mappings)) == len(mappings) == count_mappings(PRODUCT) == 3 * 4
    assert {" ".join(map(str, x.order)) for x in mappings} == {
        "K 2 K 2 C 3",
        "K 2 C 3 K 2",
        "C 3 K 2 K 2",
    }
    assert {x.cuts_of("W") for x in mappings} == {(n, 3) for n in range(4)}


def test_only_what_fits_counts() -> None:
    # 3 weights: cuts at 0 and 1 fit everywhere
    found = truth(PRODUCT, UNEVEN)
    assert (found.rows, found.fitting) == (12, 6)


def test_nothing_fits() -> None:
    tiny = memory("w", size=7, operands="I2", served="D1")
    found = truth(mapped(matmul(k=4, c=3), machine(tiny, memory("top", served="D1"))), UNEVEN)
    assert (found.fitting, found.optima, found.front) == (0, {}, frozenset())


@pytest.mark.parametrize(
    ("ordering", "orders"),
    [
        ("K *", {"K 2 K 2 C 3", "K 2 C 3 K 2"}),
        ("K 4", {"K 4 C 3"}),
        ("| K 4", {"C 3 K 4"}),
        ("K 2 | C 3", {"K 2 K 2 C 3"}),
    ],
)
def test_orders_meet_the_user_s(ordering: str, orders: set[str]) -> None:
    batches = list(all_mappings(with_ordering(PRODUCT, ordering)))
    found = [" ".join(map(str, x.row(i).order)) for x in batches for i in range(len(x))]
    assert set(found) == orders


def test_pinned_levels_leave_one_mapping() -> None:
    levels = {"O": {"top": 2}, "I": {"top": 2}, "W": {"w": 1, "top": 2}}
    spatial = with_ordering(PRODUCT, "C 3 K 4", levels)
    (batch,) = all_mappings(spatial)
    (mapping,) = (batch.row(row) for row in range(len(batch)))
    assert (" ".join(map(str, mapping.order)), mapping.cuts_of("W")) == ("C 3 K 4", (1, 2))
    assert (truth(spatial, UNEVEN).fitting, count_mappings(spatial)) == (1, 1)


def test_the_front_has_no_dominated_point() -> None:
    assert pareto({(1.0, 5.0), (1.0, 4.0), (2.0, 4.0), (2.0, 3.0)}) == {(1.0, 4.0), (2.0, 3.0)}


@few_examples
@given(small_problems(most=4000))
def test_rows_are_distinct_and_counted(small: Small) -> None:
    rows = [row for batch in all_mappings(small.spatial) for row in keys(batch)]
    assert len(set(rows)) == len(rows) == count_mappings(small.spatial)


def keys(batch: MappingBatch) -> list[tuple[str, bytes]]:
    return [
        (str([batch.factors[int(code)] for code in order]), cuts.tobytes())
        for order, cuts in zip(batch.orders, batch.cuts, strict=True)
    ]


@few_examples
@given(small_problems(most=2000))
def test_rows_are_even_by_the_rule_of_the_memory_allocation(small: Small) -> None:
    for batch in all_mappings(small.spatial):
        rows = range(len(batch))
        assert are_even(batch).tolist() == [is_even_everywhere(batch, i) for i in rows]


def is_even_everywhere(batch: MappingBatch, row: int) -> bool:
    """Whether the cuts are even in all memories, by the rule of the memory allocation's tests."""
    spatial, mapping = batch.problem, batch.row(row)
    for level in spatial.accelerator.memories:
        starts, ends = list[int](), list[int]()
        for operand in spatial.layer.operands:
            memories, cuts = spatial.problem.levels(operand.name), mapping.cuts_of(operand.name)
            if level in memories:
                place = memories.index(level)
                starts.append((0, *cuts)[place])
                ends.append(cuts[place])
        if not is_even(starts, ends):
            return False
    return True


@few_examples
@given(small_problems())
def test_loma_finds_nothing_better_with_any_factors(small: Small) -> None:
    """Larger loop factors are primes that stand together: they cost the same.

    Where the user orders a loop of any size, it is a prime here, and may be a larger factor there.
    """
    found = truth(small.spatial, small.mapping_type)
    constraints = small.spatial.problem.constraints
    ordered = (*constraints.temporal_ordering, *constraints.outer_ordering)
    is_free = any(loop.size is None for loop in ordered)
    for limit in (None,) if is_free else (2, 3, None):
        for batch in map(evaluate_batch, loma(small.spatial, limit, small.mapping_type)):
            assert not len(batch) or found.fitting
            for objective, optimum in found.optima.items():
                assert least(batch, objective) >= optimum * (1 - 1e-12)


def test_problems_have_everything() -> None:
    """Whatever the exact search could get wrong occurs in several of the first problems."""
    seen = Counter[str]()
    for kind in Kind:
        for seed in range(40):
            small = seeded_problem(kind, seed)
            seen.update(machine_features(small.spatial) | layer_features(small.spatial))
            seen.update(space_features(small))
    assert {name: n for name, n in seen.items() if n < 8} == {}


def machine_features(spatial: SpatialProblem) -> dict[str, bool]:
    """What the memories and the array have."""
    array, memories = spatial.accelerator.array, spatial.accelerator.memories
    ports = [port for level in memories for port in level.instance.ports]
    inner = [level for level in memories if level.instance.size < 2**30]
    units = {name for name in array.sizes if unrolled(spatial, name) > 1}
    return {
        "shared by two": any(len(level.operands) == 2 for level in inner),
        "shared by three": any(len(level.operands) == 3 for level in inner),
        "bypassed": len(set(inner_levels(spatial))) > 1,
        "three levels": max(inner_levels(spatial)) == 2,
        "one level": min(inner_levels(spatial)) == 0,
        "one for each unit": any(units - set(level.served_dimensions) for level in memories),
        "serves units": any(units & set(level.served_dimensions) for level in inner),
        "double-buffered": any(level.instance.double_buffered for level in inner),
        "shared port": any(len({use.operand for use in port.allocation}) > 1 for port in ports),
        "narrow transfers": any(port.width_min < port.width_max for port in ports),
        "systolic": bool(units & set(array.systolic_dimensions)),
        "reads inputs again": not array.holds_inputs,
        "broken cycles": array.operation_cycles % 1 > 0,
        "leaks": spatial.accelerator.counts_leakage,
        "computes in memory": array.imc is not None,
    }


def unrolled(spatial: SpatialProblem, side: str) -> int:
    """The units of an array dimension that are in use."""
    return prod(loop.size for loop in spatial.spatial_mapping.on(side))


def layer_features(spatial: SpatialProblem) -> dict[str, bool]:
    """What the layer has, and its unrolling."""
    layer, mapping = spatial.layer, spatial.spatial_mapping
    loops = {x.dimension for side in mapping.unrollings for x in side.loops if x.size > 1}
    output, iterating = layer.output.name, {x.dimension for x in loop_factors(spatial, None)}
    kinds = {layer.relevance(x.name, d) for x in layer.operands for d in iterating}
    return {
        "ragged": any(layer.sizes[d] % mapping.factor_of(d) for d in loops),
        "reduces over units": any(
            layer.relevance(output, d) is Relevance.IRRELEVANT for d in loops
        ),
        "partially relevant": Relevance.PARTIALLY_RELEVANT in kinds,
        "one input": len(layer.inputs) == 1,
        "wide partial sums": layer.output.partial_precision > layer.output.precision,
        "one bit": any(x.precision == 1 for x in layer.operands),
        "six factors": len(loop_factors(spatial, None)) == 6,
    }


def space_features(small: Small) -> dict[str, bool]:
    """What brute force finds."""
    found = truth(small.spatial, small.mapping_type)
    ideal = prod(small.spatial.temporal_sizes.values())
    return {
        "infeasible": not found.fitting,
        "tight": 0 < found.fitting < found.rows / 2,
        "a front": len(found.front) > 1,
        "stalls": found.optima.get(Objective.LATENCY, 0.0) > 2 * ideal,
        "objectives differ": bool(found.optima)
        and (found.optima[Objective.ENERGY], found.optima[Objective.LATENCY]) not in found.front,
    }
