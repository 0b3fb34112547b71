"""Schedules that are small enough to be reckoned with by hand."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import InfeasibleError
from nestmap.model.multicore.schedule import CandidateRule, Schedule, TransferKind
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.search.multicore.schedule.checker import violations
from tests.search.multicore.schedule.lines import Costing, Row, core, line, machine, problem
from tests.search.multicore.schedule.machines import Costs, resized
from tests.search.multicore.schedule.replay import ints

NARROW = Costs(1, 0.0, 0.0)


def checked(made: Schedule) -> Schedule:
    """The schedule, once the checker accepts it."""
    assert not violations(made)
    return made


def times(made: Schedule) -> list[tuple[int, int]]:
    """When each node runs."""
    return list(zip(ints(made.start), ints(made.end), strict=True))


def sent(made: Schedule) -> list[tuple[str, int, int]]:
    """What is sent: why, from when to when."""
    rows = zip(made.transfers.kind, made.transfers.start, made.transfers.end, strict=True)
    return [(TransferKind(kind).name, int(start), int(end)) for kind, start, end in rows]


@pytest.mark.parametrize("rule", CandidateRule)
@pytest.mark.parametrize("prefetch", [(), ("W",)])
def test_one_node(rule: CandidateRule, prefetch: tuple[str, ...]) -> None:
    """Weights of 64 bits and rows of 32 over 8 bit/cycle, 10 cycles, a result of 16 bits."""
    nodes = line([Row(16, 64)], image=32)
    made = checked(schedule(problem(nodes, machine(core(0)), rule=rule, prefetch=prefetch), (0,)))
    assert times(made) == [(12, 22)]
    assert made.latency == 24
    assert sorted(sent(made))[-1] == ("RESULT", 22, 24)
    energy = made.energy  # wires: 0.5 pJ a bit, 2 pJ a cycle; 8 bits read 2 pJ and written 3 pJ
    assert energy.computation == 5.0
    assert energy.constant_links == 96 * 0.5 + 12 * 2.0
    assert energy.constant_memory == 12 * 5.0
    assert energy.result_links == 16 * 0.5 + 2 * 2.0
    assert energy.result_memory == 2 * 5.0
    assert energy.total == 5.0 + 72.0 + 60.0 + 12.0 + 10.0


def test_weights_arrive_while_the_node_before_runs() -> None:
    made = checked(
        schedule(problem(line([Row(16, 64), Row(24, 32)], image=32), machine(core(0))), (0, 0))
    )
    assert times(made) == [(12, 22), (22, 32)]
    assert made.latency == 32 + 3


def test_weights_wait_for_room() -> None:
    """Of 112 bits the first node takes 64 + 32 + 16; the second one needs 16 + 32 + 24."""
    small = machine(core(0, 64 + 32 + 16))
    made = checked(schedule(problem(line([Row(16, 64), Row(24, 32)], image=32), small), (0, 0)))
    assert times(made) == [(12, 22), (26, 36)]
    assert made.latency == 36 + 3


def test_what_is_in_the_way_is_evicted_and_sent_again() -> None:
    """Row 1 of the first layer is made while row 0 waits, where only one of them has room."""
    nodes = line([Row(64, 8), Row(8, 160)], rows=2, image=8)
    made = checked(schedule(problem(nodes, machine(core(0, 64 + 8 + 160))), (0, 0)))
    assert times(made)[0][0] == 2
    assert len(times(made)) == 4


def test_what_its_own_core_will_read_stays() -> None:
    """Row 1 of the first layer needs room: 64 bits that are read once stay, 16 read twice leave."""
    nodes = line([Row(64, 8), Row(8, 16)], rows=2, image=8)
    small = machine(core(0, 8 + 16 + 64 + 8 + 64 - 1))
    made = checked(schedule(problem(nodes, small, prefetch=("W",)), (0, 0)))
    assert "EVICTION" not in {kind for kind, _, _ in sent(made)}
    assert [kind for kind, _, _ in sent(made)].count("CONSTANT") == 2 + 2 + 1


def test_a_row_is_passed_on() -> None:
    """Rows of 16 bits over 4 bit/cycle: 4 cycles from core 0 to core 1."""
    two = machine(core(0), core(1), between=Costs(4, 1.0, 0.0))
    made = checked(schedule(problem(line([Row(16), Row(8)], rows=2), two), (0, 1)))
    assert times(made) == [(1, 11), (11, 21), (15, 25), (25, 35)]
    assert made.latency == 36
    assert made.energy.activation_links == 2 * 16
    assert made.energy.eviction_links == 0


def test_a_row_is_passed_on_through_the_memory_off_the_chip() -> None:
    """Where no wire joins the cores: 2 cycles out, 2 cycles back."""
    made = checked(schedule(problem(line([Row(16), Row(8)]), machine(core(0), core(1))), (0, 1)))
    (start, end), (after, _) = times(made)
    assert (start, end) == (1, 11)
    assert after >= 11 + 2


def test_a_stream_takes_the_wire() -> None:
    """Rows are streamed while the node runs; the second node's weights wait for it."""
    streaming = Costing(offchip=3.0, streamed=3, rates=(2, 3))
    made = checked(
        schedule(problem(line([Row(16, 64), Row(24, 32)]), machine(core(0)), streaming), (0, 0))
    )
    assert times(made)[0] == (8, 18)
    assert times(made)[1] in ((22, 32), (18, 28), (12, 22))
    assert made.energy.streaming == 6.0
    assert made.energy.streaming_links == 2 * (10 * (2 + 3) * 0.5 + 2 * 10 * 2.0)


@st.composite
def layers(draw: st.DrawFn) -> list[Row]:
    """Layers in a line."""
    bits = st.integers(1, 100)
    return [Row(draw(bits), draw(bits)) for _ in range(draw(st.integers(1, 6)))]


@given(layers(), st.integers(1, 100), st.integers(1, 50), st.sampled_from(CandidateRule))
def test_layer_by_layer_on_one_core(
    rows: list[Row], image: int, runtime: int, rule: CandidateRule
) -> None:
    """Each layer starts when the one before has ended and its weights have arrived.

    Those come one after the other, each as soon as the wire is free.
    """
    one = machine(core(0), out=Costs(7, 0.0, 0.0), back=NARROW)
    made = checked(
        schedule(
            problem(line(rows, image=image), one, Costing(runtime=runtime), rule), (0,) * len(rows)
        )
    )
    arrivals = list(accumulate(-(-layer.weights // 7) for layer in rows))
    free, first = 0, -(-image // 7)
    for arrival, (start, end) in zip(arrivals, times(made), strict=True):
        assert start == max(free, arrival + first)
        free = end
    assert made.latency == free + rows[-1].output


@given(layers(), st.integers(1, 100), st.integers(1, 50), st.sampled_from(CandidateRule))
def test_layer_by_layer_with_weights_sent_before(
    rows: list[Row], image: int, runtime: int, rule: CandidateRule
) -> None:
    """All weights, then the image, then one layer after the other without a gap."""
    one = machine(core(0), out=Costs(7, 0.0, 0.0), back=NARROW)
    made = checked(
        schedule(
            problem(line(rows, image=image), one, Costing(runtime=runtime), rule, ("W",)),
            (0,) * len(rows),
        )
    )
    start = sum(-(-layer.weights // 7) for layer in rows) + -(-image // 7)
    assert times(made) == [
        (start + i * runtime, start + (i + 1) * runtime) for i in range(len(rows))
    ]
    assert made.latency == start + len(rows) * runtime + rows[-1].output


def test_no_room_for_an_output_anywhere() -> None:
    small = machine(core(0, 30))
    with pytest.raises(InfeasibleError) as error:
        _ = schedule(problem(line([Row(32)], image=8), small), (0,))
    for part in ("n0", "buffer", "core 0", "32", "30"):
        assert part in str(error.value)


def test_no_room_for_all_that_a_node_needs_at_once() -> None:
    small = machine(core(0, 60))
    with pytest.raises(InfeasibleError) as error:
        _ = schedule(problem(line([Row(24, 32)], image=8), small), (0,))
    assert "buffer" in str(error.value)
    assert "60" in str(error.value)


def test_no_room_off_the_chip() -> None:
    """Off the chip there is room for weights and the image, not for a result of 48 bits."""
    small = resized(machine(core(0)), {(9, "dram"): 32 + 8})
    with pytest.raises(InfeasibleError) as error:
        _ = schedule(problem(line([Row(48, 32)], image=8), small), (0,))
    for part in ("dram", "48", "40"):
        assert part in str(error.value)


def test_no_room_off_the_chip_for_constants() -> None:
    small = resized(machine(core(0)), {(9, "dram"): 39})
    with pytest.raises(InfeasibleError) as error:
        _ = schedule(problem(line([Row(24, 32)], image=8), small), (0,))
    assert "dram" in str(error.value)
    assert "39" in str(error.value)
