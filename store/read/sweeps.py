"""Sweeps and their designs, read from a store."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias, TypedDict, cast

import duckdb

from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Aggregate
from nestmap.model.evaluation.objective import Objective
from nestmap.store.read.sweep_lookup import find_sweep_key
from nestmap.store.rows.sweeps import SweepInfo, SweepRecord, SweepState

KnownFigures: TypeAlias = dict[str, dict[int, NetworkFigures]]
"""What networks cost, by the content hash of the accelerator and the place of the network."""

_SWEEPS: Final = """
SELECT
  hash AS key, name, started, command, version, mapped_for, objectives, aggregate, methods,
  question::VARCHAR AS question, most, designs, rejected, front
FROM sweeps
WHERE $key = '' OR hash = $key
ORDER BY started DESC, hash DESC
"""
_COLUMNS: Final = """
design.number, design.parameters::VARCHAR AS parameters, design.mapped_for, design.accelerator,
design.area, design.reason, design.networks
"""
_DESIGNS: Final = f"""
SELECT {_COLUMNS} FROM sweep_designs AS design
WHERE sweep = $sweep AND position BETWEEN $first AND $last ORDER BY position
"""
_DESIGN: Final = f"""
SELECT {_COLUMNS} FROM sweep_designs AS design
WHERE sweep = $sweep AND number = $number ORDER BY position
"""
_SOME: Final = f"""
SELECT {_COLUMNS}
FROM (
  SELECT
    unnest($positions::BIGINT[]) AS position,
    generate_subscripts($positions::BIGINT[], 1) AS place
) AS asked
JOIN sweep_designs AS design ON design.position = asked.position AND design.sweep = $sweep
ORDER BY asked.place
"""
_KNOWN: Final = """
SELECT
  design.accelerator, asked.place,
  first(design.networks[sweep.network] ORDER BY sweep.hash, design.position) AS figures
FROM (
  SELECT
    hash, unnest(methods) AS method,
    (generate_subscripts(methods, 1) - 1) // (len(methods) // len(mapped_for)) AS mapped,
    (generate_subscripts(methods, 1) - 1) % (len(methods) // len(mapped_for)) + 1 AS network,
    len(mapped_for) AS rows
  FROM sweeps
) AS sweep
JOIN sweep_designs AS design
  ON design.sweep = sweep.hash AND design.position % sweep.rows = sweep.mapped
JOIN (
  SELECT
    unnest($methods::VARCHAR[]) AS method, generate_subscripts($methods::VARCHAR[], 1) - 1 AS place
) AS asked ON asked.method = sweep.method
WHERE len(design.networks) > 0 AND design.networks[sweep.network].cut IS NOT TRUE
  AND design.accelerator IN (SELECT unnest($accelerators::VARCHAR[]))
GROUP BY design.accelerator, asked.place
"""
_SHARING: Final = """
SELECT count(*) FROM sweeps
WHERE hash <> $sweep AND designs > 0 AND list_has_any(methods, $methods::VARCHAR[])
"""


class _Sweep(TypedDict):
    key: str
    name: str
    started: datetime
    designs: int
    rejected: int | None
    front: list[int]


class _Figures(TypedDict):
    network: str
    weight: float
    energy: float
    latency: float
    gap: float | None
    cut: bool | None


_Design = tuple[Decimal, str, str, str | None, float | None, str | None, list[_Figures]]
"""A row: number, parameters, mapped for, accelerator, area, reason, figures of the networks."""


def read_sweeps(connection: duckdb.DuckDBPyConnection, key: str = "") -> tuple[SweepRecord, ...]:
    """All sweeps, or the one with that key; the one that was started last is first."""
    found = connection.sql(_SWEEPS, params={"key": key}).to_arrow_table().to_pylist()
    return tuple(_record(cast("_Sweep", row)) for row in found)


def _record(row: _Sweep) -> SweepRecord:
    known = {name: value for name, value in row.items() if name in SweepInfo.model_fields}
    state = SweepState(designs=row["designs"], front=tuple(row["front"]), rejected=row["rejected"])
    info = SweepInfo.model_validate(known, strict=False)
    return SweepRecord(info=info, started=row["started"], state=state)


def find_sweep(connection: duckdb.DuckDBPyConnection, text: str) -> SweepRecord:
    """The sweep that ``text`` names: ``last``, its name, or its key or the beginning of it.

    Of several with one name, the one that was started last.

    Raises:
        StoreError: if there is none.
    """
    key = find_sweep_key(connection, text)
    return read_sweeps(connection, key)[0]


def read_state(connection: duckdb.DuckDBPyConnection, key: str) -> SweepRecord | None:
    """The sweep with a key, if the store has it."""
    return next(iter(read_sweeps(connection, key)), None)


def read_designs(
    connection: duckdb.DuckDBPyConnection, sweep: SweepRecord, positions: range
) -> Iterator[DesignResult]:
    """The rows of a sweep at these positions, in order."""
    asked = {"sweep": sweep.info.key, "first": positions.start, "last": positions.stop - 1}
    yield from _designs(connection.execute(_DESIGNS, asked), sweep)


def read_some_designs(
    connection: duckdb.DuckDBPyConnection, sweep: SweepRecord, positions: Sequence[int]
) -> Iterator[DesignResult]:
    """The rows of a sweep at these positions, in the order of the positions."""
    asked = {"sweep": sweep.info.key, "positions": list(positions)}
    yield from _designs(connection.execute(_SOME, asked), sweep)


def read_design(
    connection: duckdb.DuckDBPyConnection, sweep: SweepRecord, number: int
) -> Iterator[DesignResult]:
    """The rows of the design with a number, in order."""
    asked = {"sweep": sweep.info.key, "number": number}
    yield from _designs(connection.execute(_DESIGN, asked), sweep)


def read_known_figures(
    connection: duckdb.DuckDBPyConnection, methods: Sequence[str], accelerators: Sequence[str]
) -> KnownFigures:
    """What the networks of these methods cost on accelerators, as far as sweeps have found it."""
    asked = {"methods": list(methods), "accelerators": list(accelerators)}
    rows: list[tuple[str, int, _Figures]] = connection.execute(_KNOWN, asked).fetchall()
    known: KnownFigures = {}
    for accelerator, place, figures in rows:
        known.setdefault(accelerator, {})[place] = _network(figures)
    return known


def shares_figures(connection: duckdb.DuckDBPyConnection, info: SweepInfo) -> bool:
    """Whether another sweep has explored one of the networks in the same way."""
    asked = {"sweep": info.key, "methods": list(info.methods)}
    rows: list[tuple[int]] = connection.execute(_SHARING, asked).fetchall()
    return rows[0][0] > 0


def _network(figures: _Figures) -> NetworkFigures:
    """The figures of a network; those of older schemas do not say whether they are cut."""
    known = {**figures, "cut": bool(figures["cut"])}
    return NetworkFigures.model_validate(known)


def _designs(cursor: duckdb.DuckDBPyConnection, sweep: SweepRecord) -> Iterator[DesignResult]:
    rows: list[_Design] = cursor.fetchall()
    return (_design(sweep.info.aggregate, row) for row in rows)


def _design(aggregate: Aggregate, row: _Design) -> DesignResult:
    number, parameters, mapped_for, accelerator, area, reason, networks = row
    values = cast("dict[str, Value]", json.loads(parameters))
    return DesignResult(
        aggregate=aggregate,
        number=int(number),
        parameters=tuple(values.items()),
        mapped_for=Objective(mapped_for),
        accelerator=accelerator,
        area=area,
        networks=tuple(map(_network, networks)),
        reason=reason,
    )
