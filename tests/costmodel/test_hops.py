"""Words that units hand on: counted by the simulator, and nothing else changes."""

from math import ceil

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.costmodel.reprice import reprice
from nestmap.model import CostModelEvaluation, MappingType
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered
from tests.costmodel.test_busy_ports import strict
from tests.costmodel.test_sliding import windows, with_reuse
from tests.properties.variants import examples, with_accelerator
from tests.simulator import simulate
from tests.strategies import Case, evaluated_cases, subsets
from tests.sweeps import some_of
from tests.tiny_cases import BITS, tiny_cases
from tests.zeros import with_zeros

BANDWIDTHS = st.integers(1, 64)


def with_hops(case: Case, hop_energy: float) -> Case:
    """The case on an array that spends energy on hops."""
    accelerator = case.spatial.accelerator
    array = copy_with(accelerator.array, {"hop_energy": hop_energy})
    spatial = with_accelerator(case.spatial, copy_with(accelerator, {"array": array}))
    return Case(spatial, case.temporal)


def limited(case: Case, bandwidth: int | None) -> Case:
    """The case on an array whose units hand on at most so many bits of an operand a cycle."""
    accelerator = case.spatial.accelerator
    array = copy_with(accelerator.array, {"hop_bandwidth": bandwidth})
    spatial = with_accelerator(case.spatial, copy_with(accelerator, {"array": array}))
    return Case(spatial, case.temporal)


def busy_links(case: Case, bandwidth: int) -> dict[tuple[str, int], int]:
    """The cycles of the busiest link of each operand and level, counted pair by pair."""
    traffic = simulate(case.spatial, case.temporal)
    return {
        site: max(
            sum(ceil(words * BITS / bandwidth) for words in steps) for steps in pairs.values()
        )
        for site, pairs in traffic.hops.items()
        if pairs
    }


def found_links(cme: CostModelEvaluation) -> dict[tuple[str, int], int]:
    """The same, as the cost model says."""
    return {(hop.operand, hop.level): hop.busy for hop in cme.hop_stalls}


def costs(case: Case) -> CostModelEvaluation:
    """The evaluation of the case."""
    return evaluate(case.spatial, case.temporal)


@settings(max_examples=some_of(300), deadline=None)
@given(tiny_cases())
def test_hops_are_those_of_the_simulator(case: Case) -> None:
    hops = sum(simulate(case.spatial, case.temporal).handed_on.values())
    assert costs(with_hops(case, 0.25)).hop_energy == hops * BITS * 0.25


@settings(max_examples=some_of(100), deadline=None)
@given(windows(), subsets(("m0", "m1")))
def test_so_are_those_of_windows_that_slide(case: Case, names: tuple[str, ...]) -> None:
    steps = {index.steps[-1] for index in case.spatial.layer.operand("I").indices}
    assume(steps == {1})  # tiles are exact without dilation
    reuse = with_reuse(case, names)
    hops = sum(simulate(reuse.spatial, reuse.temporal).handed_on.values())
    assert costs(with_hops(reuse, 0.25)).hop_energy == hops * BITS * 0.25


@settings(max_examples=some_of(300), deadline=None)
@given(tiny_cases(), BANDWIDTHS)
def test_links_are_busy_as_those_of_the_simulator(case: Case, bandwidth: int) -> None:
    assert found_links(costs(limited(case, bandwidth))) == busy_links(case, bandwidth)


@settings(max_examples=some_of(100), deadline=None)
@given(windows(), subsets(("m0", "m1")), BANDWIDTHS)
def test_so_are_those_of_windows(case: Case, names: tuple[str, ...], bandwidth: int) -> None:
    steps = {index.steps[-1] for index in case.spatial.layer.operand("I").indices}
    assume(steps == {1})
    reuse = with_reuse(case, names)
    assert found_links(costs(limited(reuse, bandwidth))) == busy_links(reuse, bandwidth)


@settings(max_examples=some_of(400), deadline=None)
@given(evaluated_cases(2**12), BANDWIDTHS, st.booleans())
def test_latency_is_at_least_what_each_link_is_busy(
    case: Case, bandwidth: int, is_strict: bool
) -> None:
    case = strict(case) if is_strict else case
    before, after = costs(case), costs(limited(case, bandwidth))
    least = max(before.latency, *(hop.busy for hop in after.hop_stalls), 0)
    assert least <= after.latency < least + 1
    stalls = [*(x.stall for x in after.port_stalls), *(x.stall for x in after.hop_stalls)]
    assert after.stall == max(0, *stalls)
    assert after.dynamic_energy == before.dynamic_energy
    assert after.port_stalls == before.port_stalls
    bounds = lower_bounds(limited(case, bandwidth).spatial)
    assert bounds.latency <= after.latency
    assert bounds.energy <= after.energy * (1 + 1e-12)
    if least == before.latency:
        assert copy_with(after, {"hop_stalls": ()}) == before


@examples
@given(evaluated_cases(2**12), BANDWIDTHS, BANDWIDTHS)
def test_more_bandwidth_never_takes_longer(case: Case, one: int, other: int) -> None:
    slow, fast = (costs(limited(case, x)) for x in (min(one, other), max(one, other)))
    plain = costs(case)
    assert slow.latency >= fast.latency >= plain.latency
    assert costs(limited(case, None)) == plain
    assert copy_with(costs(limited(case, 2**31 - 1)), {"hop_stalls": ()}) == plain


@examples
@given(evaluated_cases(2**12), BANDWIDTHS)
def test_rows_of_a_batch_are_those_of_single_mappings(case: Case, bandwidth: int) -> None:
    spatial = limited(case, bandwidth).spatial
    for mappings in loma(spatial, 4, MappingType.UNEVEN):
        batch = evaluate_batch(mappings)
        single = [evaluate(spatial, mappings.row(i)).latency for i in range(len(batch))]
        assert batch.latency2.tolist() == single


@examples
@given(evaluated_cases(2**12), st.floats(0, 100))
def test_only_the_energy_of_the_array_changes(case: Case, hop_energy: float) -> None:
    plain, found = costs(case), costs(with_hops(case, hop_energy))
    assert (plain.hop_energy, costs(with_hops(case, 0.0))) == (0.0, plain)
    assert found.hop_energy >= 0
    expected: dict[str, object] = {
        "hop_energy": found.hop_energy,
        "mac_energy": plain.mac_energy + found.hop_energy,
    }
    assert found == copy_with(plain, expected)


SPATIAL = mapped(
    matmul(k=8, c=6, b=2),
    machine(
        memory("rf", size=64, operands="I2"),
        memory("dram", served="D1 D2"),
        sides={"D1": 2, "D2": 3},
    ),
    {"D1": "K 2", "D2": "C 3"},
)
CASE = Case(SPATIAL, ordered("B 2 C 2 K 4", {"O": (3,), "W": (1, 3), "I": (3,)}))


def test_a_case_by_hand() -> None:
    # Two units of D1 share each input: 16 times 3 inputs of 8 bit go one hop. Three units of D2 add
    # to a sum: 16 times 2 sums of 16 bit go two hops. Weights are different everywhere.
    assert costs(with_hops(CASE, 0.5)).hop_energy == (16 * 3 * 1 * 8 + 16 * 2 * 2 * 16) * 0.5


def test_links_of_a_case_by_hand() -> None:
    # in each of 16 cycles a link hands on a sum of 16 bit or an input of 8 bit, bit by bit
    found = costs(limited(CASE, 1))
    assert found_links(found) == {("O", 0): 16 * 16, ("I", 0): 16 * 8}
    assert found.latency == 256
    assert [(hop.operand, hop.stall == found.stall) for hop in found.hop_stalls] == [
        ("O", True),
        ("I", False),
    ]
    assert costs(limited(CASE, 16)) != costs(CASE)
    assert costs(limited(CASE, 16)).latency == costs(CASE).latency


def test_words_of_gated_operations_do_not_hop() -> None:
    gated = Case(with_zeros(SPATIAL, {"I": 0.5}, gating=("I1",)), CASE.temporal)
    whole, rest = (costs(with_hops(x, 0.5)).hop_energy for x in (CASE, gated))
    assert 0 < rest < whole


def test_other_energies_leave_the_hops() -> None:
    case = with_hops(CASE, 0.5)
    array = copy_with(case.spatial.accelerator.array, {"unit_energy": 0.3})
    after = copy_with(case.spatial.accelerator, {"array": array})
    expected = evaluate(with_accelerator(case.spatial, after), case.temporal)
    assert reprice(costs(case), case.spatial.accelerator, after) == expected
