"""Domain models as rows: what runs share is written once, under its content hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import duckdb
import pyarrow as pa

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Layer,
    LayerResult,
    Loop,
    SpatialMapping,
    StoreError,
    Workload,
)
from nestmap.model.base import replaced

Row = Mapping[str, object]
RunTable = Literal["evaluation_rows", "results", "runs", "searches"]
"""The tables that hold what belongs to one run."""
SharedTable = Literal["accelerators", "layers", "spatial_mappings", "workload_layers", "workloads"]
"""The tables that runs share."""


def insert(connection: duckdb.DuckDBPyConnection, table: RunTable, rows: pa.Table) -> None:
    """Appends rows to a table of a run; columns are matched by name."""
    insert_by(connection, f"INSERT INTO {table} BY NAME SELECT * FROM incoming", rows)


def insert_shared(
    connection: duckdb.DuckDBPyConnection, table: SharedTable, rows: Sequence[Row]
) -> None:
    """Appends the rows that the table does not have yet."""
    sql = f"INSERT INTO {table} BY NAME SELECT * FROM incoming ON CONFLICT DO NOTHING"
    insert_by(connection, sql, columns_of(rows))


def insert_by(connection: duckdb.DuckDBPyConnection, sql: str, incoming: pa.Table) -> None:
    """Runs an INSERT that takes its rows from the table ``incoming``; no rows, no statement."""
    if incoming.num_rows == 0:
        return
    connection.register("incoming", incoming)
    try:
        connection.execute(sql)
    finally:
        connection.unregister("incoming")


def columns_of(rows: Sequence[Row]) -> pa.Table:
    """Rows as columns.

    Raises:
        StoreError: if a number does not fit into 64 bits.
    """
    try:
        return pa.Table.from_pylist(list(rows))
    except OverflowError:
        raise StoreError(
            "found a number of operations or cycles beyond 64 bits; expected a smaller layer"
        ) from None


def write_workload(connection: duckdb.DuckDBPyConnection, workload: Workload) -> None:
    """Writes a workload and its layers, if they are not there yet."""
    key = workload.content_hash
    layers = workload.layers
    contents = [anonymous(layer) for layer in layers]
    hashes = [layer.content_hash for layer in contents]
    row = {
        "hash": key,
        "name": workload.name,
        "macs": workload.macs,
        "json": workload.model_dump_json(),
    }
    insert_shared(connection, "workloads", [row])
    different = dict(zip(hashes, contents, strict=True))
    insert_shared(connection, "layers", [_layer_row(h, x) for h, x in different.items()])
    places = [
        {"workload": key, "position": i, "name": layer.name, "layer": content}
        for i, (layer, content) in enumerate(zip(layers, hashes, strict=True))
    ]
    insert_shared(connection, "workload_layers", places)


def anonymous(layer: Layer) -> Layer:
    """The layer without its name and sources, which do not change what it costs."""
    inputs = tuple(replaced(operand, {"source": None}) for operand in layer.inputs)
    return replaced(layer, {"name": "layer", "inputs": inputs})


def _layer_row(key: str, layer: Layer) -> Row:
    return {
        "hash": key,
        "operator": layer.operator,
        "equation": layer.equation,
        "loops": loop_structs(layer.loops),
        "macs": layer.macs,
        "json": layer.model_dump_json(),
    }


def write_accelerator(connection: duckdb.DuckDBPyConnection, accelerator: Accelerator) -> None:
    """Writes an accelerator, if it is not there yet."""
    row = {
        "hash": accelerator.content_hash,
        "name": accelerator.name,
        "units": accelerator.array.units,
        "area": accelerator.area,
        "json": accelerator.model_dump_json(),
    }
    insert_shared(connection, "accelerators", [row])


def write_spatial_mappings(
    connection: duckdb.DuckDBPyConnection, mappings: Sequence[SpatialMapping]
) -> None:
    """Writes the spatial mappings that are not there yet."""
    rows = [
        {
            "hash": key,
            "text": str(mapping),
            "unrollings": [
                {"array_dimension": u.array_dimension, "loops": loop_structs(u.loops)}
                for u in mapping.unrollings
            ],
            "json": mapping.model_dump_json(),
        }
        for key, mapping in {mapping.content_hash: mapping for mapping in mappings}.items()
    ]
    insert_shared(connection, "spatial_mappings", rows)


def loop_structs(loops: Sequence[Loop]) -> list[Row]:
    """Loops as a list of structs."""
    return [{"dimension": loop.dimension, "size": loop.size} for loop in loops]


def result_row(run: str, position: int, result: LayerResult) -> Row:
    """A row of ``results``."""
    statistics = result.statistics
    return {
        "run": run,
        "position": position,
        **_cme_columns(result.cme),
        "evaluations": statistics.evaluations,
        "infeasible": [{"reason": x.reason, "count": x.count} for x in statistics.infeasible],
        "cme": result.cme.model_dump_json(),
    }


def _cme_columns(cme: CostModelEvaluation) -> Row:
    mapping = cme.temporal_mapping
    return {
        "layer": cme.layer,
        "operator": cme.operator,
        "macs": cme.macs,
        "spatial_mapping": cme.spatial_mapping.content_hash,
        "ordering": loop_structs(mapping.order),
        "cuts": [{"operand": x.operand, "positions": list(x.positions)} for x in mapping.cuts],
        "energy": cme.energy,
        "mac_energy": cme.mac_energy,
        "memory_energy": cme.memory_energy,
        "latency0": cme.latency0,
        "latency1": cme.latency1,
        "latency2": cme.latency2,
        "ideal_cycles": cme.ideal_cycles,
        "stall": cme.stall,
        "onloading": cme.onloading,
        "offloading": cme.offloading,
        "drain": cme.drain,
        "utilization": cme.utilization,
    }
