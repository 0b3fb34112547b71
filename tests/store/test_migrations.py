"""Files that older versions wrote: brought up to date with all that is in them."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import cast

import duckdb
import pytest

from nestmap.costmodel.version import VERSION as COST_MODEL
from nestmap.model import LayerResult, Objective, RunLabel, StoreError
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.roofline import bytes_moved
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import LomaStage
from nestmap.search.version import VERSION as SEARCH
from nestmap.store import Parameter, RunStatus, Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.schema.migrate import migrations
from tests.store.released_stores import RELEASED, current_store, released_store

NEWEST = migrations()[-1].version
ON_CHIP = (12187106608.5, 13644792.0)
SUMS = {
    1: ((5598921732.656, 8987445.0), (12312979648.5, 13646352.0)),
    2: ((5598921732.656, 8987445.0), ON_CHIP),
    3: ((5598921732.656, 8987445.0), ON_CHIP),
    5: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
    7: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
    8: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
    9: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
    10: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
    12: ((5598921732.656, 8987445.0), (12133428231.5, 13629509.0)),
}
BOUNDED = 9
"""The first schema with lower bounds."""
TOTALS = "SELECT energy, latency FROM totals ORDER BY started"
VECTOR_COUNTED = {
    3: (12527868608.5, 13985554.0),
    5: (12474190231.5, 13970271.0),
    7: (12474190231.5, 13970271.0),
    8: (12474190231.5, 13970271.0),
    9: (12474190231.5, 13970271.0),
    10: (12474190231.5, 13970271.0),
    12: (12474190231.5, 13970271.0),
}
SWEEP = """
INSERT INTO sweeps VALUES (
  '0123456789abcdef0123456789abcdef', 'arrays', '2026-01-01', 'nestmap sweep', '1', 'energy',
  ['area', 'edp', 'energy'], 'sum', ['m'], '{}', 3, 3, 0, [2, 0]
)
"""
SWEEP_DESIGNS = """
INSERT INTO sweep_designs SELECT
  '0123456789abcdef0123456789abcdef', position, position, '{"rows": 1}', 'm' || position, area,
  energy, latency, energy * latency, reason,
  if(reason IS NULL, [{network: 'n', weight: 1, energy: energy, latency: latency, gap: 0}], [])
FROM (
  VALUES (0, 2.0, 3.0, 2.0, NULL), (1, 5.0, NULL, NULL, 'too small'), (2, 1.0, 4.0, 5.0, NULL)
) AS made(position, area, energy, latency, reason)
"""


@pytest.fixture(name="old", params=sorted(RELEASED))
def _old(request: pytest.FixtureRequest) -> Path:
    """Each file as it was, only to be read."""
    return released_store(cast("int", request.param))


@pytest.fixture(name="current")
def _current(old: Path) -> Path:
    """Each file brought up to date, only to be read."""
    return current_store(int(old.stem))


def test_there_is_a_file_of_each_schema_before_today() -> None:
    """Of steps that came together only the last one: 4 and 5, 6 and 7, 11 and 12, 13 to 16."""
    assert {step.version for step in migrations()} == {*RELEASED, 4, 6, 11, 13, 14, 15, NEWEST}


def test_it_is_not_read_before_it_is_brought_up_to_date(old: Path) -> None:
    with pytest.raises(StoreError, match=f"found schema version {old.stem}; expected {NEWEST}"):
        Store.open_read_only(old)


def test_results_and_evaluations_are_there(old: Path, current: Path) -> None:
    with duckdb.connect(old, read_only=True) as connection:
        sql = "SELECT count(*), sum(energy), sum(latency2) FROM evaluation_rows"
        rows = connection.execute(sql).fetchall()
        totals = connection.execute(TOTALS).fetchall()
    with Store.open_read_only(current) as store:
        assert [run.status for run in store.runs()] == [RunStatus.DONE] * 2
        found = store.query(
            "SELECT count(*) AS n, sum(energy) AS e, sum(latency) AS l FROM evaluations"
        )
        assert [(x["n"], x["e"], x["l"]) for x in found] == [pytest.approx(rows[0])]
        after = store.query(TOTALS)
        assert [(x["energy"], x["latency"]) for x in after] == totals
        for i, run in enumerate(store.runs()):
            best = store.best(run.id)
            energy, latency = SUMS[int(old.stem)][i]
            assert sum(x.cme.energy for x in best.layers) == pytest.approx(energy)
            assert sum(x.cme.latency for x in best.layers) == latency
        counted = VECTOR_COUNTED.get(int(old.stem), SUMS[int(old.stem)][1])
        assert totals[1] == pytest.approx(counted)


def test_breakdowns_are_those_of_the_results(current: Path) -> None:
    with Store.open_read_only(current) as store:
        for run in store.runs():
            layers = store.best(run.id).layers
            sql = (
                "SELECT sum(part.energy) AS energy, sum(accesses)::BIGINT AS accesses "
                "FROM results JOIN breakdowns AS part ON part.cme = results.cme WHERE run = ?"
            )
            (row,) = store.query(sql, (run.id,))
            levels = [level for x in layers for level in x.cme.levels]
            assert row["energy"] == pytest.approx(sum(level.costs.energy for level in levels))
            assert row["accesses"] == sum(sum(level.costs.accesses) for level in levels)
            sql = (
                "SELECT sum(part.stall)::BIGINT AS stall FROM results "
                "JOIN port_stalls AS part ON part.cme = results.cme WHERE run = ?"
            )
            (row,) = store.query(sql, (run.id,))
            assert row["stall"] == sum(port.stall for x in layers for port in x.cme.port_stalls)
            sql = (
                "SELECT count(*) AS memories FROM memories WHERE accelerator = "
                "(SELECT accelerator FROM runs WHERE id = ?)"
            )
            (row,) = store.query(sql, (run.id,))
            assert row["memories"] == len(store.problem(run.id).accelerator.memories)


def test_recorded_evaluations_are_computed_again_to_the_same_figures(current: Path) -> None:
    with Store.open_read_only(current) as store:
        sql = (
            "SELECT id, energy, latency0, latency1, latency2 FROM evaluations USING SAMPLE 40 ROWS"
        )
        for row in store.query(sql):
            cme = store.evaluation(str(row["id"]))
            assert (cme.energy, cme.latency0) == (row["energy"], row["latency0"])
            assert (cme.latency1, cme.latency2) == (row["latency1"], row["latency2"])


def test_new_runs_stand_beside_the_old_ones(current: Path, tmp_path: Path) -> None:
    """What was searched without a key (before 4), or by another model, is searched again."""
    path = tmp_path / current.name
    shutil.copyfile(current, path)
    plan = SearchPlan(objective=Objective.LATENCY, search=LomaStage(lpf_limit=2))
    with Store.open(path) as store:
        before = [(run, store.best(run.id)) for run in store.runs()]
        network = store.problem(before[0][0].id)
        again = explore_network(network, plan, store=store)
        found = [_known_then(x) for x in again.total.layers]
        assert found == [_known_then(x) for x in before[0][1].layers]
        assert [(run, store.best(run.id)) for run in store.runs()][:2] == before
        (row,) = store.query("SELECT count(*) AS n FROM run_searches WHERE recalled")
        versions = json.loads(store.info(before[0][0].id).versions)
        today = {"cost_model": COST_MODEL, "search": SEARCH}
        same = {name: versions.get(name) for name in today} == today
        assert row["n"] == (8 if same else 0)


def test_all_steps_are_noted(current: Path) -> None:
    with Store.open_read_only(current) as store:
        applied = store.query("SELECT version FROM schema_version ORDER BY version")
        assert [row["version"] for row in applied] == list(range(1, NEWEST + 1))


def test_old_results_have_no_bounds(current: Path) -> None:
    if int(current.stem) >= BOUNDED:
        pytest.skip("this version recorded bounds")
    with Store.open_read_only(current) as store:
        for run in store.runs():
            best = store.best(run.id)
            assert {(x.bound, x.gap, x.statistics.bounds) for x in best.layers} == {(None,) * 3}
            assert best.gap is None
        (row,) = store.query(
            "SELECT count(bound) AS b, count(gap) AS g, sum(unproven) AS u FROM results"
        )
        assert (row["b"], row["g"], row["u"]) == (0, 0, 0)
        (row,) = store.query(
            "SELECT count(energy_bound) + count(latency_bound) + count(edp_bound) AS n, "
            "sum(unproven) AS u FROM searches"
        )
        assert (row["n"], row["u"]) == (0, 0)


def test_old_runs_have_no_names(current: Path) -> None:
    with Store.open_read_only(current) as store:
        assert [run.label for run in store.runs()] == [RunLabel()] * 2
        for name in ("history", "designs"):
            assert [(row["name"], row["tags"]) for row in store.ask(name)] == [(None, [])] * 2


def test_what_old_results_move_is_known_where_they_say_which_memories_carry_operands(
    current: Path,
) -> None:
    with Store.open_read_only(current) as store:
        for run in store.runs():
            machine = store.problem(run.id).accelerator
            expected: defaultdict[str, float] = defaultdict(float)
            for result in store.best(run.id).layers:
                if result.cme.links:
                    for memory, moved in bytes_moved(result.cme, machine).items():
                        expected[memory] += moved
            found: defaultdict[str, float] = defaultdict(float)
            for row in store.ask("bytes_moved", {Parameter.RUN: run.id}):
                found[str(row["memory"])] += cast("float | None", row["bytes"]) or 0.0
            assert {name: n for name, n in found.items() if n} == dict(expected)


@pytest.fixture(name="swept")
def _swept(tmp_path: Path) -> Path:
    """A store of schema 14 with a sweep of three designs, one of them infeasible."""
    path = tmp_path / "14.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE schema_version "
            "(version INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied TIMESTAMP NOT NULL)"
        )
        for step in migrations()[:14]:
            connection.execute(step.sql)
            row = [step.version, step.name]
            connection.execute("INSERT INTO schema_version VALUES (?, ?, '2026-01-01')", row)
        connection.execute(SWEEP)
        connection.execute(SWEEP_DESIGNS)
    return path


def test_sweeps_get_the_values_of_their_objectives(swept: Path) -> None:
    with Store.open(swept) as store:
        rows = store.query("SELECT objective_values FROM sweep_designs ORDER BY position")
        assert [x["objective_values"] for x in rows] == [[2.0, 6.0, 3.0], None, [1.0, 20.0, 4.0]]
        (sweep,) = store.sweeps()
        assert sweep.info.objectives == ("area", "edp", "energy")
        assert [x.number for x in store.sweep_designs(sweep, sweep.state.front)] == [2, 0]
        best = store.ask("sweep_best").rows()
        assert [(x["objective"], x["value"], int(str(x["design"]))) for x in best] == [
            *(("area", 1.0, 2), ("edp", 6.0, 0), ("energy", 3.0, 0)),
        ]
    assert check_store(swept).is_sound


def _known_then(result: LayerResult) -> LayerResult:
    """The result without what older files lack: areas (before 7), bounds (9), busy ports (14)."""
    ports = tuple(copy_with(port, {"busy": None}) for port in result.cme.port_stalls)
    cme = copy_with(result.cme, {"areas": (), "port_stalls": ports})
    statistics = copy_with(result.statistics, {"bounds": None})
    return copy_with(result, {"cme": cme, "statistics": statistics, "bound": None})
