"""The JSON of a schedule: every column is there, exact, in the documented form."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import numpy as np
import pytest
from hypothesis import given, settings

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.render.json.schedule import FORMAT, VERSION, schedule_json
from tests.pipeline.render.schedules import pipelined, streamed
from tests.search.multicore.schedule.problems import Case, cases
from tests.search.multicore.schedule.serial import serial
from tests.sweeps import some_of

Fields = Mapping[str, object]

NUMBER: Final = (int, float)
FORM: Final[Mapping[str, Mapping[str, type | tuple[type, ...]]]] = {
    "problem": {
        "workload": str,
        "workload_hash": str,
        "accelerator": str,
        "accelerator_hash": str,
        "counting": str,
        "rule": str,
        "prefetch": list,
    },
    "energy": {"total": float, "parts": dict},
    "cores": {"core": int, "name": str, "computes": bool, "offchip": bool},
    "wires": {
        "name": str,
        "bits_per_cycle": (int, type(None)),
        "energy_per_bit": float,
        "energy_per_cycle": float,
    },
    "memories": {"name": str, "cores": list, "size": int, "peak": int, "times": list, "bits": list},
    "layers": {
        "layer": int,
        "name": str,
        "operator": str,
        "first_node": int,
        "nodes": int,
        "ranges": dict,
    },
    "allocation": {"layer": int, "group": int, "core": int},
}
"""The fields of an object, or of each object of a list, and what they are."""

COLUMNS: Final[Mapping[str, Mapping[str, type | tuple[type, ...]]]] = {
    "nodes": {
        "layer": int,
        "node": int,
        "group": int,
        "core": int,
        "start": int,
        "end": int,
        "core_energy": float,
        "offchip_energy": float,
    },
    "tensors": {"node": int, "operand": str, "bits": int},
    "transfers": {
        "tensor": int,
        "kind": str,
        "sender": int,
        "receiver": int,
        "from_core": int,
        "to_core": int,
        "wires": list,
        "start": int,
        "end": int,
        "node": int,
        "wire_energy": float,
        "memory_energy": float,
    },
    "streams": {
        "node": int,
        "from_core": int,
        "to_core": int,
        "wires": list,
        "start": int,
        "end": int,
        "bits_per_cycle": int,
        "wire_energy": float,
    },
    "stays": {
        "tensor": int,
        "memory": int,
        "since": int,
        "available": int,
        "until": (int, type(None)),
    },
}
"""The columns of an object, all of the same length, and what their items are."""

SCHEDULES: Final[Mapping[str, Callable[[], Schedule]]] = {
    "three cores": lambda: pipelined(5, 4, 3),
    "streams": streamed,
}


def read(schedule: Schedule) -> Fields:
    """The JSON written and read back."""
    text = json.dumps(schedule_json(schedule), allow_nan=False)
    return cast(Fields, json.loads(text))


def columns(found: Fields, name: str) -> Mapping[str, Sequence[object]]:
    return cast(Mapping[str, Sequence[object]], found[name])


def objects(found: Fields, name: str) -> Sequence[Fields]:
    value = found[name]
    return cast(Sequence[Fields], value if isinstance(value, list) else [value])


def check_form(found: Fields) -> None:
    assert set(found) == {"format", "version", "latency", *FORM, *COLUMNS}
    assert (found["format"], found["version"]) == (FORMAT, VERSION)
    for name, fields in FORM.items():
        for each in objects(found, name):
            assert set(each) == set(fields)
            assert all(isinstance(each[field], kind) for field, kind in fields.items())
    for name, kinds in COLUMNS.items():
        some = columns(found, name)
        assert set(some) == set(kinds)
        assert len({len(column) for column in some.values()}) == 1
        for column, kind in kinds.items():
            assert all(isinstance(item, kind) for item in some[column])


def check_values(schedule: Schedule, found: Fields) -> None:
    """Checks that the columns are those of the schedule, bit by bit."""
    pairs = {
        "nodes": {"core": schedule.core, "start": schedule.start, "end": schedule.end},
        "tensors": {"node": schedule.tensors.node, "bits": schedule.tensors.bits},
        "transfers": {
            **{x: getattr(schedule.transfers, x) for x in ("tensor", "sender", "receiver")},
            **{x: getattr(schedule.transfers, x) for x in ("start", "end", "node")},
            "from_core": schedule.transfers.sending,
            "to_core": schedule.transfers.receiving,
            "wire_energy": schedule.transfers.link_energy,
            "memory_energy": schedule.transfers.memory_energy,
        },
        "streams": {
            **{x: getattr(schedule.streams, x) for x in ("node", "start", "end")},
            "bits_per_cycle": schedule.streams.rate,
            "wire_energy": schedule.streams.link_energy,
        },
        "stays": {x: getattr(schedule.residencies, x) for x in ("tensor", "memory", "since")},
    }
    for name, some in pairs.items():
        for column, values in some.items():
            assert columns(found, name)[column] == values.tolist()
    assert columns(found, "stays")["available"] == schedule.residencies.available.tolist()
    ends = [-1 if x is None else x for x in columns(found, "stays")["until"]]
    assert ends == schedule.residencies.until.tolist()
    kinds = [TransferKind(kind).name.lower() for kind in schedule.transfers.kind.tolist()]
    assert columns(found, "transfers")["kind"] == kinds
    assert found["latency"] == schedule.latency
    assert objects(found, "energy")[0]["parts"] == dict(schedule.energy)


@pytest.mark.parametrize("name", SCHEDULES)
def test_all_of_a_schedule_is_there(name: str) -> None:
    schedule = SCHEDULES[name]()
    found = read(schedule)
    check_form(found)
    check_values(schedule, found)


@settings(max_examples=some_of(25), deadline=None)
@given(cases())
def test_all_of_random_schedules_is_there(case: Case) -> None:
    schedule = serial(case.problem, case.allocation)
    found = read(schedule)
    check_form(found)
    check_values(schedule, found)


def test_places_lead_to_names() -> None:
    schedule = pipelined(5, 4, 3)
    found, nodes = read(schedule), schedule.problem.nodes
    some = columns(found, "nodes")
    for place, node in enumerate(nodes.nodes()):
        assert (some["layer"][place], some["node"][place]) == (node.id.layer, node.id.node)
        assert some["group"][place] == node.group
    layers = objects(found, "layers")
    assert [x["first_node"] for x in layers] == nodes.first_nodes[:-1].tolist()
    assert layers[1]["ranges"] == {"Y": [[i, i + 1] for i in range(4)]}
    homes = TopMemories(accelerator=schedule.problem.accelerator).memories
    assert [x["name"] for x in objects(found, "memories")] == [home.name for home in homes]
    assert [x["peak"] for x in objects(found, "memories")] == list(schedule.peaks)
    ways = Interconnect(accelerator=schedule.problem.accelerator)
    assert [x["name"] for x in objects(found, "wires")] == [wire.name for wire in ways.channels]
    sent = schedule.transfers
    paths = [list(ways.path(*x)) for x in zip(sent.sending, sent.receiving, strict=True)]
    assert columns(found, "transfers")["wires"] == paths


def test_the_energies_of_nodes_are_those_of_the_table() -> None:
    schedule = streamed()
    some = columns(read(schedule), "nodes")
    costs = schedule.problem.costs
    places = [costs.column(core) for core in schedule.core.tolist()]
    assert some["core_energy"] == costs.onchip[costs.kind, np.array(places)].tolist()
    assert some["offchip_energy"] == costs.offchip[costs.kind, np.array(places)].tolist()
