"""The options of ``nestmap explore`` that say how to search: they reach the search."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nestmap.model import NetworkEvaluation, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_front, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.tables.mapping import front_table
from nestmap.pipeline.render.text.network import totals
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.pipeline.stages import LomaStage, SalsaStage
from nestmap.store import RunStatus, Store
from tests.loma import LOMA, with_loma
from tests.pipeline.cli.inputs import Ended, Inputs, run, run_process

# What stands on the command line after the options of :func:`command`, and the plan for it.
OPTIONS = {
    "loma": ((), SearchPlan.of(LOMA)),
    "salsa": (("--search", "salsa"), SearchPlan.of(SearchOptions(search="salsa"))),
    "a seed": (
        ("--search", "salsa", "--seed", "7"),
        SearchPlan.of(SearchOptions(search="salsa", seed=7)),
    ),
    "one spatial mapping": (
        ("--spatial-mappings", "1"),
        SearchPlan.of(SearchOptions(search="loma", spatial_mappings=1)),
    ),
    "many spatial mappings": (
        ("--spatial-mappings", "99"),
        SearchPlan.of(SearchOptions(search="loma", spatial_mappings=99)),
    ),
    "mixed": (
        ("--mixed", "--spatial-mappings", "99"),
        SearchPlan.of(SearchOptions(search="loma", mixed=True, spatial_mappings=99)),
    ),
    "kept on chip": (("--keep-on-chip",), SearchPlan.of(with_loma(keep_on_chip=True))),
    "pruned": (
        ("--prune", "--spatial-mappings", "99"),
        SearchPlan.of(SearchOptions(search="loma", prune=True, spatial_mappings=99)),
    ),
    "ranked by bounds": (
        ("--rank", "bound", "--spatial-mappings", "1", "--objective", "energy"),
        SearchPlan.of(
            SearchOptions(search="loma", rank="bound", spatial_mappings=1, objective="energy")
        ),
    ),
    "padded": (("--pad", "34"), SearchPlan.of(with_loma(pad=34))),
    "one worker": (("--workers", "1"), SearchPlan.of(with_loma(workers=1))),
    "five workers": (("--workers", "5"), SearchPlan.of(with_loma(workers=5))),
    "all of it": (
        (
            *("--search", "salsa", "--spatial-mappings", "9", "--mixed", "--keep-on-chip"),
            *("--prune", "--seed", "3", "--workers", "2", "--objective", "edp"),
            *("--mapping-type", "even"),
        ),
        SearchPlan.of(
            SearchOptions(
                search="salsa",
                spatial_mappings=9,
                mixed=True,
                keep_on_chip=True,
                prune=True,
                seed=3,
                workers=2,
                objective="edp",
                mapping_type="even",
            )
        ),
    ),
}


def command(inputs: Inputs, *options: str) -> tuple[str, ...]:
    """Explores with LOMA and without a mapping file, so that the array dimension is open."""
    loma = ("--search", "loma", "--spatial-mappings", "3")
    return ("explore", inputs.network, "-a", inputs.machine, *loma, *options)


def explored(inputs: Inputs, plan: SearchPlan) -> NetworkEvaluation:
    """What the Python call gives for the same files."""
    return explore_network(read_network(inputs.network, inputs.machine), plan).total


def loaded(file: str) -> dict[str, Any]:
    """A JSON file."""
    value: dict[str, Any] = json.loads(Path(file).read_text())
    return value


def recorded_search(stages: list[dict[str, Any]]) -> LomaStage | SalsaStage:
    """The search in a pipeline that the store has kept."""
    for stage in stages:
        for kind in (LomaStage, SalsaStage):
            if stage["stage"] == kind.__name__:
                return kind.model_validate_json(stage["options"])
        with suppress(LookupError):
            return recorded_search(stage["each"])
    raise LookupError(stages)


@pytest.mark.parametrize(("options", "plan"), OPTIONS.values(), ids=OPTIONS)
def test_options_ask_for_a_plan(inputs: Inputs, options: tuple[str, ...], plan: SearchPlan) -> None:
    ended = run(*command(inputs, *options), "--json", "out.json")
    assert ended.code == 0
    expected, data = explored(inputs, plan), loaded("out.json")
    figures = [(x["energy"], x["latency"], x["evaluations"]) for x in data["layers"]]
    assert figures == [
        (x.cme.energy, x.cme.latency, x.statistics.evaluations) for x in expected.layers
    ]
    for layer, result in zip(data["layers"], expected.layers, strict=True):
        assert layer["pruned_spatial_mappings"] == result.statistics.pruned
        memories = [(x["operand"], x["memory"]) for x in layer["levels"]]
        assert memories == [(x.operand, x.memory) for x in result.cme.levels]
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (record,) = store.runs()
        assert store.best(record.id) == expected
        (row,) = store.query("SELECT pipeline FROM runs").rows()
    assert recorded_search(json.loads(str(row["pipeline"]))) == copy_with(
        plan.search, {"objective": plan.objective} if isinstance(plan.search, SalsaStage) else {}
    )


def test_options_matter(inputs: Inputs) -> None:
    """Each of them changes something, or the test above says nothing."""
    found = {name: explored(inputs, plan) for name, (_, plan) in OPTIONS.items()}
    changed = {name for name, total in found.items() if total != found["loma"]}
    assert changed >= {"one spatial mapping", "many spatial mappings", "pruned", "all of it"}


@pytest.mark.parametrize("options", [("--search", "salsa"), ("--keep-on-chip",), ("--mixed",)])
def test_options_matter_on_a_larger_network(inputs: Inputs, options: tuple[str, ...]) -> None:
    Path("open.yaml").write_text("- name: default\n")
    loma = ("--search", "loma", "--spatial-mappings", "3", "--no-store")
    asked = ("explore", "light:alexnet", "-a", "tpu_like", "-m", "open.yaml", *loma)
    usual = total_of(asked)
    assert total_of((*asked, *options)) != usual


@cache
def total_of(asked: tuple[str, ...]) -> object:
    """The total of an exploration in the current folder, whose files are always the same."""
    assert run(*asked, "--json", "total.json").code == 0
    return loaded("total.json")["total"]


def test_the_table_does_not_depend_on_the_workers(inputs: Inputs) -> None:
    outputs = {run(*command(inputs, "--no-store", "--workers", workers)).out for workers in "125"}
    assert len(outputs) == 1


def test_pruned_spatial_mappings_are_told(inputs: Inputs) -> None:
    Path("open.yaml").write_text("- name: default\n")  # nothing fixed, as in tpu_like's own
    asked = ("explore", "light:alexnet", "-a", "tpu_like", "-m", "open.yaml", "--no-store")
    options = (
        "--search",
        "loma",
        "--spatial-mappings",
        "8",
        "--lpf-limit",
        "3",
        "--json",
        "out.json",
    )
    note = "spatial mappings left out: none can be better than the best."
    out = " ".join(run(*asked, *options, "--prune").out.split())
    pruned = sum(layer["pruned_spatial_mappings"] for layer in loaded("out.json")["layers"])
    assert pruned > 0
    assert f"{pruned} {note}" in out
    assert note not in " ".join(run(*asked, *options).out.split())


@pytest.mark.parametrize("objective", Objective)
def test_pareto_shows_the_front(inputs: Inputs, objective: Objective) -> None:
    options = ("--pareto", "--spatial-mappings", "9", "--objective", objective.value)
    ended = run(*command(inputs, *options, "--json", "out.json"))
    assert ended.code == 0
    plan = SearchPlan.of(SearchOptions(search="loma", spatial_mappings=9, objective=objective))
    front = explore_front(read_network(inputs.network, inputs.machine), plan).front
    table = "\n".join(line.text for line in table_lines(front_table(front.layers)))
    assert table in ended.out
    for layer, expected in zip(loaded("out.json")["layers"], front.layers, strict=True):
        assert layer["name"] == expected.layer
        assert layer["evaluations"] == expected.statistics.evaluations
        points = [(x["energy"], x["latency"]) for x in layer["front"]]
        assert points == [(x.energy, x.latency) for x in expected.cmes]
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (record,) = store.runs()
        assert record.status is RunStatus.DONE
        assert store.best(record.id) == front.best(objective)


def replayed(inputs: Inputs, *options: str) -> Ended:
    """The totals that ``evaluate`` prints for the mapping that was saved."""
    return run("evaluate", inputs.network, "-a", inputs.machine, *options)


def total_line(out: str) -> str:
    """The totals but for the number of mappings evaluated."""
    (line,) = [x for x in " ".join(out.split()).split("Total: ")[1:]]
    return line.partition("utilization")[0]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--search", "salsa"),
        ("--keep-on-chip",),
        ("--keep-on-chip", "--objective", "energy", "--prune"),
        ("--mixed", "--spatial-mappings", "9"),
    ],
)
def test_what_was_saved_costs_the_same(inputs: Inputs, options: tuple[str, ...]) -> None:
    ended = run(
        *command(inputs, "--no-store", "--save-mapping", "found.yaml", *options),
        "--json", "found.json",
    )  # fmt: skip
    assert ended.code == 0
    assert "Written to found.yaml." in ended.err
    again = replayed(inputs, "--mapping-file", "found.yaml", "--json", "again.json")
    assert again.code == 0
    assert total_line(again.out) == total_line(ended.out)
    found, evaluated = loaded("found.json"), loaded("again.json")
    for key in ("energy", "latency", "edp", "utilization"):
        assert evaluated["total"][key] == found["total"][key]


@pytest.mark.parametrize("layer", ["first", "second"])
@pytest.mark.parametrize("options", [(), ("--keep-on-chip",)])
def test_a_layer_of_what_was_saved_costs_the_same(
    inputs: Inputs, options: tuple[str, ...], layer: str
) -> None:
    files = ("--save-mapping", "found.yaml", "--json", "found.json")
    assert run(*command(inputs, "--no-store", *files, *options)).code == 0
    ended = replayed(inputs, "--mapping-file", "found.yaml", "--layer", layer, "--json", "one.json")
    assert ended.code == 0
    (one,) = loaded("one.json")["layers"]
    (expected,) = [x for x in loaded("found.json")["layers"] if x["name"] == layer]
    assert (one["energy"], one["latency"]) == (expected["energy"], expected["latency"])


def test_a_front_saves_the_best_for_the_objective(inputs: Inputs) -> None:
    options = ("--pareto", "--objective", "energy", "--no-store")
    assert run(*command(inputs, *options, "--save-mapping", "found.yaml")).code == 0
    assert replayed(inputs, "--mapping-file", "found.yaml", "--json", "again.json").code == 0
    best = explored(inputs, SearchPlan.of(with_loma(objective="energy")))
    assert loaded("again.json")["total"]["energy"] == best.energy


def test_all_of_it_in_a_process(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    options, _ = OPTIONS["all of it"]
    here, there = (start(*command(inputs, "--no-store", *options)) for start in (run, run_process))
    assert (there.code, there.out) == (here.code, here.out) == (0, here.out)
    assert totals(explored(inputs, OPTIONS["all of it"][1])).split(",")[0] in here.out


def test_a_bundled_network_kept_on_chip_is_saved_and_replayed(inputs: Inputs) -> None:
    asked = ("light:alexnet", "-a", "tpu_like")
    search = ("--search", "loma", "--lpf-limit", "4")
    options = (*search, "--keep-on-chip", "--no-store", "--save-mapping", "found.yaml")
    ended = run("explore", *asked, *options)
    again = run("evaluate", *asked, "--mapping-file", "found.yaml")
    assert (ended.code, again.code) == (0, 0)
    assert total_line(again.out) == total_line(ended.out)
    one = run("evaluate", *asked, "--mapping-file", "found.yaml", "--layer", "n4")
    assert one.code == 0, one.err
