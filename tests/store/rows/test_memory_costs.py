"""What tools have said of memories: kept by question, carried along by all that moves stores."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import MemoryCost, MemoryMacro
from nestmap.model.base import copy_with
from nestmap.store import CostQuestion, Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import merge_stores
from nestmap.store.maintenance.prune import PruneSelection, prune
from tests.store.filled import content, count, filled, sql
from tests.sweeps import some_of

QUESTION = CostQuestion(
    macro=MemoryMacro(size=2**19, width=64, read_ports=2, write_ports=1, technology=22.0),
    tool="some tool 1.0",
)
COST = MemoryCost(read_energy=4.7, write_energy=4.0, area=0.056, leakage=19.0)

figures = st.floats(0, allow_nan=False, allow_infinity=False)
costs = st.builds(
    MemoryCost, read_energy=figures, write_energy=figures, area=figures, leakage=figures
)


@st.composite
def questions(draw: st.DrawFn) -> CostQuestion:
    """Any question that can be asked."""
    width = draw(st.integers(1, 2**31 - 1))
    macro = MemoryMacro(
        size=draw(st.integers(width, 2**62)),
        width=width,
        read_ports=draw(st.integers(0, 9)),
        write_ports=draw(st.integers(0, 9)),
        read_write_ports=draw(st.integers(1, 9)),
        technology=draw(st.floats(0.1, 1000)),
    )
    return CostQuestion(macro=macro, tool=draw(st.text("ab 1'\"é", min_size=1)))


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "s.duckdb"
    with Store.open(path) as store:
        store.record_memory_cost(QUESTION, COST)
    return path


@pytest.fixture(name="path")
def _path(tmp_path: Path, made: Path) -> Path:
    """A copy of a store that knows one cost."""
    path = tmp_path / made.name
    shutil.copyfile(made, path)
    return path


@settings(deadline=None, max_examples=some_of(30))
@given(question=questions(), cost=costs)
def test_what_is_kept_is_known(question: CostQuestion, cost: MemoryCost) -> None:
    with Store.open(None) as store:
        assert store.memory_cost(question) is None
        store.record_memory_cost(question, cost)
        assert store.memory_cost(question) == cost
        other = copy_with(question, {"tool": question.tool + "x"})
        assert store.memory_cost(other) is None


def test_what_is_there_stays(path: Path) -> None:
    with Store.open(path) as store:
        store.record_memory_cost(QUESTION, copy_with(COST, {"area": 1.0}))
        assert store.memory_cost(QUESTION) == COST
    assert count(path, "memory_costs") == 1


def test_merging_takes_them_over(path: Path, tmp_path: Path) -> None:
    for name in ("a.duckdb", "b.duckdb"):
        merge_stores(tmp_path / "all.duckdb", [path])
        filled(tmp_path / name, name)
        merge_stores(tmp_path / name, [path])
        with Store.open_read_only(tmp_path / name) as store:
            assert store.memory_cost(QUESTION) == COST
    assert content(tmp_path / "all.duckdb") == content(path)


def test_pruning_leaves_them(path: Path) -> None:
    """They belong to no run."""
    runs = filled(path, "a")
    pruned = prune(path, PruneSelection(runs=runs))
    assert "memory_costs" not in dict(pruned.rows)
    assert (count(path, "runs"), count(path, "memory_costs")) == (0, 1)


def test_sound_ones_are_no_problem(path: Path) -> None:
    report = check_store(path)
    assert report.is_sound
    assert ("memory_costs", 1) in report.tables


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("size = size * 2", "its content has the hash"),
        ("tool = 'other'", "its content has the hash"),
        ("tool = ''", "no valid memory: String should have at least 1 character"),
        ("write_ports = 0", "no valid memory: 2 read, 0 write and no read_write"),
        ("area = -1", "no valid cost: Input should be greater than or equal to 0"),
        ("leakage = 'nan'", "no valid cost: Input should be a finite number"),
    ],
)
def test_others_are_found(path: Path, change: str, problem: str) -> None:
    sql(path, f"UPDATE memory_costs SET {change}")
    (found,) = check_store(path).problems
    assert found.startswith(f"memory_costs {QUESTION.content_hash}: {problem}")
