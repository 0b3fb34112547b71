"""``nestmap reprice``: the mappings of a run under other energies, and what is said of them."""

import json
from pathlib import Path

import pytest

from nestmap.model import InfeasibleError
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.store import RunRecord, Store
from tests.loma import LOMA_PLAN
from tests.pipeline.cli.inputs import MACHINE, Inputs, explored, run
from tests.store.filled import filled

STORE = Path("nestmap.duckdb")


def changed(name: str, *changes: tuple[str, str]) -> str:
    """A file with another machine, the tiny one but for some lines."""
    text = MACHINE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(name).write_text(text)
    return name


def runs() -> tuple[RunRecord, ...]:
    """What is in the store."""
    with Store.open_read_only(STORE) as store:
        return store.runs()


@pytest.fixture
def dearer(inputs: Inputs) -> str:
    """The machine whose buffer reads for twice the energy."""
    assert inputs.folder == Path.cwd()
    return changed("dearer.yaml", ("name: tiny", "name: dearer"), ("r_cost: 10", "r_cost: 20"))


@pytest.mark.parametrize("options", [(), ("--keep-on-chip",), ("--objective", "energy")])
def test_energies_are_those_of_evaluating_the_mappings_again(
    inputs: Inputs, dearer: str, options: tuple[str, ...]
) -> None:
    assert run(*inputs.explore, *options, "--save-mapping", "found.yaml").code == 0
    replayed = run(
        "evaluate", inputs.network, "-a", dearer, "--mapping-file", "found.yaml", "--json", "a.json"
    )
    assert replayed.code == 0
    ended = run("reprice", "last", "--accelerator", dearer, "--json", "b.json")
    assert (ended.code, ended.err) == (0, "Written to b.json.\n")
    again, found = json.loads(Path("a.json").read_text()), json.loads(Path("b.json").read_text())
    assert [figures(x) for x in found["after"]["layers"]] == [figures(x) for x in again["layers"]]
    assert figures(found["after"]["total"]) == figures(again["total"])
    assert found["before"]["total"]["energy"] < found["after"]["total"]["energy"]
    assert found["before"]["total"]["latency"] == found["after"]["total"]["latency"]


def figures(entry: dict[str, object]) -> dict[str, object]:
    """What costs; not what the search looked at."""
    searched = {"evaluations", "infeasible", "pruned_spatial_mappings", "repeats"}
    searched |= {"bound", "gap", "bounds", "unproven"}
    return {name: value for name, value in entry.items() if name not in searched}


def test_the_table_is_that_of_explore(inputs: Inputs, dearer: str) -> None:
    before = explored(inputs).out.splitlines()
    after = run("reprice", "last", "-a", dearer).out.splitlines()
    head = before.index(next(line for line in before if line.startswith("Layer")))
    assert after[0].startswith("net on dearer: the mappings with the lowest latency that run ")
    assert after[0].endswith(" found for tiny")
    assert after[head] == before[head]
    (total,) = (line for line in before if line.startswith("Total: "))
    assert f"Before. {total}" in after
    (now,) = (line for line in after if line.startswith("Now. Total: "))
    assert now != f"Now. {total}"


@pytest.mark.parametrize(
    ("objective", "change", "told"),
    [
        ("latency", ("unit_energy: 0.5", "unit_energy: 5"), "still the best of all candidates"),
        ("latency", ("r_cost: 10", "r_cost: 20"), "A mapping of equal latency may take less"),
        ("energy", ("unit_energy: 0.5", "unit_energy: 5"), "still the best of all candidates"),
        ("energy", ("r_cost: 10", "r_cost: 20"), "Other mappings may be better"),
        ("edp", ("unit_energy: 0.5", "unit_energy: 5"), "Other mappings may be better"),
    ],
)
def test_it_says_whether_a_new_search_could_find_more(
    inputs: Inputs, objective: str, change: tuple[str, str], told: str
) -> None:
    explored(inputs, "--objective", objective)
    ended = run("reprice", "last", "-a", changed("other.yaml", change), "--json", "out.json")
    assert ended.code == 0
    last = ended.out.splitlines()[-1]
    assert told in last
    standing = json.loads(Path("out.json").read_text())["standing"]
    assert ("new search (nestmap explore)" in last) == (standing != "best")


def test_runs_are_named_by_the_beginning_of_their_id(inputs: Inputs, dearer: str) -> None:
    explored(inputs)
    explored(inputs, "--objective", "energy")
    first, last = (str(record.id) for record in runs())
    for name, expected in ((first, first), (last[:13].upper(), last), ("last", last)):
        ended = run("reprice", name, "-a", dearer, "--json", "out.json")
        assert ended.code == 0, ended.err
        assert json.loads(Path("out.json").read_text())["run"] == expected


def test_the_store_is_only_read(inputs: Inputs, dearer: str) -> None:
    explored(inputs)
    before = STORE.read_bytes()
    assert run("reprice", "last", "-a", dearer).code == 0
    assert STORE.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("size: 1000000", "size: 2000000"), "memory buffer: size 2000000 instead of 1000000"),
        (
            ("bandwidth_max: 64", "bandwidth_max: 128"),
            "memory buffer, port rw: width_max 128 instead of 64",
        ),
        (("sizes: [2]", "sizes: [4]"), "array, dimension D1: size 4 instead of 2"),
    ],
)
def test_another_machine_needs_a_new_search(
    inputs: Inputs, change: tuple[str, str], told: str
) -> None:
    explored(inputs)
    ended = run("reprice", "last", "-a", changed("other.yaml", change))
    assert (ended.code, ended.out) == (2, "")
    assert f"error: accelerator tiny: found {told}; expected" in ended.err
    assert "a new search is needed for anything else (nestmap explore)" in ended.err


WRONG = {
    "no such run": (["12345678"], ["run '12345678'", "expected last, the id of a run"]),
    "no name": ([""], ["run ''", "expected last, the id of a run"]),
    "a network as machine": (["last", "-a", "net.yaml"], ["net.yaml:1"]),
    "no such machine": (["last", "-a", "tpu_lik"], ["accelerator", "tpu_like"]),
    "no store": (["last", "--store", "no.duckdb"], ["store no.duckdb", "no such file"]),
    "no place": (["last", "--json", "no/where.json"], ["no/where.json", "no folder no"]),
    "over the store": (["last", "--json", "nestmap.duckdb"], ["--json", "a different file"]),
    "over the machine": (["last", "--json", "tiny.yaml"], ["--json", "a different file"]),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_told(inputs: Inputs, arguments: list[str], told: list[str]) -> None:
    explored(inputs)
    machine = [] if "-a" in arguments else ["-a", "tiny.yaml"]
    ended = run("reprice", *arguments, *machine)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    for text in told:
        assert text in ended.err


def test_an_empty_store_has_no_last_run(inputs: Inputs) -> None:
    filled(STORE)
    ended = run("reprice", "last", "-a", inputs.machine)
    assert (ended.code, ended.out) == (2, "")
    assert "found no run in this store" in ended.err


def test_a_run_without_results_is_told(inputs: Inputs) -> None:
    changed("small.yaml", ("size: 16", "size: 8"))
    network = read_network(inputs.network, "small.yaml", inputs.mapping)
    with pytest.raises(InfeasibleError):
        explore_network(network, LOMA_PLAN, store=STORE)
    (record,) = runs()
    ended = run("reprice", "last", "-a", "small.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert str(record.id) in ended.err
    assert "failed" in ended.err
