"""The named queries on parts: area, where energy goes, which designs to choose between."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast, final

import pytest

from nestmap.costmodel.area_leakage import areas_of, total_area
from nestmap.model import Accelerator, Layer, NetworkProblem, PartKind, Workload
from nestmap.model.base import copy_with
from nestmap.model.units import AreaUnit
from nestmap.model.workload.builders import conv2d
from nestmap.pipeline.explore.api import Exploration, explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, with_static_energy
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.store import Parameter, Store
from nestmap.store.read.relation import Row
from tests.loma import with_loma

CONV: Layer = conv2d("conv", (1, 16, 14, 14), (32, 16, 3, 3), padding=1)
PLAN = SearchPlan.of(with_loma(lpf_limit=3, keep_on_chip=True))


def with_leakage(machine: Accelerator) -> Accelerator:
    """Half a milliwatt in every memory; what leaks is counted."""
    levels = tuple(
        copy_with(level, {"instance": copy_with(level.instance, {"leakage": 0.5, "area": 0.25})})
        for level in machine.memories
    )
    return with_static_energy(copy_with(machine, {"memories": levels}))


def problem(name: str, machine: Accelerator | None = None) -> NetworkProblem:
    return NetworkProblem(
        workload=Workload.of(CONV, copy_with(CONV, {"name": "again"}), name="net"),
        accelerator=machine or read_accelerator(name),
        constraints=read_mapping(name, for_accelerator=None),
    )


@final
@dataclass(frozen=True)
class Explored:
    """A store with runs on an analog array, a digital one, that with leakage, and without units."""

    store: Store
    runs: tuple[tuple[NetworkProblem, Exploration], ...]


@pytest.fixture(name="explored", scope="module")
def _explored() -> Iterator[Explored]:
    problems = (
        problem("aimc"),
        problem("dimc"),
        problem("dimc", with_leakage(read_accelerator("dimc"))),
        problem("dimc", copy_with(read_accelerator("dimc"), {"area_unit": None, "name": "bare"})),
    )
    with Store.open(None) as store:
        runs = tuple((x, explore_network(x, PLAN, store=store)) for x in problems)
        yield Explored(store, runs)


def asked(explored: Explored, name: str, run: int) -> list[Row]:
    return explored.store.ask(name, {Parameter.RUN: explored.runs[run][1].run}).rows()


@pytest.mark.parametrize("run", range(3))
def test_areas_are_those_of_the_whole_accelerator(explored: Explored, run: int) -> None:
    machine = explored.runs[run][0].accelerator
    rows = asked(explored, "areas", run)
    found = [(x["kind"], x["part"], x["area"]) for x in rows]
    assert found == [(x.kind.value, x.part, x.area) for x in areas_of(machine)]
    shares = [cast("float", x["share"]) for x in rows]
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize("run", range(3))
def test_parts_of_the_energy_are_the_energy(explored: Explored, run: int) -> None:
    total = explored.runs[run][1].total
    expected: defaultdict[tuple[str, str], float] = defaultdict(float)
    for result in total.layers:
        for part in result.cme.array_energies:
            expected["array", part.part] += part.energy
        for level in result.cme.levels:
            expected["memory", level.memory] += level.costs.energy
        for entry in result.cme.static_energies:
            expected["leakage", entry.part] += entry.energy
    rows = asked(explored, "energy_by_part", run)
    found = {(str(x["kind"]), str(x["part"])): cast("float", x["energy"]) for x in rows}
    assert found == pytest.approx({key: value for key, value in expected.items() if value})
    assert sum(found.values()) == pytest.approx(total.energy)
    leaks = any(kind == "leakage" for kind, _ in found)
    assert leaks == (run == 2) == bool(total.static_energy)


def costs_of(row: Row) -> tuple[float, ...]:
    return tuple(cast("float", row[name]) for name in ("area", "energy", "latency"))


def test_designs_are_the_runs_and_those_that_none_beats(explored: Explored) -> None:
    rows = [x for x in explored.store.ask("designs").rows() if x["area"] is not None]
    found = {str(x["run"]): costs_of(x) for x in rows}
    assert found == {
        str(x.run): pytest.approx((total_area(problem.accelerator), x.energy, x.latency))
        for problem, x in explored.runs[:3]
    }
    for row in rows:
        mine = costs_of(row)
        beaten = any(
            other != mine and all(a <= b for a, b in zip(other, mine, strict=True))
            for other in found.values()
        )
        assert row["pareto"] == (not beaten)
    assert any(row["pareto"] for row in rows)


def test_areas_without_a_unit_are_not_compared_with_mm2(explored: Explored) -> None:
    """The same array without a unit has no area; nothing else has none, so nothing beats it."""
    (row,) = [x for x in explored.store.ask("designs").rows() if x["accelerator"] == "bare"]
    assert (row["area"], row["pareto"]) == (None, True)
    assert read_accelerator("dimc").area_unit is AreaUnit.MM2
    assert read_accelerator("tpu_like").area_unit is None  # unit_area: 1, as in ZigZag's file


def test_memories_tell_what_they_leak(explored: Explored) -> None:
    sql = "SELECT DISTINCT leakage FROM memories ORDER BY leakage"
    assert [row["leakage"] for row in explored.store.query(sql)] == [0.0, 0.5]
    kinds = {x.kind for x in areas_of(explored.runs[2][0].accelerator)}
    assert kinds == {PartKind.ARRAY, PartKind.MEMORY}
