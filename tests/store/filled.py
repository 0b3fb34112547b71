"""Stores with something in them, and all that is in a store, comparable."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4

import duckdb

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.version import VERSION
from nestmap.model import (
    ArrayPart,
    CostBounds,
    EvaluationBatch,
    LayerResult,
    Loop,
    MovementCosts,
    NetworkEvaluation,
    NetworkProblem,
    ObjectiveBound,
    PartArea,
    PartEnergy,
    PartKind,
    SearchStatistics,
    StaticEnergy,
)
from nestmap.model.base import copy_with
from nestmap.store import Store
from nestmap.store.connection.connect import connect_read_only, query_number
from nestmap.store.rows.run_records import LayerInfo, SearchInfo
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES
from tests.store.builders import OBJECTIVE, batch, info, layer, network, result, spatial_problem

Content = dict[str, list[str]]
"""The rows of each table as text, sorted."""

REAL = f'{{"cost_model": {VERSION}}}'
"""The versions of a run whose evaluations are what the cost model says."""


def fill(
    store: Store, name: str = "fc", rows: int = 7, finish: bool = True, versions: str = "{}"
) -> UUID:
    """A run of a network of one layer, searched under two spatial mappings."""
    of = network(layer(name), name=name)
    given = copy_with(info(of), {"versions": versions})
    with store.start_run(given) as run:
        for unrolled in (1, 2):
            first = run.position
            problem = spatial_problem(of.workload.layers[0], of.accelerator, unrolled)
            evaluated = batch(problem, rows, seed=unrolled)
            if versions == REAL:
                whole = batch(problem, rows, all_loops(unrolled), seed=unrolled)
                evaluated = evaluate_batch(whole.mappings)
            with run.record_search(SearchInfo(key=f"{name} {unrolled}", spatial=problem)) as search:
                found = evaluated.with_statistics(_with_bounds(evaluated))
                search.record(found)
            explored = LayerInfo(method="test", key=f"{name} {unrolled}", problem=problem.problem)
            run.record_layer(explored, first, found)
        if finish:
            run.finish(results_of(of))
    return run.id


def _with_bounds(of: EvaluationBatch) -> SearchStatistics:
    """The statistics of a batch with bounds below all of its rows."""
    energy, latency = float(of.energy.min()) / 2, float(of.latency2.min()) / 2
    bounds = CostBounds(energy=energy, latency=latency, edp=energy * latency)
    return copy_with(of.statistics, {"bounds": bounds, "unproven": 1})


def all_loops(unrolled: int) -> tuple[Loop, ...]:
    """What is left to run through of a layer of which so much of K is unrolled."""
    sizes = {"B": (2, 6), "C": (6,), "K": (8 // unrolled,)}
    return tuple(Loop(dimension=name, size=x) for name, all_of in sizes.items() for x in all_of)


def results_of(of: NetworkProblem) -> NetworkEvaluation:
    """Results whose counts fit into a column."""
    given = result(of)
    return copy_with(given, {"layers": tuple(map(_countable, given.layers))})


def _countable(entry: LayerResult) -> LayerResult:
    costs = MovementCosts(accesses=(1, 2, 0, 3), energies=(1.0, 0.1, 0.0, 1 / 3))
    levels = tuple(copy_with(level, {"costs": costs}) for level in entry.cme.levels)
    parts: dict[str, object] = {
        "levels": levels,
        "areas": (PartArea(part="array", area=1.5),),
        "array_energies": (
            PartEnergy(part=ArrayPart.ADCS, energy=0.5),
            PartEnergy(part=ArrayPart.MULTIPLIERS, energy=0.25),
        ),
        "static_energies": (
            StaticEnergy(part="array", power=0.5, energy=1.0),
            StaticEnergy(part="sram", power=0.25, energy=0.5, kind=PartKind.MEMORY),
        ),
        "clock_period": 2.0,
    }
    cme = copy_with(entry.cme, parts)
    bounds = CostBounds(energy=cme.energy / 2, latency=cme.latency / 4, edp=cme.energy)
    return LayerResult(
        cme=cme,
        statistics=copy_with(entry.statistics, {"bounds": bounds, "unproven": 1}),
        bound=ObjectiveBound(objective=OBJECTIVE, value=bounds.of(OBJECTIVE)),
    )


_MADE = TemporaryDirectory(prefix="nestmap-tests-")  # the stores below; gone when tests end


def filled(path: Path, *names: str) -> tuple[UUID, ...]:
    """A store with a finished run for each name, an empty one without names; gives the runs.

    New ones of the same names are copies of one store, so their runs have the same ids.
    """
    if path.exists():
        return _fill_all(path, names)
    made, runs = _made_store(names)
    shutil.copyfile(made, path)
    return runs


def _fill_all(path: Path, names: Sequence[str]) -> tuple[UUID, ...]:
    with Store.open(path) as store:
        return tuple(fill(store, name) for name in names)


@cache
def _made_store(names: tuple[str, ...]) -> tuple[Path, tuple[UUID, ...]]:
    path = Path(_MADE.name) / f"{uuid4()}.duckdb"
    return path, _fill_all(path, names)


@cache
def filled_content(*names: str) -> Content:
    """All that is in a new store of these names, only to be compared."""
    return content(_made_store(names)[0])


def content(path: Path) -> Content:
    """All that is in a store."""
    with closing(connect_read_only(path)) as connection:
        return content_of(connection, "")


def content_of(connection: duckdb.DuckDBPyConnection, prefix: str) -> Content:
    """All that is in the tables whose names begin so."""
    return {
        table: texts(connection.execute(f"SELECT * FROM {prefix}{table}").fetchall())
        for table in (*SMALL_TABLES, EVALUATION_ROWS)
    }


def texts(rows: Sequence[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def sql(path: Path, *statements: str) -> None:
    """Changes a store behind its back."""
    with duckdb.connect(path.absolute()) as connection:
        for statement in statements:
            connection.execute(statement)


def count(path: Path, table: str) -> int:
    """How many rows a table has."""
    with closing(connect_read_only(path)) as connection:
        return query_number(connection, f"SELECT count(*) FROM {table}")
