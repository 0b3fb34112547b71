"""Domain models as rows: what runs share is written once, under its content hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

import duckdb

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Layer,
    LayerResult,
    Loop,
    SpatialMapping,
    VectorEvaluation,
    Workload,
)

Row = Mapping[str, object]
"""A row: values by column name."""

Table = Literal[
    "accelerators",
    "infeasible",
    "layers",
    "results",
    "runs",
    "searches",
    "spatial_mappings",
    "vector_results",
    "workload_layers",
    "workloads",
]


class OnConflict(StrEnum):
    """What happens to a row whose key the table has already."""

    FAIL = ""
    KEEP = "ON CONFLICT DO NOTHING"
    ADD_COUNT = "ON CONFLICT (search, reason) DO UPDATE SET count = count + excluded.count"


def insert(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: Sequence[Row],
    on_conflict: OnConflict = OnConflict.FAIL,
) -> None:
    """Appends rows, all with the same columns, to a table."""
    if not rows:
        return
    # a column is one parameter: twenty times faster than one for each value
    columns = ", ".join(f'unnest(?) AS "{name}"' for name in rows[0])
    values = [[row[name] for row in rows] for name in rows[0]]
    connection.execute(f"INSERT INTO {table} BY NAME SELECT {columns} {on_conflict}", values)


def write_workload(connection: duckdb.DuckDBPyConnection, workload: Workload) -> None:
    """Writes a workload and its layers, if they are not there yet."""
    key = workload.content_hash
    layers = workload.layers
    contents = [layer.anonymous for layer in layers]
    hashes = [layer.content_hash for layer in contents]
    row = {
        "hash": key,
        "name": workload.name,
        "macs": workload.macs,
        "json": workload.model_dump_json(),
    }
    insert(connection, "workloads", [row], OnConflict.KEEP)
    different = dict(zip(hashes, contents, strict=True))
    insert(connection, "layers", [_layer_row(h, x) for h, x in different.items()], OnConflict.KEEP)
    places = [
        {"workload": key, "position": i, "name": layer.name, "layer": content}
        for i, (layer, content) in enumerate(zip(layers, hashes, strict=True))
    ]
    insert(connection, "workload_layers", places, OnConflict.KEEP)


def _layer_row(key: str, layer: Layer) -> Row:
    return {
        "hash": key,
        "operator": layer.operator,
        "equation": layer.equation,
        "loops": loop_structs(layer.loops),
        "macs": layer.macs,
        "json": layer.model_dump_json(),
    }


def write_accelerators(
    connection: duckdb.DuckDBPyConnection, accelerators: Sequence[Accelerator]
) -> None:
    """Writes the accelerators that are not there yet."""
    rows = [
        {
            "hash": key,
            "name": accelerator.name,
            "units": accelerator.array.units,
            "area": accelerator.area,
            "json": accelerator.model_dump_json(),
        }
        for key, accelerator in {x.content_hash: x for x in accelerators}.items()
    ]
    insert(connection, "accelerators", rows, OnConflict.KEEP)


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
    insert(connection, "spatial_mappings", rows, OnConflict.KEEP)


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
        "pruned": statistics.pruned,
        "infeasible": [{"reason": x.reason, "count": x.count} for x in statistics.infeasible],
        "cme": result.cme.model_dump_json(),
        "repeats": result.repeats,
    }


def vector_row(run: str, position: int, entry: VectorEvaluation) -> Row:
    """A row of ``vector_results``."""
    costs = {"energy": entry.energy, "latency": entry.latency}
    return {"run": run, "position": position, **entry.model_dump(), **costs}


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
