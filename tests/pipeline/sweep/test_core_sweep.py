"""A sweep over several cores finds what ``nestmap.stream`` finds on every design."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Final

import pytest
import yaml

import nestmap
from nestmap import SweepResult
from nestmap.model import InputError, Objective
from nestmap.model.base import copy_with
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.objective import ObjectiveFormula
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.yaml.design_space import parse_design_space
from nestmap.pipeline.multicore.pipeline import stream_pipeline
from nestmap.pipeline.multicore.plan import StreamPlan, stream_plan
from nestmap.pipeline.multicore.run import StreamJob, StreamPorts
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.multicore.inter_core import ScheduledSearch
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.methods import several_cores
from nestmap.pipeline.sweep.methods.sweep_method import stream_plan_of_sweep
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.store import RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.sweep.core_spaces import CORE, COUNTS, MACHINE, OFFCHIP, SPACE, write_core_space
from tests.pipeline.sweep.spaces import mapped_first

PLAN: Final = stream_plan(individuals=4, generations=3, seed=1, lpf_limit=3)
DESIGNS: Final = list(product((1, 2), (8, 32), (True, False)))


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_core_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(name="swept", scope="module")
def _swept(file: Path) -> SweepResult:
    return nestmap.sweep(file, plan=PLAN)


def machine(lanes: int, wires: int, is_dual: bool) -> Mapping[str, object]:
    """The description of a design, written out by hand."""
    lane = yaml.safe_load(CORE.replace("sizes: [2]", f"sizes: [{lanes}]"))
    tree: dict[str, object] = yaml.safe_load(MACHINE)
    both = {0: lane, 1: lane} if is_dual else {0: lane}
    link = {"type": "link", "cores": [0, 1], "bandwidth": 16, "energy_per_bit": 0.2}
    bus = {"type": "bus", "cores": [*both, 2], "bandwidth": wires}
    return {
        "name": tree["name"],
        "cores": {**both, 2: yaml.safe_load(OFFCHIP)},
        "offchip_core_id": 2,
        "core_coordinates": {x: [x, 0] for x in both},
        "core_connectivity": [link, bus] if is_dual else [bus],
    }


def test_every_figure_is_that_of_a_schedule(swept: SweepResult, file: Path) -> None:
    """The front of one search has a schedule for each objective."""
    asked = list(product(DESIGNS, swept.mapped_for))
    assert swept.mapped_for == (Objective.LATENCY, Objective.ENERGY, Objective.EDP)
    for design, (values, objective) in zip(swept.points, asked, strict=True):
        plan = copy_with(PLAN, {"objective": objective})
        assert design.mapped_for is objective
        assert design.number == DESIGNS.index(values)
        assert tuple(dict(design.parameters).values()) == values
        first, other = (
            nestmap.stream(
                file.parent / f"{name}.yaml",
                machine(*values),
                file.parent / "split.yaml",
                plan=plan,
                workers=1,
            )
            for name in ("net", "other")
        )
        assert design.reason is None
        assert [(x.energy, x.latency) for x in design.networks] == [
            (first.energy, first.latency),
            (other.energy, other.latency),
        ]
        assert design.energy == first.energy + 2.5 * other.energy
        assert design.accelerator == first.problem.accelerator.content_hash
        lanes, _, is_dual = values
        assert design.area == (lanes + 3) * (1 + is_dual)  # the one off the chip does not count
    fast = {x.latency for x in swept.points if x.mapped_for is Objective.LATENCY}
    assert len(fast) == len(DESIGNS)
    frugal = [x.energy for x in swept.points if x.mapped_for is Objective.ENERGY]
    others = [x.energy for x in swept.points if x.mapped_for is Objective.LATENCY]
    assert all(a <= b for a, b in zip(frugal, others, strict=True) if a and b)
    assert frugal != others


def exported(result: SweepResult) -> str:
    return "".join(answer_text(result.relation(), Layout.JSON))


def test_how_several_cores_count_is_for_the_split_to_say(file: Path) -> None:
    with pytest.raises(InputError, match="reference cannot be combined with several cores"):
        nestmap.sweep(file, plan=PLAN, reference=True)


def test_results_do_not_depend_on_threads_or_processes(swept: SweepResult, file: Path) -> None:
    assert nestmap.sweep(file, plan=PLAN, workers=1) == swept
    assert nestmap.sweep(file, plan=PLAN, workers=4) == swept
    assert exported(nestmap.sweep(file, plan=PLAN, on="local:2")) == exported(swept)


def test_the_yaml_of_a_design_runs_as_it_is(swept: SweepResult, file: Path) -> None:
    for design in mapped_first(swept)[:2]:
        made = file.parent / f"design{design.number}.yaml"
        made.write_text(swept.accelerator_yaml(design))
        again = nestmap.stream(
            file.parent / "net.yaml", made, file.parent / "split.yaml", plan=PLAN, workers=1
        )
        assert again.energy == design.networks[0].energy
        assert again.latency == design.networks[0].latency


def test_spaces_are_given_as_values_or_models(swept: SweepResult, file: Path) -> None:
    values = yaml.safe_load(SPACE.replace("- net.yaml", f"- {file.parent}/net.yaml"))
    values["networks"][1]["network"] = str(file.parent / "other.yaml")
    values["mapping"] = str(file.parent / "split.yaml")
    lane = yaml.safe_load(CORE)
    cores = {0: lane, 1: lane, 2: yaml.safe_load(OFFCHIP)}
    values["accelerator"] = {**yaml.safe_load(MACHINE), "cores": cores}
    for space in (parse_design_space(file), values):
        found = nestmap.sweep(space, plan=PLAN)
        assert [(x.energy, x.latency) for x in found.points] == [
            (x.energy, x.latency) for x in swept.points
        ]


def test_a_sweep_over_the_number_of_cores_is_one_of_schedules(tmp_path: Path) -> None:
    found = nestmap.sweep(write_core_space(tmp_path, COUNTS), plan=PLAN)
    lane, offchip = yaml.safe_load(CORE), yaml.safe_load(OFFCHIP)
    for design, count in zip(mapped_first(found), (1, 2, 4), strict=True):
        numbers = [0, *range(2, count + 1)]
        rows = {1: [], 2: [(0, 2)], 4: [(0, 2), (0, 3), (2, 4), (3, 4)]}[count]
        near = {"bandwidth": 16, "energy_per_bit": 0.2}
        made = {
            "name": "many",
            "cores": {0: lane, 1: offchip, **dict.fromkeys(numbers[1:], lane)},
            "offchip_core_id": 1,
            "core_connectivity": [
                *({"type": "link", "cores": list(pair), **near} for pair in rows),
                {"type": "bus", "cores": [*numbers, 1], "bandwidth": 32},
            ],
        }
        alone = nestmap.stream(
            tmp_path / "net.yaml", made, tmp_path / "split.yaml", plan=PLAN, workers=1
        )
        assert design.accelerator == alone.problem.accelerator.content_hash
        assert (design.energy, design.latency) == (alone.energy, alone.latency)
        assert design.area == 5 * count
    latencies = [x.latency or 0 for x in mapped_first(found)]
    assert latencies == sorted(latencies, reverse=True)
    assert len(set(latencies)) == 3


def test_a_base_in_the_space_may_name_files_beside_it(swept: SweepResult, tmp_path: Path) -> None:
    lines = "".join(f"  {line}\n" for line in MACHINE.splitlines())
    file = write_core_space(
        tmp_path, SPACE.replace("accelerator: duo.yaml\n", f"accelerator:\n{lines}")
    )
    found = nestmap.sweep(file, plan=PLAN)
    assert [(x.energy, x.accelerator) for x in found.points] == [
        (x.energy, x.accelerator) for x in swept.points
    ]


class KilledError(Exception):
    """Ends a sweep between two designs."""


class Kill:
    """Progress that ends a sweep after three designs."""

    def __init__(self) -> None:
        self.left = 3

    def start(self, designs: int) -> None:
        """It begins."""

    def explored(self, points: DesignPoints, front: int) -> None:
        """One less is left."""
        self.left -= 1
        if not self.left:
            raise KilledError

    def recalled(self, points: DesignPoints, front: int) -> None:
        """What is known does not count."""


def test_a_sweep_that_ended_early_is_resumed_without_its_files(tmp_path: Path) -> None:
    file, path = write_core_space(tmp_path), tmp_path / "s.duckdb"
    whole = nestmap.sweep(file, plan=PLAN)
    with pytest.raises(KilledError):
        nestmap.sweep(file, plan=PLAN, store=path, progress=Kill())
    with Store.open_read_only(path) as store:
        (sweep,) = store.sweeps()
        assert 3 <= sweep.state.designs < len(DESIGNS)
    for each in tmp_path.glob("*.yaml"):
        each.unlink()
    assert nestmap.resume_sweep("cores", path) == whole
    found = nestmap.recorded_sweep("cores", path)
    assert found == whole
    assert found.accelerator_yaml(found.points[3]) == whole.accelerator_yaml(whole.points[3])
    with Store.open_read_only(path) as store:
        assert read_summary("cores", store).front == whole.front
        rows = list(store.query("SELECT accelerator FROM runs").rows())
        machines = {x.accelerator for x in whole.front}
        assert {x["accelerator"] for x in rows} == machines
        assert len(rows) == 2 * len(machines)  # a run for each network
        assert {x.status for x in store.runs()} == {RunStatus.DONE}
    assert check_store(path).is_sound


def test_sweeps_share_what_they_find_with_the_same_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled: list[str] = []

    def counted(
        job: StreamJob, ports: StreamPorts | None = None
    ) -> Stage[StreamProblem, ScheduledSearch]:
        scheduled.append(job.problem.accelerator.content_hash)
        return stream_pipeline(job, ports)

    monkeypatch.setattr(several_cores, "stream_pipeline", counted)
    path = tmp_path / "s.duckdb"
    first = nestmap.sweep(write_core_space(tmp_path), plan=PLAN, store=path, runs="none")
    assert len(scheduled) == 2 * len(mapped_first(first))
    scheduled.clear()
    fewer = write_core_space(tmp_path, SPACE.replace("wires: [8, 32]", "wires: [32, 64]"))
    found = nestmap.sweep(fewer, plan=PLAN, store=path, runs="none")
    known = {x.accelerator for x in first.points}
    assert set(scheduled) == {x.accelerator for x in found.points} - known
    assert found == nestmap.sweep(fewer, plan=PLAN)
    scheduled.clear()
    nestmap.sweep(fewer, plan=stream_plan(generations=0, lpf_limit=2), store=path, runs="none")
    assert {x.accelerator for x in found.points} == set(scheduled)


def test_the_default_plan_is_for_the_objectives_of_the_space(file: Path) -> None:
    space = parse_design_space(file)
    plan = stream_plan_of_sweep(space, SearchOptions())
    assert plan.objective is Objective.ENERGY
    names = Objective
    assert plan.genetic.objectives == (names.ENERGY, names.LATENCY)
    plan = stream_plan_of_sweep(space, SearchOptions(objective="edp", lpf_limit=4))
    assert plan.objective is Objective.EDP
    assert plan.genetic.objectives == (names.EDP, names.ENERGY, names.LATENCY)
    assert plan.core == stream_plan(lpf_limit=4).core
    assert stream_plan_of_sweep(space, SearchOptions(), PLAN) == PLAN
    assert stream_plan_of_sweep(space, SearchOptions()).core == StreamPlan().core


def test_the_default_plan_is_for_what_expressions_need(file: Path) -> None:
    space = parse_design_space(file)
    expressions = ("energy * area", "2 * latency", "energy * latency", "area", "energy / 2")
    objectives = tuple(ObjectiveFormula(of=Expression(text=x)) for x in expressions)
    plan = stream_plan_of_sweep(copy_with(space, {"objectives": objectives}), SearchOptions())
    assert plan.objective is Objective.ENERGY
    names = Objective
    assert plan.genetic.objectives == (names.ENERGY, names.LATENCY, names.EDP)


def test_objectives_may_be_expressions(swept: SweepResult, tmp_path: Path) -> None:
    goals = "[area, {name: cost, of: energy * area}, latency]"
    file = write_core_space(tmp_path, SPACE.replace("[energy, latency, area]", goals))
    plan = stream_plan_of_sweep(parse_design_space(file), SearchOptions())
    assert [x.value for x in plan.genetic.objectives] == ["energy", "latency"]
    found = nestmap.sweep(file, plan=PLAN)
    assert [(x.energy, x.area) for x in found.points] == [(x.energy, x.area) for x in swept.points]
    best = min((x.energy or 0) * (x.area or 0) for x in found.points)
    assert found.best("cost").figure(found.space.objectives[1]) == best


def test_designs_without_a_schedule_have_a_reason(tmp_path: Path) -> None:
    text = SPACE.replace(
        "cores.lane.operational_array.sizes[0]: lanes", "cores.2.memories.dram.size: lanes * 8"
    )
    found = nestmap.sweep(write_core_space(tmp_path, text), plan=PLAN)
    assert not found.front
    for design in found.points:
        assert design.area is not None
        assert design.reason is not None
        assert "net.yaml: " in design.reason
        assert "dram" in design.reason


def test_a_bound_of_the_latency_is_the_gap_of_a_design(tmp_path: Path) -> None:
    file = write_core_space(tmp_path, SPACE.replace("lanes: [1, 2]", "lanes: [2]"))
    plan = stream_plan(objectives=["latency"], engine="constraint", lpf_limit=3)
    found = nestmap.sweep(file, plan=plan)
    assert nestmap.sweep(file, plan=plan, workers=1) == found
    made = tmp_path / "design.yaml"
    for design in found.points:
        made.write_text(found.accelerator_yaml(design))
        alone = nestmap.stream(tmp_path / "net.yaml", made, tmp_path / "split.yaml", plan=plan)
        assert alone.bound is not None
        assert design.networks[0].gap == alone.bound.gap
        assert design.networks[0].latency == alone.latency


def test_designs_may_be_sampled(file: Path) -> None:
    found = nestmap.sweep(file, plan=PLAN, strategy="nsga2", designs=5)
    assert len({x.number for x in found.points}) == 5
    assert nestmap.sweep(file, plan=PLAN, strategy="nsga2", designs=5, workers=1) == found


def test_runs_of_all_designs_are_recorded_once(
    swept: SweepResult, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.duckdb"
    for _ in range(2):
        assert nestmap.sweep(file, plan=PLAN, store=path, runs="all") == swept
        with Store.open_read_only(path) as store:
            assert len(store.runs()) == 2 * len(mapped_first(swept))


def test_a_type_of_connection_is_a_field(tmp_path: Path) -> None:
    text = SPACE.replace("wires: [8, 32]", "kind: ['link', 'bus']")
    text = text.replace("connectivity[1].bandwidth: wires", "connectivity[0].type: kind")
    found = nestmap.sweep(write_core_space(tmp_path, text), plan=PLAN)
    assert not found.infeasible
    types = [
        "type: link" in found.accelerator_yaml(x) for x in mapped_first(found) if x.number % 2 == 0
    ]
    assert types == [True, False] * 2


WRONG: Final = [
    ("cores.lane.oper", "cores.lain.oper", 9, "the unknown core 'lain'; expected lane (one of"),
    ("array.sizes", "array.size", 9, "found the unknown field 'size'; expected sizes"),
    ("cores.lane.oper", "cores.7.oper", 9, "the unknown core '7'; expected one of lane, dram, 0"),
    ("[1].bandwidth", "[1].bandwith", 10, "the unknown field 'bandwith'; expected bandwidth"),
    ("[1].bandwidth", "[2].bandwidth", 10, "[2].bandwidth of a list of 2; expected [0] to [1]"),
    ("[1].bandwidth: wires", "[1].bandwidth: wires / 3", 10, "expected a whole number"),
    ("cores.1: is_dual", "cores.3: is_dual", 12, "the unknown core '3'"),
    ("cores.1: is_dual", "core.1: is_dual", 12, "the unknown part 'core.1'; expected cores.1"),
    ("cores.1: is_dual", "cores.2: is_dual", 12, "core 2, which is off the chip"),
    ("cores.1: is_dual", "cores.1.memories.bufer: is_dual", 12, "expected memories.buffer"),
    ("when:", "constraints: ['cores.lame.area < 9']\nwhen:", 11, "expected cores.lane.area"),
    ("when:", "constraints: ['memories.reg.size < 9']\nwhen:", 11, "which the base does not have"),
    ("split.yaml", "spilt.yaml", 3, "spilt.yaml"),
]


@pytest.mark.parametrize(("old", "new", "line", "told"), WRONG)
def test_errors_are_told_before_anything_runs(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    file = write_core_space(tmp_path, SPACE.replace(old, new))
    with pytest.raises(InputError) as error:
        nestmap.sweep(file, plan=PLAN)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert told in str(error.value)


def test_a_split_that_does_not_suit_a_network_is_an_error(tmp_path: Path) -> None:
    file = write_core_space(tmp_path)
    with pytest.raises(InputError, match="prefetch: found operand X"):
        nestmap.sweep(file, plan=stream_plan(prefetch=["X"]))


def test_plans_and_options_are_those_of_the_base(file: Path, tmp_path: Path) -> None:
    single = write_core_space(tmp_path, SPACE.replace("duo.yaml", "lane.yaml"))
    with pytest.raises(InputError, match="plan: found a StreamPlan, and the base has a single"):
        nestmap.sweep(single, plan=PLAN)
    with pytest.raises(InputError, match="plan: found a SearchPlan, and the base has several"):
        nestmap.sweep(file, plan=SearchPlan())
    with pytest.raises(InputError, match="cannot be combined with a base with several cores"):
        nestmap.sweep(file, plan=PLAN, static_energy=True)


def test_constraints_know_cores_and_memories(tmp_path: Path) -> None:
    conditions = [
        "area <= 8",
        "cores.lane.count * 2 <= 4",
        "units == cores.lane.units",
        "cores.lane.memories.buffer.total == 8192 * cores.lane.count",
        "cores.lane.memories.reg.instances == units",
        "cores.lane.memories.buffer.bandwidth == 64 * cores.lane.count",
        "cores.lane.memories.reg.bandwidth == 2 * 16 * units",
        "cores.dram.memories.dram.area == 50",
        "cores.lane.area == area",
    ]
    text = SPACE.replace("when:", f"constraints: {conditions}\nwhen:")
    found = nestmap.sweep(write_core_space(tmp_path, text), plan=PLAN)
    kept = [(x, y, z) for x, y, z in DESIGNS if (x + 3) * (1 + z) <= 8]
    assert [tuple(dict(x.parameters).values()) for x in mapped_first(found)] == kept
    assert found.rejected == len(DESIGNS) - len(kept) > 0
