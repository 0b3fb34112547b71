"""Sweeps are recorded once, go on where they ended, and are found again."""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import Objective, StoreError
from nestmap.model.base import copy_with
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.store import DesignRow, Parameter, RecordedSweep, Store, SweepState
from nestmap.store.connection.connect import quote_name
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import merge_stores
from nestmap.store.maintenance.prune import PruneSelection, prune
from nestmap.store.read.question import QueryLimits, Question
from tests.store.builders import NASTY
from tests.store.filled import content, sql
from tests.store.sweeps import INFO, KEY, add_design, design, infeasible
from tests.sweeps import some_of

DESIGNS: Final = (design(4, 5.0, 1.0), design(0, 3.0, 2.0), infeasible(10**30), design(7, 9.0, 3.0))
FRONT: Final = (1, 0)


def record(store: Store, designs: tuple[DesignResult, ...] = DESIGNS) -> None:
    sweep = store.start_sweep(INFO)
    for one in designs[sweep.recorded :]:
        add_design(sweep, one)
    sweep.commit(FRONT, rejected=2)


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "s.duckdb"
    with Store.open(path) as store:
        record(store)
    return path


@pytest.fixture(name="path")
def _path(tmp_path: Path, made: Path) -> Path:
    """A copy of a store with a sweep."""
    path = tmp_path / made.name
    shutil.copyfile(made, path)
    return path


def test_designs_are_read_as_they_were_recorded(path: Path) -> None:
    with Store.open_read_only(path) as store:
        (sweep,) = store.sweeps()
        assert sweep.info == INFO
        assert sweep.state == SweepState(designs=4, front=FRONT, rejected=2)
        assert store.sweep_designs(sweep) == DESIGNS
        assert store.sweep_designs(sweep, (3, 0)) == (DESIGNS[3], DESIGNS[0])


@pytest.mark.parametrize("text", ["last", "arrays", KEY, KEY[:5], f" {KEY[:5]} "])
def test_sweeps_are_found(path: Path, text: str) -> None:
    with Store.open_read_only(path) as store:
        assert store.find_sweep(text).info == INFO


@pytest.mark.parametrize("text", ["", "arr", NASTY])
def test_others_are_told(path: Path, text: str) -> None:
    with (
        Store.open_read_only(path) as store,
        pytest.raises(StoreError, match=r"no such sweep in this store; expected last or .*arrays"),
    ):
        store.find_sweep(text)
    with Store.open(None) as store, pytest.raises(StoreError, match="expected nestmap sweep to"):
        store.find_sweep("last")


def test_parameters_are_columns_of_a_view(path: Path) -> None:
    """Whatever their names are; the objectives that are expressions are columns, too."""
    asked = f"SELECT design, rows, {quote_name(NASTY)}, kind, energy, on_front FROM sweep_arrays"
    with Store.open_read_only(path) as store:
        found = store.query(f"{asked} WHERE rows >= 4 ORDER BY energy").rows()
    assert [tuple(row.values()) for row in found] == [
        (4, 4, True, "a\"b'c", 10.0, True),
        (7, 7, False, "a\"b'c", 18.0, False),
        (10**30, 1e30, True, "0.25", None, False),
    ]
    answer = Question(f"{asked} ORDER BY rows", QueryLimits()).ask(path)
    assert [row["design"] for row in answer.relation.rows()] == [0, 4, 7, 10**30]


@pytest.mark.parametrize("name", ["designs", 'it"s; x'])
def test_a_sweep_of_any_name_has_a_view_unless_a_table_has_its_name(name: str) -> None:
    with Store.open(None) as store:
        sweep = store.start_sweep(copy_with(INFO, {"name": name}))
        add_design(sweep, DESIGNS[0])
        sweep.commit((0,), rejected=0)
        (row,) = store.query(f"SELECT * FROM {quote_name(f'sweep_{name}')}").rows()
        assert ("rows" in row) is (name != "designs")
        assert store.sweep_designs(store.find_sweep(name)) == DESIGNS[:1]


@settings(max_examples=some_of(40), deadline=None)
@given(st.lists(st.integers(0, len(DESIGNS)), max_size=5), st.booleans())
def test_each_design_is_recorded_once_however_the_sweep_is_cut(cuts: list[int], two: bool) -> None:
    """``two``: a second process has begun the same sweep before the first one wrote."""
    with Store.open(None) as store:
        other = store.start_sweep(INFO)
        for start, end in pairwise([0, *sorted(cuts), len(DESIGNS)]):
            sweep = store.start_sweep(INFO)
            assert sweep.recorded == start
            assert sweep.designs(range(start)) == [(x,) for x in DESIGNS[:start]]
            for one in DESIGNS[start:end]:
                add_design(sweep, one)
            sweep.commit((0,))
        if two:
            _record_all(other)
        store.start_sweep(INFO).commit(FRONT, rejected=0)
        (known,) = store.sweeps()
        assert store.sweep_designs(known) == DESIGNS
        assert known.state == SweepState(designs=len(DESIGNS), front=FRONT, rejected=0)


def _record_all(sweep: RecordedSweep) -> None:
    for one in DESIGNS:
        add_design(sweep, one)
        sweep.commit((0,))


def test_figures_are_shared_with_sweeps_of_other_networks(path: Path) -> None:
    with Store.open(path) as store:
        other = copy_with(INFO, {"key": "f" * 32, "methods": ("third", "second")})
        sweep = store.start_sweep(other)
        assert sweep.is_sharing
        second = NetworkFigures(network=NASTY, weight=0.5, energy=6.0, latency=3.0)
        assert sweep.known_figures(["machine 0", "machine 1"]) == {"machine 0": {1: second}}
        none = copy_with(INFO, {"key": "e" * 32, "methods": ("third", "fourth")})
        assert not store.start_sweep(none).is_sharing


def both(number: int, gap: float | None = None) -> tuple[DesignResult, DesignResult]:
    """A design that is mapped for energy, then for the energy-delay product."""
    edp = design(number, 6.0 + number, gap=gap, mapped_for=Objective.EDP)
    return design(number, 5.0 + number, gap=gap), edp


def test_a_design_has_a_row_for_each_objective_it_is_mapped_for(path: Path) -> None:
    asked: dict[str, object] = {
        "key": "f" * 32,
        "mapped_for": (Objective.ENERGY, Objective.EDP),
        "methods": ("a", "b", "c", "second"),
    }
    info = copy_with(INFO, asked)
    with Store.open(path) as store:
        sweep = store.start_sweep(info)
        for number in range(3):
            add_design(sweep, *both(number))
        sweep.commit((0,), rejected=0)
        (found,) = (x for x in store.sweeps() if x.info.key == info.key)
        assert found.info == info
        assert found.state.designs == 3
        assert store.sweep_designs(found) == (*both(0), *both(1), *both(2))
        assert store.sweep_designs(found, (4, 1)) == (both(2)[0], both(0)[1])
        assert store.sweep_design(found, 1) == both(1)
        assert store.sweep_design(found, 9) == ()
        assert store.start_sweep(info).designs(range(1, 3)) == [both(1), both(2)]
    assert check_store(path).is_sound
    with Store.open(path) as store:
        other = store.start_sweep(copy_with(INFO, {"key": "e" * 32, "methods": ("d", "c")}))
        known = other.known_figures(["machine 2"])
        assert known == {"machine 2": {1: both(2)[1].networks[0]}}


def test_a_design_that_was_cut_short_is_forgotten_with_all_its_rows(path: Path) -> None:
    info = copy_with(INFO, {"key": "f" * 32, "mapped_for": (Objective.ENERGY, Objective.EDP)})
    energy, edp = both(1)
    cut = copy_with(edp, {"networks": (copy_with(edp.networks[0], {"cut": True}),)})
    with Store.open(path) as store:
        sweep = store.start_sweep(info)
        add_design(sweep, *both(0))
        add_design(sweep, energy, cut)
        add_design(sweep, *both(2))
        sweep.commit((0,), rejected=0)
        again = store.start_sweep(info)
        assert again.recorded == 1
        assert again.designs(range(1)) == [both(0)]
    assert check_store(path).is_sound


def test_figures_of_designs_whose_objectives_have_no_value_are_shared() -> None:
    without = copy_with(DESIGNS[0], {"reason": "objectives[1]: no value"})
    with Store.open(None) as store:
        sweep = store.start_sweep(INFO)
        add_design(sweep, without)
        sweep.commit((), rejected=0)
        assert store.sweep_designs(store.sweeps()[0]) == (without,)
        other = store.start_sweep(copy_with(INFO, {"key": "f" * 32}))
        assert set(other.known_figures(["machine 4"])["machine 4"]) == {0, 1}


def test_objectives_that_are_expressions_are_queried() -> None:
    """Energy minus a hundred times the area: the lowest value is negative."""
    info = copy_with(INFO, {"objectives": ("energy - 100 * area", "area")})
    with Store.open(None) as store:
        sweep = store.start_sweep(info)
        values = ((10.0 - 100 * 1.0, 1.0), None, (18.0 - 100 * 3.0, 3.0))
        for n, row in zip((0, 2, 3), values, strict=True):
            sweep.add((DesignRow(DESIGNS[n], row),))
        sweep.commit((2, 0), rejected=0)
        assert store.sweeps()[0].info == info
        best = store.ask("sweep_best").rows()
        assert [(x["objective"], x["value"], int(str(x["design"]))) for x in best] == [
            ("energy - 100 * area", 18.0 - 300.0, 7),
            ("area", 1.0, 4),
        ]
        front = store.ask("sweep_front").rows()
        assert [x["objective_values"] for x in front] == [[-282.0, 3.0], [-90.0, 1.0]]


def test_of_equal_designs_the_best_is_on_the_front() -> None:
    with Store.open(None) as store:
        sweep = store.start_sweep(copy_with(INFO, {"objectives": ("energy", "latency")}))
        for n, row in enumerate(((6.0, 9.0), (6.0, 8.0), (7.0, 8.0))):
            sweep.add((DesignRow(DESIGNS[n], row),))
        sweep.commit((1,), rejected=0)
        best = store.ask("sweep_best").rows()
        assert [int(str(x["design"])) for x in best] == [DESIGNS[1].number] * 2


def test_queries_answer_about_the_sweep(path: Path) -> None:
    with Store.open_read_only(path) as store:
        front = store.ask("sweep_front").rows()
        assert [(int(str(x["design"])), x["energy"], x["area"]) for x in front] == [
            (0, 6.0, 2.0),
            (4, 10.0, 1.0),
        ]
        assert [x["objective_values"] for x in front] == [[6.0, 2.0], [10.0, 1.0]]
        best = store.ask("sweep_best", {Parameter.SWEEP: "arrays"}).rows()
        assert [(x["objective"], x["value"], int(str(x["design"]))) for x in best] == [
            ("energy", 6.0, 0),
            ("area", 1.0, 4),
        ]
        values = store.ask("sweep_parameters", {Parameter.SWEEP: KEY[:4]}).rows()
        told = [
            (x["parameter"], x["value"], x["designs"], x["feasible"], x["on_front"]) for x in values
        ]
        assert told == [
            ("rows", "4", 1, 1, 1),
            ("rows", "0", 1, 1, 1),
            ("rows", str(10**30), 1, 0, 0),
            ("rows", "7", 1, 1, 0),
            (NASTY, "true", 3, 2, 2),
            (NASTY, "false", 1, 1, 0),
            ("kind", "a\"b'c", 3, 3, 2),
            ("kind", "0.25", 1, 0, 0),
        ]
        assert [x["least_objective_values"] for x in values] == [
            *([10.0, 1.0], [6.0, 2.0], None, [18.0, 3.0]),
            *([6.0, 1.0], [18.0, 3.0], [6.0, 1.0], None),
        ]
        with pytest.raises(StoreError, match="found no such sweep"):
            store.ask("sweep_front", {Parameter.SWEEP: "no"})


def test_sweeps_are_merged_and_stay_when_runs_are_removed(path: Path, tmp_path: Path) -> None:
    before = content(path)
    merge_stores(tmp_path / "into.duckdb", [path])
    assert content(tmp_path / "into.duckdb") == before
    prune(path, PruneSelection(best_only=True))
    assert content(path) == before
    assert check_store(path).is_sound


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DELETE FROM sweep_designs WHERE position = 1", "found 3 rows, positions 0 to 3"),
        ("INSERT INTO sweep_designs FROM sweep_designs WHERE position = 1", "found 5 rows"),
        ("UPDATE sweeps SET front = [2]", "position 2 of its front is infeasible"),
        ("UPDATE sweeps SET front = [9]", "position 9 of its front is missing"),
        ("UPDATE sweeps SET front = [0]", "a design is better than all of its front"),
        (
            "UPDATE sweep_designs SET objective_values = [1] WHERE position = 3",
            "the design at position 3 has 1 values of objectives; expected 2",
        ),
        (
            "UPDATE sweep_designs SET objective_values = [1, 2] WHERE position = 2",
            "the design at position 2 has 2 values of objectives; expected 0",
        ),
        ("UPDATE sweep_designs SET sweep = 'x'", "a sweep that is not in sweeps.hash"),
    ],
)
def test_damage_is_found(path: Path, change: str, told: str) -> None:
    sql(path, change)
    assert any(told in x for x in check_store(path).problems)
