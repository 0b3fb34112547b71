"""``--static-energy``: what leaks is a part of every energy, whichever command tells it."""

import json
from pathlib import Path

import pytest

from nestmap.store import Store
from tests.pipeline.cli.inputs import run, written


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)


EXPLORE = ("explore", "net.yaml", "--accelerator", "edge_22nm", "--mapping", "free")
OPTIONS = (
    *("--search", "loma", "--spatial-mappings", "3", "--lpf-limit", "3"),
    "--json",
    "found.json",
)


def totals(path: str = "found.json") -> dict[str, float]:
    report: dict[str, dict[str, float]] = json.loads(Path(path).read_text())
    return report["total"]


def test_totals_differ_by_what_leaks() -> None:
    assert run(*EXPLORE, *OPTIONS).code == 0
    without = totals()
    ended = run(*EXPLORE, *OPTIONS, "--static-energy")
    assert ended.code == 0, ended.err
    found = totals()
    assert "Leakage " in ended.out
    assert " at 1.25 ns a cycle" in ended.out
    assert without["static_energy"] == 0 < found["static_energy"]
    assert found["latency"] == without["latency"]
    assert found["energy"] == pytest.approx(without["energy"] + found["static_energy"])
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        first, second = store.runs()
        assert store.best(second.id).energy == found["energy"]
        assert store.best(first.id).energy == without["energy"]


def test_repricing_a_run_with_leakage_is_exploring_with_it() -> None:
    assert run(*EXPLORE, *OPTIONS).code == 0
    arguments = ("reprice", "last", "--accelerator", "edge_22nm", "--json", "repriced.json")
    ended = run(*arguments, "--static-energy")
    assert ended.code == 0, ended.err
    repriced = json.loads(Path("repriced.json").read_text())["after"]["total"]
    assert run(*EXPLORE, *OPTIONS, "--static-energy").code == 0
    assert repriced["energy"] == totals()["energy"]


def test_a_found_mapping_costs_the_same_evaluated_with_leakage() -> None:
    saved = ("--save-mapping", "found.yaml")
    assert run(*EXPLORE, *OPTIONS, *saved, "--static-energy").code == 0
    evaluate = ("evaluate", "net.yaml", "-a", "edge_22nm", "--mapping-file", "found.yaml")
    ended = run(*evaluate, "--static-energy", "--json", "again.json")
    assert ended.code == 0, ended.err
    assert totals("again.json")["energy"] == totals()["energy"]


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("tpu_like", "accelerator tpu_like: found no leakage, although static energy is requested"),
        ("no_clock.yaml", "static energy of an array without clock_period"),
    ],
)
def test_without_leakage_or_a_clock_it_is_told(description: str, told: str) -> None:
    text = Path("tiny.yaml").read_text()
    Path("no_clock.yaml").write_text(text.replace("    r_cost:", "    leakage: 0.5\n    r_cost:"))
    arguments = ("explore", "net.yaml", "--accelerator", description, "--static-energy")
    ended = run(*arguments, "--no-store")
    assert ended.code == 2
    assert told in ended.err
    assert not Path("nestmap.duckdb").exists()
