"""The checker of schedules accepts what is right, and rejects each kind of wrong."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.schedule import Schedule, ScheduleEnergy, TransferKind
from tests.search.multicore.schedule.checker import violations
from tests.search.multicore.schedule.lines import USUAL, Costing, Row, core, line, machine, problem
from tests.search.multicore.schedule.machines import Costs, resized
from tests.search.multicore.schedule.problems import MOST_NODES, Case, cases
from tests.search.multicore.schedule.serial import serial
from tests.sweeps import some_of

Columns = TypeVar("Columns")

LAYERS = (Row(16, 64), Row(24), Row(8, 32))


def sample(costing: Costing = USUAL) -> Schedule:
    """Three layers of two rows on two cores, one node after the other."""
    made = problem(
        line(LAYERS, rows=2), machine(core(1), core(2), between=Costs(4, 1.0, 0.0)), costing
    )
    return serial(made, (1, 2, 1))


STREAMING = Costing(offchip=3.0, streamed=3, rates=(2, 3))
"""Rows are streamed; weights are kept."""


def put(columns: Columns, name: str, row: int, value: float) -> Columns:
    """The columns with another value in a row."""
    column = getattr(columns, name).copy()
    column[row] = value
    return replace(columns, **{name: column})  # type: ignore[type-var]


def moved(columns: Columns, name: str, row: int, by: int) -> Columns:
    """The columns with a value that is so much larger in a row."""
    return put(columns, name, row, getattr(columns, name)[row] + by)


def without(columns: Columns, row: int) -> Columns:
    """The columns without a row."""
    fields = vars(columns)
    return type(columns)(*(np.delete(column, row) for column in fields.values()))


@given(cases())
def test_accepts_one_node_after_the_other(case: Case) -> None:
    assert not violations(serial(case.problem, case.allocation))


@pytest.mark.parametrize("costing", [USUAL, STREAMING])
def test_accepts_the_samples(costing: Costing) -> None:
    assert not violations(sample(costing))


def rejected(schedule: Schedule, *reasons: str) -> None:
    """Checks that the schedule is rejected, for these reasons among others."""
    found = violations(schedule)
    for reason in reasons:
        assert any(reason in text for text in found), found


def transfer(schedule: Schedule, kind: TransferKind, tensor: int | None = None) -> int:
    """The row of the first transfer of a kind."""
    rows = enumerate(zip(schedule.transfers.kind, schedule.transfers.tensor, strict=True))
    return next(i for i, (x, y) in rows if x == kind and tensor in (None, y))


def stay(schedule: Schedule, tensor: int, memory: int) -> int:
    """The row of the first stay of a tensor in a memory."""
    rows = enumerate(zip(schedule.residencies.tensor, schedule.residencies.memory, strict=True))
    return next(i for i, x in rows if x == (tensor, memory))


def test_a_node_twice_as_long() -> None:
    made = sample()
    rejected(moved(made, "end", 5, 1), "node 5 runs from")


def test_a_node_on_another_core() -> None:
    made = sample()
    rejected(put(made, "core", 2, 1), "node 2 runs on core 1")


def test_a_core_that_the_gene_does_not_allow() -> None:
    made = sample()
    genes = list(made.problem.space.groups)
    genes[1] = NodeGroup(layer=1, group=0, cores=(1,))
    space = AllocationSpace(tuple(genes), made.problem.space.group_of)
    rejected(replace(made, problem=replace(made.problem, space=space)), "node 2 runs on core 2")


def test_two_nodes_at_once_on_a_core() -> None:
    made = sample()
    later = moved(moved(made, "start", 0, 15), "end", 0, 15)
    rejected(later, "runs nodes 0 and 1")


def test_a_node_before_its_inputs_are_made() -> None:
    made = sample()
    early = put(put(made, "start", 2, 0), "end", 2, 10)
    rejected(early, "node 2 starts before node 0 has ended", "tensor 0 is not in memory")


def test_a_node_before_the_one_before_it_in_its_group() -> None:
    made = sample()
    early = put(put(made, "start", 1, 0), "end", 1, 10)
    rejected(early, "node 1 starts before node 0 has ended")


def test_an_input_that_is_sent_too_late() -> None:
    made = sample()
    row = transfer(made, TransferKind.CONSTANT)
    late = moved(moved(made.transfers, "start", row, 30), "end", row, 30)
    stays = made.residencies
    at = stay(made, int(made.transfers.tensor[row]), int(made.transfers.receiver[row]))
    for name in ("since", "available", "until"):
        stays = moved(stays, name, at, 30)
    rejected(replace(made, transfers=late, residencies=stays), "while node 0 runs")


def test_an_input_that_leaves_too_early() -> None:
    made = sample()
    weights = int(made.transfers.tensor[1])
    at = stay(made, weights, 0)
    early = put(made.residencies, "until", at, int(made.end[0]) - 1)
    rejected(
        replace(made, residencies=early), f"tensor {weights} is not in memory 0 while node 0 runs"
    )


@pytest.mark.parametrize("row", range(16))
def test_a_transfer_that_did_not_happen(row: int) -> None:
    made = sample()
    assert row < len(made.transfers)
    rejected(replace(made, transfers=without(made.transfers, row)), "comes from nowhere")


@pytest.mark.parametrize("row", range(20))
def test_a_stay_that_is_missing(row: int) -> None:
    made = sample()
    assert row < len(made.residencies)
    assert violations(replace(made, residencies=without(made.residencies, row)))


def test_room_that_is_taken_too_late() -> None:
    made = sample()
    row = transfer(made, TransferKind.CONSTANT)
    at = stay(made, int(made.transfers.tensor[row]), int(made.transfers.receiver[row]))
    rejected(
        replace(made, residencies=moved(made.residencies, "since", at, 1)),
        "0 times room",
        "from nowhere",
    )


def test_an_output_that_is_there_too_early() -> None:
    made = sample()
    early = moved(made.residencies, "available", stay(made, 0, 0), -1)
    rejected(replace(made, residencies=early), "0 times room for what node 0 writes")


def test_a_tensor_that_is_there_twice() -> None:
    made = sample()
    at = stay(made, 0, 0)
    doubled = type(made.residencies)(
        *(np.append(x, x[at]) for x in vars(made.residencies).values())
    )
    rejected(replace(made, residencies=doubled), "while it is there already")


def test_a_tensor_that_grows() -> None:
    made = sample()
    for row in range(len(made.tensors)):
        rejected(replace(made, tensors=moved(made.tensors, "bits", row, 8)), "bits")


def test_a_constant_that_is_missing() -> None:
    made = sample()
    rejected(replace(made, tensors=without(made.tensors, 6)), "is missing")


def test_a_memory_that_is_too_small() -> None:
    made = sample()
    peak = made.peaks[0]
    for size, wrong in ((peak, False), (peak - 1, True)):
        small = resized(made.problem.accelerator, {(1, "buffer"): size})
        schedule = replace(made, problem=replace(made.problem, accelerator=small))
        assert bool(violations(schedule)) == wrong


def test_a_memory_that_is_not_there() -> None:
    made = sample()
    rejected(replace(made, residencies=put(made.residencies, "memory", 0, 7)), "no memory 7")


def test_something_left_on_the_chip() -> None:
    made = sample()
    rejected(
        replace(made, residencies=put(made.residencies, "until", stay(made, 0, 0), -1)),
        "on the chip",
    )


def test_something_left_off_the_chip() -> None:
    made = sample()
    rejected(
        replace(made, residencies=put(made.residencies, "until", stay(made, 4, 2), 10**6)),
        "result 4 is not",
    )


@pytest.mark.parametrize("name", ["start", "end"])
@pytest.mark.parametrize("by", [-1, 1])
def test_a_transfer_of_another_duration(name: str, by: int) -> None:
    made = sample()
    for row in range(len(made.transfers)):
        rejected(replace(made, transfers=moved(made.transfers, name, row, by)), "it takes")


def test_a_transfer_from_where_the_tensor_is_not() -> None:
    made = sample()
    row = transfer(made, TransferKind.CONSTANT, 0)
    wrong = put(put(made.transfers, "sender", row, 0), "sending", row, 1)
    rejected(replace(made, transfers=wrong), "it is not in memory 0")


def test_a_sender_that_forgets_too_early() -> None:
    made = sample()
    row = transfer(made, TransferKind.EVICTION)
    at = stay(made, int(made.transfers.tensor[row]), int(made.transfers.sender[row]))
    early = put(made.residencies, "until", at, int(made.transfers.end[row]) - 1)
    rejected(replace(made, residencies=early), "it is not in memory")


def test_a_transfer_of_another_kind() -> None:
    made = sample()
    for row in range(len(made.transfers)):
        for kind in TransferKind:
            if kind != made.transfers.kind[row] and kind is not TransferKind.EVICTION:
                transfers = put(made.transfers, "kind", row, kind)
                assert violations(replace(made, transfers=transfers))


def test_a_transfer_that_nobody_needs() -> None:
    made = sample()
    row = transfer(made, TransferKind.CONSTANT)
    rejected(replace(made, transfers=put(made.transfers, "node", row, 3)), "does not need it")


def narrowed(made: Schedule, bandwidth: int) -> Schedule:
    """The schedule on a machine with links of another bandwidth."""
    machine = made.problem.accelerator
    links = tuple(copy_with(x, {"bandwidth": bandwidth}) for x in machine.links)
    problem = replace(made.problem, accelerator=copy_with(machine, {"links": links}))
    return replace(made, problem=problem)


def test_wires_that_are_too_narrow() -> None:
    rejected(narrowed(sample(), 7), "it takes")
    rejected(narrowed(sample(STREAMING), 2), "3 bit/cycle and 0 transfers")


def test_two_transfers_at_once_on_a_wire() -> None:
    made = sample()
    first, second = 0, 1
    assert made.transfers.receiver[first] == made.transfers.receiver[second]
    by = int(made.transfers.start[first] - made.transfers.start[second])
    transfers = moved(moved(made.transfers, "start", second, by), "end", second, by)
    rejected(replace(made, transfers=transfers), "2 transfers on 9 -> 1")


def test_a_stream_that_is_missing() -> None:
    made = sample(STREAMING)
    for row in range(len(made.streams)):
        rejected(replace(made, streams=without(made.streams, row)), "not at all")


@pytest.mark.parametrize("name", ["rate", "start", "end", "node", "sending"])
def test_a_stream_of_something_else(name: str) -> None:
    made = sample(STREAMING)
    for row in range(len(made.streams)):
        if name == "sending":
            streams = put(made.streams, name, row, 1 if made.streams.sending[row] == 2 else 2)
            assert (made.streams.sending[row] == 9) or violations(replace(made, streams=streams))
            continue
        rejected(replace(made, streams=moved(made.streams, name, row, 1)), "not at all")


def test_a_stream_during_a_transfer() -> None:
    made = sample(STREAMING)
    row = transfer(made, TransferKind.CONSTANT)
    by = int(made.start[0] - made.transfers.start[row])
    transfers = moved(moved(made.transfers, "start", row, by), "end", row, by)
    rejected(replace(made, transfers=transfers), "2 bit/cycle and 1 transfers")


def test_something_streamed_that_is_not_off_the_chip() -> None:
    made = sample(STREAMING)
    image = int(made.streams.node[0])
    at = stay(made, image, 2)
    early = put(made.residencies, "until", at, int(made.end[2]) - 1)
    rejected(replace(made, residencies=early), "streamed by node 2, is not off the chip")


@pytest.mark.parametrize("part", [*ScheduleEnergy.model_fields])
def test_an_energy_that_is_not_what_the_events_cost(part: str) -> None:
    made = sample(STREAMING)
    energy = copy_with(made.energy, {part: getattr(made.energy, part) + 1.0})
    rejected(replace(made, energy=energy), part)


def test_a_transfer_that_says_another_energy() -> None:
    made = sample()
    for name in ("link_energy", "memory_energy"):
        rejected(replace(made, transfers=moved(made.transfers, name, 2, 1)), "transfer 2 costs")


@pytest.mark.parametrize("by", [-1, 1])
def test_another_latency(by: int) -> None:
    made = sample()
    rejected(replace(made, latency=made.latency + by), "the last end is at")


@settings(max_examples=some_of(30))
@given(cases(), st.integers(0, MOST_NODES))
def test_rejects_random_schedules_with_a_node_moved(case: Case, place: int) -> None:
    made = serial(case.problem, case.allocation)
    node = place % len(made.start)
    rejected(moved(moved(made, "start", node, 1), "end", node, 1), f"what node {node} writes")


@settings(max_examples=some_of(30))
@given(cases(), st.integers(0, 1000))
def test_rejects_random_schedules_without_a_transfer(case: Case, place: int) -> None:
    made = serial(case.problem, case.allocation)
    rows = np.flatnonzero(made.transfers.start < made.transfers.end)
    if len(rows):
        row = int(rows[place % len(rows)])
        assert violations(replace(made, transfers=without(made.transfers, row)))
