"""A sweep finds what ``nestmap.explore`` finds on every design, however it is run."""

import json
from itertools import product
from math import inf
from pathlib import Path
from typing import Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap import DesignSpace, SweepResult
from nestmap.model import InfeasibleError, InputError, MappingProblem, Objective
from nestmap.model.base import copy_with
from nestmap.model.design_space.parameters import COLUMNS
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.model.workload.densities import with_densities
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.frontend.yaml.design_space import parse_design_space
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.stages import AllSpatialMappingsStage
from nestmap.pipeline.stages.mapping.candidates import RankedCandidates
from nestmap.pipeline.sweep.record.recorded_summary import read_result
from nestmap.pipeline.sweep.result.result_table import front_table, notes
from nestmap.pipeline.sweep.result.summary import Figures, Front
from tests.pipeline.cli.inputs import MACHINE
from tests.pipeline.sweep.core_spaces import COUNTS, write_core_space
from tests.pipeline.sweep.spaces import SPACE, write_space

DESIGNS: Final = list(product((1, 2, 4), (2, 4, 8), (True, False)))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def swept(file: Path) -> SweepResult:
    return nestmap.sweep(file)


def machine(lanes: int, words: int, has_outlet: bool) -> dict[str, object]:
    """The description of a design, written out by hand."""
    tree: dict[str, object] = yaml.safe_load(MACHINE)
    array, memories = tree["operational_array"], tree["memories"]
    assert isinstance(array, dict)
    assert isinstance(memories, dict)
    array["sizes"] = [lanes]
    memories["outlet"]["size"] = 8 * words
    if not has_outlet:
        del memories["outlet"]
    return tree


def test_every_figure_is_that_of_an_exploration(swept: SweepResult, file: Path) -> None:
    """Each design is mapped for energy, for latency, and for their product."""
    mapped_for = (Objective.ENERGY, Objective.LATENCY, Objective.EDP)
    assert swept.mapped_for == mapped_for
    asked = list(product(enumerate(DESIGNS), mapped_for))
    assert [(x.number, x.mapped_for) for x in swept.points] == [(n, o) for (n, _), o in asked]
    for design, ((_, (lanes, words, has_outlet)), objective) in zip(
        swept.points, asked, strict=True
    ):
        assert dict(design.parameters) == {
            **{"lanes": lanes, "words": words, "bits": 8 * words, "has_outlet": has_outlet}
        }
        tree = machine(lanes, words, has_outlet)
        first, other = (
            nestmap.explore(file.parent / f"{name}.yaml", tree, objective=objective, workers=1)
            for name in ("net", "other")
        )
        assert design.reason is None
        assert [(x.energy, x.latency) for x in design.networks] == [
            (first.energy, first.latency),
            (other.energy, other.latency),
        ]
        energy, latency = (first.energy + 2.5 * other.energy, first.latency + 2.5 * other.latency)
        assert (design.energy, design.latency) == (energy, latency)
        assert design.edp == energy * latency
        assert design.area == lanes
        if objective is not Objective.EDP:  # whose bound is that of all layers together
            assert [x.gap for x in design.networks] == [0, 0]


def test_designs_are_compared_as_each_is_at_its_best(swept: SweepResult) -> None:
    """What mappings for energy cost in cycles does not decide which design is fast."""
    best = swept.best("latency")
    assert best.mapped_for is Objective.LATENCY
    energy = [x.latency for x in swept.points if x.mapped_for is Objective.ENERGY and x.latency]
    assert best.latency is not None
    assert best.latency < min(energy)
    assert {x.mapped_for for x in swept.front} > {Objective.ENERGY, Objective.LATENCY}


def test_an_objective_that_is_given_is_the_only_one(swept: SweepResult, file: Path) -> None:
    plan = SearchPlan.of({"objective": "latency"})
    for found in (nestmap.sweep(file, objective="latency"), nestmap.sweep(file, plan=plan)):
        assert found.mapped_for == (Objective.LATENCY,)
        assert list(found.points) == [x for x in swept.points if x.mapped_for is Objective.LATENCY]


def test_the_front_is_that_of_all_pairs(swept: SweepResult) -> None:
    pairs = {(x.energy, x.latency): x for x in reversed(swept.points)}
    expected = [
        pairs[e, t]
        for e, t in sorted((e, t) for e, t in pairs if e is not None and t is not None)
        if not any((x, y) != (e, t) and x <= e and y <= t for x, y in pairs if x and y)
    ]
    assert list(swept.front) == expected
    assert 0 < len(expected) < len(swept.points)


@given(st.lists(st.tuples(*[st.integers(0, 5).map(float)] * 3), max_size=30))
def test_fronts_are_those_of_comparing_all(rows: list[Figures]) -> None:
    front = Front()
    for place, row in enumerate(rows):
        front.add(row, place)
    beaten = [
        any(x != row and all(a <= b for a, b in zip(x, row, strict=True)) for x in rows)
        for row in rows
    ]
    kept = {row for row, is_beaten in zip(rows, beaten, strict=True) if not is_beaten}
    assert [rows[n] for n in front.places] == sorted(kept)
    assert [rows.index(rows[n]) for n in front.places] == list(front.places)


def test_results_do_not_depend_on_the_number_of_workers(swept: SweepResult, file: Path) -> None:
    assert nestmap.sweep(file, workers=1) == swept
    assert nestmap.sweep(file, workers=4) == swept


def test_spaces_are_given_as_files_values_or_models(swept: SweepResult, file: Path) -> None:
    model = parse_design_space(file)
    values = yaml.safe_load(SPACE.replace("- net.yaml", f"- {file.parent}/net.yaml"))
    values["networks"][1]["network"] = str(file.parent / "other.yaml")
    values["accelerator"] = yaml.safe_load(MACHINE)
    for space in (str(file), model, values):
        found = nestmap.sweep(space)
        assert [(x.energy, x.latency) for x in found.points] == [
            (x.energy, x.latency) for x in swept.points
        ]


def test_results_are_values(swept: SweepResult) -> None:
    assert SweepResult.model_validate_json(swept.model_dump_json()) == swept
    front = len({x.number for x in swept.front})
    assert repr(swept) == f"<SweepResult: small, 18 designs, {front} on the front>"


def test_random_designs_have_the_figures_of_the_grid(swept: SweepResult, file: Path) -> None:
    some = nestmap.sweep(file, strategy="random", designs=5, design_seed=3)
    assert some.summary.designs == 5
    assert all(x == swept.design(x.number, x.mapped_for) for x in some.points)
    assert some == nestmap.sweep(file, strategy="random", designs=5, design_seed=3)
    assert some != nestmap.sweep(file, strategy="random", designs=5, design_seed=4)


def test_the_best_design_has_the_lowest_figure(swept: SweepResult) -> None:
    for objective in DESIGN_OBJECTIVES:
        best = swept.best(objective.value).figure(objective)
        assert best == min(x.figure(objective) or 0 for x in swept.points)
    with pytest.raises(ValueError, match="speed"):
        swept.best("speed")


def test_of_equal_designs_the_best_is_on_the_front(swept: SweepResult) -> None:
    """One of the lowest energy that is slower comes first, and another one of it."""
    found = swept.best("energy")
    first, *others = found.networks
    later = copy_with(first, {"latency": (first.latency or 0.0) + 1.0})
    slower = copy_with(found, {"number": 99, "networks": (later, *others)})
    other = copy_with(found, {"number": 100})
    more = copy_with(swept, {"points": (slower, *swept.points, other)})
    assert more.best("energy") == found
    assert more.best("energy") in more.front


def test_the_yaml_of_a_design_is_explored_with_its_figures(
    swept: SweepResult, file: Path, tmp_path: Path
) -> None:
    design = swept.front[0]
    made = tmp_path / "best.yaml"
    made.write_text(swept.accelerator_yaml(design))
    assert made.read_text().startswith(f"# Design {design.number} of 'small': {design}\n")
    found = nestmap.explore(file.parent / "net.yaml", made, objective=design.mapped_for)
    assert (found.energy, found.latency) == (design.networks[0].energy, design.networks[0].latency)


def test_the_yaml_of_a_design_says_that_it_was_counted_as_by_zigzag(
    swept: SweepResult, file: Path, tmp_path: Path
) -> None:
    store = tmp_path / "reference.duckdb"
    found = nestmap.sweep(file, reference=True, store=store)
    second = found.accelerator_yaml(found.points[0]).splitlines()[1]
    assert second == "# figures in the reference's counting: explore it with --reference"
    assert "--reference" not in swept.accelerator_yaml(swept.points[0])
    assert read_result(found.space.name, store).is_reference


def test_rows_are_exported_with_all_digits(swept: SweepResult) -> None:
    rows = json.loads("\n".join(answer_text(swept.relation(), Layout.JSON)))
    front = {(x.number, x.mapped_for) for x in swept.front}
    for row, design in zip(rows, swept.points, strict=True):
        assert row == {
            "design": design.number,
            **dict(design.parameters),
            "mapped_for": design.mapped_for.value,
            **{"energy": design.energy, "latency": design.latency, "edp": design.edp},
            **{"area": design.area, "gap": design.gap},
            **{"on_front": (design.number, design.mapped_for) in front, "reason": None},
            "networks": [x.model_dump() for x in design.networks],
        }
    assert set(rows[0]) - {name for name, _ in swept.points[0].parameters} == set(COLUMNS)
    header = next(iter(answer_text(swept.relation(), Layout.CSV)))
    assert header == (
        "design,lanes,words,bits,has_outlet,mapped_for,energy,latency,edp,area,gap,on_front,reason,networks"
    )


def test_gaps_of_designs_are_told(file: Path) -> None:
    swept = nestmap.sweep(file, objective="energy")
    assert {x.gap for x in swept.points} == {0.0}
    assert not any("not proven" in note for note in notes(swept.summary))
    assert "Gap" not in [x.title for x in front_table(swept.summary).columns]
    designs = list(swept.points)
    place = designs.index(swept.front[0])
    networks = [copy_with(x, {"gap": 0.0521}) for x in designs[place].networks]
    designs[place] = copy_with(designs[place], {"networks": tuple(networks)})
    summary = copy_with(swept, {"points": tuple(designs)}).summary
    assert "1 is not proven: the optimum of a network is at most 5.3% lower." in notes(summary)
    shown = front_table(summary)
    assert shown.columns[-1].title == "Gap"
    assert "5.3%" in {row.cells[-1].text for row in shown.rows}


def infeasible_space(folder: Path) -> SweepResult:
    """Designs whose register has room for half a sum, and ones whose port is too narrow."""
    text = SPACE.replace("  outlet: has_outlet", "  outlet: has_outlet and lanes < 9")
    text = text.replace("memories.outlet.size: bits", "memories.reg.size: bits - 8")
    text = text.replace("to: 8", "to: 4").replace("[1, 2, 4]", "[1, 0]")
    return nestmap.sweep(write_space(folder, text))


def test_designs_without_figures_are_rows_with_reasons(tmp_path: Path) -> None:
    found = infeasible_space(tmp_path)
    reasons = {(x.parameters[0][1], x.parameters[1][1]): x.reason or "" for x in found.points}
    assert "reg too small for O" in reasons[1, 2]
    assert reasons[1, 4] == ""
    assert reasons[0, 4].startswith("lanes=0, words=4, bits=32")
    assert "operational_array.sizes[0]" in reasons[0, 4]
    refused = next(x for x in found.points if x.parameters[0][1] == 0)
    assert (refused.area, refused.energy, refused.networks) == (None, None, ())
    assert all(x.is_feasible for x in found.front)
    assert {x.number for x in found.infeasible}.isdisjoint(x.number for x in found.front)


def test_without_a_feasible_design_there_is_no_best(tmp_path: Path) -> None:
    text = SPACE.replace("memories.outlet.size: bits", "memories.reg.size: 8 + bits * 0")
    found = nestmap.sweep(write_space(tmp_path, text))
    assert found.front == ()
    with pytest.raises(InfeasibleError, match="no design of small is feasible"):
        found.best("energy")


def test_equal_accelerators_and_layers_are_explored_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the outlet its size makes no difference; both networks have the first layer."""
    explored: list[tuple[str, str]] = []
    original = AllSpatialMappingsStage.__call__

    def counted(stage: AllSpatialMappingsStage, problem: MappingProblem, /) -> RankedCandidates:
        explored.append((problem.accelerator.content_hash, problem.layer.name))
        return original(stage, problem)

    monkeypatch.setattr(AllSpatialMappingsStage, "__call__", counted)
    nestmap.sweep(file, objective="energy", workers=3)
    different = {(lanes, words if has_outlet else 0) for lanes, words, has_outlet in DESIGNS}
    assert len(explored) == len(set(explored)) == 2 * len(different)


def test_networks_may_be_models() -> None:
    net = nestmap.network("n", nestmap.linear("fc", (4, 16), 8))
    values = yaml.safe_load(SPACE)
    model = parse_design_space({**values, "accelerator": yaml.safe_load(MACHINE)})
    entry = model.networks[0].model_copy(update={"network": net})
    space = DesignSpace.model_validate(dict(model) | {"networks": (entry,)})
    found = nestmap.sweep(space)
    assert found.points[0].networks[0].network == "n"


def test_arguments_are_checked(file: Path) -> None:
    with pytest.raises(InputError, match="strategy: found 'grit'; expected one of grid, random"):
        nestmap.sweep(file, strategy="grit")  # type: ignore[arg-type] # what users may write
    with pytest.raises(InputError, match="workers"):
        nestmap.sweep(file, workers=0)
    with pytest.raises(InputError, match=r"space\.yaml:2: accelerator: .*found no leakage"):
        nestmap.sweep(file, static_energy=True)


def test_densities_are_those_of_an_exploration(tmp_path: Path) -> None:
    text = SPACE.replace("weight: 2.5", "densities: {I: 0.5, only.W: 0.25}")
    file = write_space(tmp_path, text)
    tree = machine(1, 2, has_outlet=True)
    array = tree["operational_array"]
    assert isinstance(array, dict)
    array["zero_gating"] = ["I1", "I2"]
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))
    network = read_workload(tmp_path / "other.yaml")
    with_zeros = with_densities(network, {"I": 0.5, "only.W": 0.25})
    plain, sparse = (nestmap.explore(x, tree, objective="energy") for x in (network, with_zeros))
    found = nestmap.sweep(file).points[0].networks[1]
    assert found.network.endswith("other.yaml (density I=0.5, density only.W=0.25)")
    assert (found.energy, found.latency) == (sparse.energy, sparse.latency)
    assert found.energy < plain.energy


ON_CHIP: Final = """\
name: buffers
accelerator: tpu_like
parameters: {kibibytes: [1, 4, 64, 2048]}
set: {memories.sram_2MB.size: kibibytes * 8 * 2 ** 10}
networks: [layers.yaml]
objectives: [energy]
"""
CHAIN: Final = """\
- {id: 0, name: up, operator_type: Gemm, equation: "O[b][k]+=W[k][c]*I[b][c]",
   loop_dims: [B, K, C], loop_sizes: [64, 64, 64],
   operand_precision: {W: 8, I: 8, O: 16, O_final: 8}, operand_source: {I: 0, W: 0}}
- {id: 1, name: down, operator_type: Gemm, equation: "O[b][k]+=W[k][c]*I[b][c]",
   loop_dims: [B, K, C], loop_sizes: [64, 32, 64],
   operand_precision: {W: 8, I: 8, O: 16, O_final: 8}, operand_source: {I: 0, W: 1}}
"""


def test_larger_buffers_keep_tensors_on_chip_and_never_cost_more(tmp_path: Path) -> None:
    space = tmp_path / "space.yaml"
    space.write_text(ON_CHIP)
    (tmp_path / "layers.yaml").write_text(CHAIN)
    outside = [x.energy or 0.0 for x in nestmap.sweep(space).points]
    kept = [x.energy or 0.0 for x in nestmap.sweep(space, keep_on_chip=True).points]
    assert kept == sorted(kept, reverse=True)
    assert all(a <= b for a, b in zip(kept, outside, strict=True))
    assert kept[-1] < outside[-1]


def test_fused_designs_cost_what_explorations_find(tmp_path: Path) -> None:
    """A buffer that is too small for the tensor between two layers has room for a tile of it."""
    space, layers = tmp_path / "space.yaml", tmp_path / "layers.yaml"
    space.write_text(ON_CHIP)
    layers.write_text(CHAIN)
    kept = nestmap.sweep(space, keep_on_chip=True).points
    fused = nestmap.sweep(space, fuse=True)
    assert nestmap.sweep(space, fuse=True, workers=2).points == fused.points
    for design, whole in zip(fused.points, kept, strict=True):
        (tmp_path / "design.yaml").write_text(fused.accelerator_yaml(design))
        explored = nestmap.explore(
            layers, tmp_path / "design.yaml", objective="energy", fuse=True, workers=1
        )
        assert design.energy == explored.energy
        assert (design.energy or inf) <= (whole.energy or 0.0)
    small = fused.points[1]
    assert (small.energy or inf) < 0.9 * (kept[1].energy or 0.0)
    (tmp_path / "fixed.yaml").write_text("- {name: second, fused: {first: first}}\n")
    space.write_text(f"{ON_CHIP}mapping: fixed.yaml\n")
    with pytest.raises(InputError, match=r"fixed.yaml:1: \[0\].fused: found a segment"):
        nestmap.sweep(space)


def test_several_cores_keep_nothing_on_chip(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="keep_on_chip cannot be combined with several cores"):
        nestmap.sweep(write_core_space(tmp_path, COUNTS), keep_on_chip=True)
