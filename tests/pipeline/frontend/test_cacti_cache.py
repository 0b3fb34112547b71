"""Memory costs that CACTI computes: asked once, kept in the store of the exploration."""

from pathlib import Path

import pytest

from nestmap.model import MemoryCost, MemoryMacro
from nestmap.pipeline.explore.api import explore, read_network
from nestmap.pipeline.frontend.cacti_cache import cached_cacti
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.store import Store
from tests.cacti_package import ANSWER, FAILURE, TOO_NEW, install_cacti, times_run
from tests.pipeline.cli.inputs import MACHINE, Inputs, run, written

MACRO = MemoryMacro(size=2**19, width=64, read_write_ports=1, technology=22.0)
COST = MemoryCost(read_energy=1.0, write_energy=2.0, area=0.5, leakage=3.0)
ASKING = MACHINE.replace("    r_cost: 10\n    w_cost: 12\n    area: 0\n", "    cost: cacti\n")


@pytest.fixture(name="inputs")
def _inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The tiny machine, whose buffer costs what CACTI says."""
    assert ASKING != MACHINE
    monkeypatch.chdir(tmp_path)
    inputs = written(tmp_path)
    Path(inputs.machine).write_text(ASKING)
    return inputs


def test_a_store_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, file = install_cacti(monkeypatch, tmp_path, ANSWER), tmp_path / "s.duckdb"
    assert [cached_cacti(file)(MACRO), cached_cacti(str(file))(MACRO)] == [COST, COST]
    with Store.open(file) as store:
        assert cached_cacti(store)(MACRO) == COST
    assert times_run(place) == 1
    other = MACRO.model_copy(update={"technology": 32.0})
    assert cached_cacti(file)(other) == COST
    assert times_run(place) == 2


def test_another_version_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.duckdb"
    install_cacti(monkeypatch, tmp_path, ANSWER)
    cached_cacti(file)(MACRO)
    newer = install_cacti(monkeypatch, tmp_path, ANSWER.replace("0.001", "0.004"), "1.0.41")
    assert cached_cacti(file)(MACRO).read_energy == 4.0
    assert times_run(newer) == 1


def test_what_is_known_needs_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was filled on another machine is enough."""
    place, file = install_cacti(monkeypatch, tmp_path, ANSWER), tmp_path / "s.duckdb"
    cached_cacti(file)(MACRO)
    (place / "hwcomponents_cacti" / "cacti" / "cacti").write_text(TOO_NEW)
    assert cached_cacti(file)(MACRO) == COST


def test_without_a_store_it_is_asked_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = install_cacti(monkeypatch, tmp_path, ANSWER)
    assert [cached_cacti(None)(MACRO), cached_cacti(None)(MACRO)] == [COST, COST]
    assert times_run(place) == 2


def test_exploring_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: Inputs
) -> None:
    place = install_cacti(monkeypatch, tmp_path, ANSWER)
    for _ in range(2):
        explore(
            inputs.network,
            inputs.machine,
            inputs.mapping,
            search="loma",
            lpf_limit=2,
            store="s.duckdb",
        )
    assert times_run(place) == 1
    ended = run(*inputs.explore, "--lpf-limit", "2", "--store", "s.duckdb")
    assert (ended.code, times_run(place)) == (0, 1)
    with Store.open_read_only(Path("s.duckdb")) as store:
        memories = store.query("SELECT DISTINCT read_energy FROM memories WHERE name = 'buffer'")
        assert memories.rows() == [{"read_energy": 1.0}]
        assert [x["read_energy"] for x in store.query("FROM memory_costs")] == [1.0]


def test_nothing_is_kept_where_nothing_is_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: Inputs
) -> None:
    place = install_cacti(monkeypatch, tmp_path, ANSWER)
    assert run(*inputs.explore, "--lpf-limit", "2", "--no-store").code == 0
    read_network(inputs.network, inputs.machine, inputs.mapping)
    buffer = read_accelerator(inputs.machine).memories[-1].instance
    found = (buffer.read_energy, buffer.write_energy, buffer.area, buffer.leakage)
    assert found == (1.0, 2.0, 0.5, 3.0)
    assert times_run(place) == 3
    assert list(tmp_path.glob("*.duckdb")) == []


def test_where_it_fails_no_store_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: Inputs
) -> None:
    install_cacti(monkeypatch, tmp_path, FAILURE)
    ended = run(*inputs.explore, "--store", "s.duckdb")
    line = 1 + ASKING.splitlines().index("    cost: cacti")
    where = f"{inputs.machine}:{line}: memories.buffer.cost"
    assert ended.code == 2
    assert ended.err.startswith(f"error: {where}: found the error 'no such memory' instead")
    assert not Path("s.duckdb").exists()
