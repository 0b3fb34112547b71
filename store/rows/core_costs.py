"""Rows of the costs of computation nodes on cores, stored once per content key for reuse."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import duckdb

from nestmap.model import CostModelEvaluation
from nestmap.model.base import copy_with
from nestmap.model.multicore.cn_costs import CnCost, RecordedCost
from nestmap.store.rows.cmes import write_cmes
from nestmap.store.rows.content import OnConflict, Row, insert

_Row = tuple[
    str, int | None, float | None, float | None, list[str] | None, int | None, int | None,
    str | None,
]  # fmt: skip

_READ = """
SELECT cost.hash, runtime, onchip_energy, offchip_energy, streamed, read_rate, write_rate, cme.json
FROM core_costs AS cost LEFT JOIN cmes AS cme ON cme.hash = cost.cme
WHERE cost.hash IN (SELECT unnest(?))
"""


def read_costs(
    connection: duckdb.DuckDBPyConnection, keys: Sequence[str]
) -> dict[str, RecordedCost]:
    """The recorded costs, for those of the keys that the store has."""
    rows: list[_Row] = connection.execute(_READ, [list(keys)]).fetchall()
    return {row[0]: _recorded_cost(row) for row in rows}


def _recorded_cost(row: _Row) -> RecordedCost:
    _, runtime, onchip, offchip, streamed, read_rate, write_rate, json = row
    cme = None if json is None else CostModelEvaluation.model_validate_json(json)
    if runtime is None:
        return RecordedCost(cost=None, cme=cme)
    cost = CnCost(
        runtime=runtime,
        onchip_energy=onchip or 0.0,
        offchip_energy=offchip or 0.0,
        streamed=tuple(streamed or ()),
        read_rate=read_rate or 0,
        write_rate=write_rate or 0,
    )
    return RecordedCost(cost=cost, cme=cme)


def write_costs(connection: duckdb.DuckDBPyConnection, costs: Mapping[str, RecordedCost]) -> None:
    """Writes the costs that the store does not have, with the mappings behind them."""
    cmes = {key: copy_with(x.cme, {"layer": ""}) for key, x in costs.items() if x.cme is not None}
    hashes = {key: cme.content_hash for key, cme in cmes.items()}
    write_cmes(connection, {hashes[key]: cme for key, cme in cmes.items()})
    rows = [_row(key, known, hashes.get(key)) for key, known in costs.items()]
    insert(connection, "core_costs", rows, OnConflict.KEEP)


def _row(key: str, known: RecordedCost, cme: str | None) -> Row:
    cost = known.cost
    return {
        "hash": key,
        "runtime": cost and cost.runtime,
        "onchip_energy": cost and cost.onchip_energy,
        "offchip_energy": cost and cost.offchip_energy,
        "streamed": cost and list(cost.streamed),
        "read_rate": cost and cost.read_rate,
        "write_rate": cost and cost.write_rate,
        "cme": cme,
    }


def link_costs(
    connection: duckdb.DuckDBPyConnection, run: UUID, keys: Sequence[str], recalled: bool
) -> None:
    """Records which costs a run used; ``recalled``: whether they were read from the store."""
    rows: list[Row] = [{"run": str(run), "cost": key, "recalled": recalled} for key in keys]
    insert(connection, "run_costs", rows, OnConflict.KEEP)
