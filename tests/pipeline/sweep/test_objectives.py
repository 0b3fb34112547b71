"""Objectives that are expressions decide fronts, samplers, tables and stores as quantities do."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import nestmap
from nestmap import SweepResult
from nestmap.model import InputError, MappingProblem, Objective
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.evaluation.objective import DesignQuantity
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.frontend.yaml.design_space import parse_design_space
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.stages import AllSpatialMappingsStage
from nestmap.pipeline.stages.mapping.candidates import RankedCandidates
from nestmap.pipeline.sweep.methods.sweep_method import plan_of_sweep
from nestmap.pipeline.sweep.options import StrategyName
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.pipeline.sweep.result.result_table import front_table, heading
from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.cli.inputs import run
from tests.pipeline.sweep.spaces import SPACE, write_space

QUANTITIES: Final = "objectives: [energy, latency]"
NAMED: Final = "objectives: [latency, {name: cost, of: energy * area}, energy * latency ** 2]"
STRATEGIES: Final[tuple[tuple[StrategyName, int | None], ...]] = (
    ("grid", None),
    ("random", 9),
    ("nsga2", 14),
    ("tpe", 12),
)


def formula(text: str) -> ObjectiveFormula:
    return ObjectiveFormula(of=Expression(text=text))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """The small space with named and unnamed expressions."""
    return nestmap.sweep(write_space(tmp_path_factory.mktemp("named"), _with(NAMED)))


def _with(objectives: str) -> str:
    return SPACE.replace(QUANTITIES, objectives)


def of(
    file: Path, *objectives: SweepObjective, strategy: StrategyName, designs: int | None
) -> SweepResult:
    """The sweep of the small space for other objectives, each layer mapped for energy."""
    space = parse_design_space(file)
    changed = space.model_copy(update={"objectives": objectives})
    return nestmap.sweep(
        changed, strategy=strategy, designs=designs, design_seed=5, objective="energy"
    )


@pytest.mark.parametrize(("strategy", "designs"), STRATEGIES)
def test_the_expression_of_a_quantity_is_that_quantity(
    file: Path, strategy: StrategyName, designs: int | None
) -> None:
    energy, area = Objective.ENERGY, DesignQuantity.AREA
    one = of(file, energy, area, strategy=strategy, designs=designs)
    other = of(file, formula("energy"), formula("area"), strategy=strategy, designs=designs)
    assert len(one.front) > 1
    assert other.points == one.points
    assert other.front == one.front
    assert [x.values.tolist() for x in other.view.objectives] == [
        x.values.tolist() for x in one.view.objectives
    ]


@pytest.mark.parametrize(("strategy", "designs"), STRATEGIES)
def test_of_sums_the_product_of_energy_and_latency_is_the_edp(
    file: Path, strategy: StrategyName, designs: int | None
) -> None:
    edp, area = Objective.EDP, DesignQuantity.AREA
    one = of(file, edp, area, strategy=strategy, designs=designs)
    other = of(file, formula("energy * latency"), area, strategy=strategy, designs=designs)
    assert len(one.front) > 1
    assert (other.points, other.front) == (one.points, one.front)


def test_the_front_is_that_of_all_designs(swept: SweepResult) -> None:
    figures: list[tuple[float, float, float]] = []
    for x in swept.points:
        assert x.energy is not None
        assert x.latency is not None
        assert x.area is not None
        figures.append((x.latency, x.energy * x.area, x.energy * x.latency**2))
    best = {
        one for one in figures
        if not any(all(a <= b for a, b in zip(x, one, strict=True)) and x != one for x in figures)
    }  # fmt: skip
    found = [tuple(x.figure(goal) for goal in swept.space.objectives) for x in swept.front]
    assert found == sorted(best)
    assert 1 < len(found) < len(swept.points)


def test_objectives_are_found_by_their_names(swept: SweepResult) -> None:
    _, cost, text = swept.space.objectives
    for name, goal in (("cost", cost), ("energy * latency ** 2", text)):
        least = min(x.figure(goal) or 0 for x in swept.points)
        assert swept.best(name).figure(goal) == least
        assert swept.best(goal) == swept.best(name)
    with pytest.raises(ValueError, match=r"'cots'; expected cost \(one of energy, latency"):
        swept.best("cots")


def test_tables_and_files_have_the_expressions(swept: SweepResult) -> None:
    assert "lowest latency, cost, energy * latency ** 2 for" in heading(swept.summary)
    shown = front_table(swept.summary)
    assert [x.title for x in shown.columns][-4:] == ["Area", "cost", "energy * latency ** 2", "Gap"]
    rows = json.loads("\n".join(answer_text(swept.relation(), Layout.JSON)))
    goals = swept.space.objectives[1:]
    for row, design in zip(rows, swept.points, strict=True):
        assert [row[str(x)] for x in goals] == [design.figure(x) for x in goals]
    assert SweepResult.model_validate_json(swept.model_dump_json()) == swept


def test_a_parameter_may_be_an_objective(file: Path) -> None:
    found = of(file, Objective.ENERGY, formula("lanes"), strategy="grid", designs=None)
    rows = json.loads("\n".join(answer_text(found.relation(), Layout.JSON)))
    assert [x["lanes"] for x in rows] == [dict(x.parameters)["lanes"] for x in found.points]
    least = [x for x in found.front if dict(x.parameters)["lanes"] == 1]
    assert found.best("lanes") in least


def test_a_design_without_a_value_is_infeasible(tmp_path: Path) -> None:
    text = _with("objectives: [latency, energy / (lanes - 2)]")
    found = nestmap.sweep(write_space(tmp_path, text))
    assert {dict(x.parameters)["lanes"] for x in found.infeasible} == {2}
    assert {dict(x.parameters)["lanes"] for x in found.front} <= {1, 4}
    assert found.front
    (reason, *_) = found.summary.reasons
    assert reason.text.startswith(
        "objectives[1]: energy / (lanes - 2), which is a division by zero"
    )
    for sampled in ("nsga2", "tpe"):
        some = nestmap.sweep(tmp_path / "space.yaml", strategy=sampled, designs=12)
        assert all(x == found.design(x.number, x.mapped_for) for x in some.points)
        assert all(np.isfinite(x.values).all() for x in some.view.objectives)


@pytest.mark.parametrize(
    ("objective", "told"),
    [
        ("1 / (lanes - 2)", "1 / (lanes - 2), which is a division by zero with lanes=2 (design 6)"),
        ("latency, 7 / (area - 4)", "which is a division by zero with area=4.0 (design 12)"),
        ("(lanes - 2) ** -1", "a negative power of zero with lanes=2 (design 6)"),
    ],
)
def test_what_needs_no_mapping_is_checked_before_anything_is_explored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str, told: str
) -> None:
    file = write_space(tmp_path, _with(f"objectives: [energy, {objective}]"))

    def explored(_: AllSpatialMappingsStage, problem: MappingProblem, /) -> RankedCandidates:
        raise AssertionError(problem)

    monkeypatch.setattr(AllSpatialMappingsStage, "__call__", explored)
    with pytest.raises(InputError) as error:
        nestmap.sweep(file)
    assert str(error.value).startswith(f"{file}:16: objectives[")
    assert told in str(error.value)


WRONG = [
    ("enrgy * 2", "found the unknown name enrgy; expected energy (one of energy, latency, edp"),
    ("energy * lane", "found the unknown name lane; expected lanes (one of"),
    ("energy *", "found 'energy *'; expected an expression of numbers"),
    ("energy < 2", "found energy < 2, which is true or false; expected a number"),
    ("energy / 0", "found energy / 0: a division by zero; expected another divisor"),
    ("7", "found 7, which is the same for all designs; expected an expression of energy"),
    ("energy ** 0.5j", "expected only numbers"),
    ("{name: area, of: energy * 2}", "found the name 'area'; expected none of"),
    ("{name: lanes, of: energy * 2}", "found the name lanes, which a parameter has; expected ano"),
    ("{name: cost}", "found no of; expected the field of"),
    ("{nam: cost, of: energy}", "found the unknown field 'nam'; expected name"),
    ("latency", "found a second latency; expected each once"),
    ("[energy]", "expected a number, a text, true or false"),
]


@pytest.mark.parametrize(("objective", "told"), WRONG)
def test_wrong_objectives_are_told_with_their_line(
    objective: str, told: str, tmp_path: Path
) -> None:
    file = write_space(tmp_path, _with(f"objectives: [latency, {objective}]"))
    with pytest.raises(InputError) as error:
        nestmap.sweep(file)
    assert str(error.value).startswith(f"{file}:16: objectives[1]")
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ("[energy * area]", Objective.ENERGY),
        ("[area, latency ** 2]", Objective.LATENCY),
        ("[energy * latency ** 2]", Objective.EDP),
        ("[lanes, 2 * edp]", Objective.EDP),
        ("[edp + energy]", Objective.EDP),
        ("[lanes * area]", Objective.ENERGY),
        ("[lanes * area, latency]", Objective.LATENCY),
    ],
)
def test_mappings_minimize_what_the_first_objective_needs(
    tmp_path: Path, objectives: str, expected: Objective
) -> None:
    space = parse_design_space(write_space(tmp_path, _with(f"objectives: {objectives}")))
    assert plan_of_sweep(space, SearchOptions()).objective is expected


def test_keys_of_spaces_without_expressions_stay(tmp_path: Path) -> None:
    """They are those of the version before expressions."""
    space = parse_design_space({"name": "s", "accelerator": "tpu_like", "parameters": {"a": [1, 2]},
        "set": {"operational_array.sizes[0]": "a"}, "networks": ["light:alexnet"],
        "objectives": ["edp", "area"]})  # fmt: skip
    assert space.content_hash == "8e5f6bf8538064bea402fd3ac362bcb7"


def test_sweeps_are_recorded_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    file = write_space(tmp_path, _with(NAMED))
    found = nestmap.sweep(file, store=path)
    assert nestmap.sweep(file, store=path, runs="none") == found
    for each in tmp_path.glob("*.yaml"):
        each.unlink()
    assert nestmap.resume_sweep("small", path, runs="none") == found
    assert nestmap.recorded_sweep("small", path) == found
    with Store.open_read_only(path) as store:
        summary, expected = read_summary("small", store), found.summary
        assert replace(summary, columns=expected.columns) == expected
        for one, other in zip(summary.view.objectives, expected.view.objectives, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
        best = store.ask("sweep_best").rows()
        names = [str(x) for x in found.space.objectives]
        assert [x["objective"] for x in best] == names
        assert [int(str(x["design"])) for x in best] == [found.best(x).number for x in names]
        front = store.ask("sweep_front").rows()
        assert [x["objective_values"] for x in front] == [
            [x.figure(goal) for goal in found.space.objectives] for x in found.front
        ]
    assert check_store(path).is_sound


def test_sweeps_with_other_objectives_share_their_designs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those designs for which the objectives of the first sweep have no value."""
    path = tmp_path / "s.duckdb"
    first = write_space(tmp_path, _with("objectives: [energy / (lanes - 2)]"))
    assert nestmap.sweep(first, store=path, runs="none").infeasible
    explored: list[str] = []
    original = AllSpatialMappingsStage.__call__

    def counted(stage: AllSpatialMappingsStage, problem: MappingProblem, /) -> RankedCandidates:
        explored.append(problem.accelerator.content_hash)
        return original(stage, problem)

    monkeypatch.setattr(AllSpatialMappingsStage, "__call__", counted)
    other = write_space(tmp_path, _with("objectives: [energy * area, lanes]"))
    shared = nestmap.sweep(other, store=path, runs="none")
    assert not explored
    assert shared == nestmap.sweep(other)
    assert not shared.infeasible


def test_commands_know_expressions(tmp_path: Path) -> None:
    file, store = write_space(tmp_path, _with(NAMED)), tmp_path / "s.duckdb"
    report, plots = tmp_path / "sweep.html", tmp_path / "plots"
    ended = run("sweep", str(file), "--store", str(store), "--report", str(report),
                "--plot", str(plots))  # fmt: skip
    assert ended.code == 0
    assert "lowest latency, cost, energy * latency ** 2 for" in ended.out
    assert "Least energy * latency ** 2" in report.read_text()
    assert {x.stem for x in plots.iterdir()} >= {"designs", "parameters", "parallel"}
    for command in (("show", "--sweep", "small"), ("query", "sweep_best"), ("resume", "small")):
        ended = run(*command, "--store", str(store))
        assert ended.code == 0
        assert "cost" in ended.out
