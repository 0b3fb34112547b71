"""Bytes moved, bandwidths, rooflines and times in SQL, compared with figures from the results."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import cast, final
from uuid import UUID

import pytest

from nestmap.model import MOVEMENTS, Accelerator, CostModelEvaluation, NetworkProblem, Workload
from nestmap.model.base import copy_with
from nestmap.model.workload.builders import conv2d, gemm
from nestmap.pipeline.analysis.network.roofline import bytes_moved, ceilings
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.store import Parameter, Store
from nestmap.store.read.relation import Row
from tests.loma import LOMA

WORKLOAD = Workload.of(
    conv2d("conv", (1, 8, 14, 14), (16, 8, 3, 3), padding=1),
    gemm("fc", (4, 32), (32, 64)),
    name="net",
)
PLAN = SearchPlan.of(LOMA)
MACHINES = ("tpu_like", "eyeriss_like", "edge_22nm", "dimc")


@final
@dataclass(frozen=True)
class Explored:
    """A run on each machine."""

    store: Store
    runs: dict[str, UUID]

    def ask(self, name: str, machine: str) -> list[Row]:
        return self.store.ask(name, {Parameter.RUN: self.runs[machine]}).rows()

    def machine(self, name: str) -> Accelerator:
        return self.store.problem(self.runs[name]).accelerator

    def cmes(self, name: str) -> list[CostModelEvaluation]:
        return [x.cme for x in self.store.best(self.runs[name]).layers]


@pytest.fixture(name="explored", scope="module")
def _explored() -> Iterator[Explored]:
    with Store.open(None) as store:
        runs: dict[str, UUID] = {}
        for name in MACHINES:
            network = NetworkProblem(workload=WORKLOAD, accelerator=read_accelerator(name))
            runs[name] = explore_network(network, PLAN, store=store).run
        yield Explored(store, runs)


@pytest.mark.parametrize("name", MACHINES)
def test_bytes_by_memory_and_operand(explored: Explored, name: str) -> None:
    """Word accesses of each movement, times the width of the port that serves it."""
    machine = explored.machine(name)
    levels = {level.name: level for level in machine.memories}
    expected: defaultdict[tuple[str, str, bool], float] = defaultdict(float)
    for cme in explored.cmes(name):
        carried = {link.operand: link.memory_operand for link in cme.links}
        for entry in cme.levels:
            level = levels[entry.memory]
            for movement in MOVEMENTS:
                port = level.port_index(carried[entry.operand], movement)
                if accesses := entry.costs.accesses_of(movement):
                    assert port is not None
                    width = level.instance.ports[port].width_max
                    expected[entry.memory, entry.operand, movement.reads] += accesses * width / 8
    found = {(x["memory"], x["operand"]): x for x in explored.ask("bytes_moved", name)}
    assert set(found) == {(memory, operand) for memory, operand, _ in expected}
    for (memory, operand), row in found.items():
        read, written = (
            expected[str(memory), str(operand), True],
            expected[str(memory), str(operand), False],
        )
        assert (row["read_bytes"], row["written_bytes"]) == (read, written)
        assert row["bytes"] == read + written


@pytest.mark.parametrize("name", MACHINES)
def test_bandwidth_of_each_layer_in_each_memory(explored: Explored, name: str) -> None:
    machine = explored.machine(name)
    widths = {ceiling.memory: ceiling.width for ceiling in ceilings(machine)}
    rows = explored.ask("bandwidth", name)
    by_layer = {layer: list(rows) for layer, rows in groupby(rows, lambda row: row["layer"])}
    assert list(by_layer) == ["conv", "fc"]
    for cme in explored.cmes(name):
        moved = bytes_moved(cme, machine)
        found = {str(row["memory"]): row for row in by_layer[cme.layer]}
        assert {memory: row["bytes"] for memory, row in found.items()} == moved
        for memory, row in found.items():
            rate = moved[memory] / cme.latency
            assert row["bytes_per_cycle"] == pytest.approx(rate)
            assert row["bandwidth"] == widths[memory]
            assert row["utilization"] == pytest.approx(rate / widths[memory])
            period = cme.clock_period
            per_second = None if period is None else pytest.approx(rate / period)
            assert row["gigabytes_per_second"] == per_second


@pytest.mark.parametrize("name", MACHINES)
def test_roofline_is_the_lowest_ceiling(explored: Explored, name: str) -> None:
    machine = explored.machine(name)
    widths = {ceiling.memory: ceiling.width for ceiling in ceilings(machine)}
    for row, cme in zip(explored.ask("roofline", name), explored.cmes(name), strict=True):
        moved = bytes_moved(cme, machine)
        limit = {memory: cme.macs / n * widths[memory] for memory, n in moved.items()}
        lowest = min(limit, key=lambda memory: limit[memory])
        array = cme.macs / cme.ideal_cycles
        assert limit[str(row["memory"])] == pytest.approx(limit[lowest])
        assert row["intensity"] == pytest.approx(cme.macs / moved[str(row["memory"])])
        assert row["memory_ceiling"] == pytest.approx(limit[lowest])
        assert row["array_ceiling"] == array
        assert row["performance"] == cme.macs / cme.latency
        assert row["bound_by"] == ("memory" if limit[lowest] < array else "array")
        attained = cme.macs / cme.latency / min(limit[lowest], array)
        assert row["attained"] == pytest.approx(attained)


@pytest.mark.parametrize("name", MACHINES)
def test_seconds_are_there_where_a_clock_is_known(explored: Explored, name: str) -> None:
    cmes = explored.cmes(name)
    period = cmes[0].clock_period
    assert (period is None) == (name in ("tpu_like", "eyeriss_like"))
    layers = None if period is None else [pytest.approx(x.latency * period / 1e9) for x in cmes]
    for query in ("best", "per_layer"):
        found = [row["seconds"] for row in explored.ask(query, name)]
        assert found == ([None] * len(cmes) if layers is None else layers)
    for query in ("totals", "network_totals"):
        (row,) = explored.ask(query, name)
        total = None if period is None else cast("float", row["latency"]) * period / 1e9
        assert row["seconds"] == (None if total is None else pytest.approx(total))


def test_the_loop_order_is_text_in_every_view_of_mappings(explored: Explored) -> None:
    texts = {
        x.layer: " ".join(f"[{loop.dimension} {loop.size}]" for loop in x.temporal_mapping.order)
        for x in explored.cmes("tpu_like")
    }
    for row in explored.ask("best", "tpu_like"):
        assert row["temporal_mapping"] == texts[str(row["layer"])]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in explored.ask("evaluations", "tpu_like"):
        loops = cast("list[dict[str, object]]", row["ordering"])
        text = " ".join(f"[{x['dimension']} {x['size']}]" for x in loops)
        assert row["temporal_mapping"] == text
        found[str(row["layer"])].add(text)
    assert all(texts[layer] in orders for layer, orders in found.items())


def test_of_several_instances_all_move_data() -> None:
    """An array of 16 units with a register each: 16 registers of 2 bytes per cycle."""
    layer = gemm("fc", (2, 8), (8, 8))
    machine = copy_with(read_accelerator("tpu_like"), {"name": "m"})
    network = NetworkProblem(workload=Workload.of(layer), accelerator=machine)
    with Store.open(None) as store:
        run = explore_network(network, PLAN, store=store).run
        for row in store.query("SELECT DISTINCT memory, instances FROM data_movement"):
            (level,) = [x for x in machine.memories if x.name == row["memory"]]
            assert row["instances"] == machine.instances_of(level)
        assert store.find_run("last") == run
