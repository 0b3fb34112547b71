"""nestmap schedules as Stream of February 2024 did: each start, transfer, memory curve and pJ."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.golden.compared import table
from tests.golden.schedules import NAMES, RecordedSchedule, problem_of, recorded_schedule

Curve = list[tuple[int, int]]


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest) -> tuple[RecordedSchedule, Schedule]:
    """A recorded schedule and nestmap's for the same problem."""
    name = str(request.param)
    return recorded_schedule(name), schedule(*problem_of(name))


def test_nodes_start_and_end_when_they_do_in_stream(
    pair: tuple[RecordedSchedule, Schedule],
) -> None:
    run, made = pair
    assert made.start.tolist() == [node[2] for node in run.nodes]
    assert made.end.tolist() == [node[3] for node in run.nodes]
    assert made.latency == run.latency


def test_links_carry_what_they_do_in_stream(pair: tuple[RecordedSchedule, Schedule]) -> None:
    run, made = pair
    found = carried(made)
    for link in run.links:
        ends = _name(link.sender), _name(link.receiver)
        wanted = sorted({(start, end) for _, start, end, _, _ in link.events})
        assert found.get(ends, []) == wanted, ends


def _name(core: int | None) -> str:
    return "any" if core is None else str(core)


def carried(made: Schedule) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """When something passes each way; those to and from off chip have an end that is any core."""
    accelerator = made.problem.accelerator
    ways = Interconnect(accelerator=accelerator)
    names = [(str(link.sender), str(link.receiver)) for link in accelerator.links]
    for bus in accelerator.buses:
        outward = accelerator.offchip not in bus.senders and bus.hub is None
        off = str(accelerator.offchip)
        names.append(("any", off) if outward else (off, "any"))
    found: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for rows in (made.transfers, made.streams):
        columns = (rows.sending, rows.receiving, rows.start, rows.end)
        for sending, receiving, start, end in zip(*(x.tolist() for x in columns), strict=True):
            for wire in ways.path(sending, receiving) if end > start else ():
                found.setdefault(names[wire], set()).add((start, end))
    return {name: sorted(events) for name, events in found.items()}


def test_memories_hold_what_they_do_in_stream(pair: tuple[RecordedSchedule, Schedule]) -> None:
    run, made = pair
    homes = TopMemories(accelerator=made.problem.accelerator)
    for recorded, home, (times, used) in zip(
        run.memories, homes.memories, made.memory_usage, strict=True
    ):
        assert recorded.name == home.name
        found = zip(times.tolist(), used.tolist(), strict=True)
        assert changes(found) == changes(recorded.usage), home


def changes(curve: Iterable[tuple[int, int]]) -> Curve:
    """The steps at which a curve changes."""
    kept: Curve = [(0, 0)]
    for time, used in curve:
        if time == kept[-1][0]:
            kept[-1] = (time, used)
        elif used != kept[-1][1]:
            kept.append((time, used))
    return kept


def test_energy_is_spent_as_in_stream(pair: tuple[RecordedSchedule, Schedule]) -> None:
    run, made = pair
    energy = made.energy
    found = {
        "total_cn_onchip_energy": energy.computation,
        "total_cn_offchip_link_energy": energy.constant_links,
        "total_cn_offchip_memory_energy": energy.streaming + energy.constant_memory,
        "total_eviction_to_offchip_link_energy": energy.eviction_links,
        "total_eviction_to_offchip_memory_energy": energy.eviction_memory,
        "total_sink_layer_output_offchip_link_energy": energy.result_links,
        "total_sink_layer_output_offchip_memory_energy": energy.result_memory,
        "total_core_to_core_link_energy": energy.activation_links,
        "total_core_to_core_memory_energy": energy.activation_memory,
    }
    assert found == pytest.approx(run.energy, rel=1e-9)
    assert energy.total == pytest.approx(sum(run.energy.values()), rel=1e-9)


def test_the_documents_compare_both_modes() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "scheduling.md").read_text()
    rows = list(table())
    assert len(rows) == len(NAMES) + 2
    assert "\n".join(rows) in text


def test_kinds_of_transfers_add_up() -> None:
    made = schedule(*problem_of("resnet18_lbl"))
    kinds = np.bincount(made.transfers.kind, minlength=len(TransferKind))
    assert kinds.sum() == len(made.transfers)
    assert kinds[TransferKind.RESULT] == 1
