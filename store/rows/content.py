"""Rows of domain models that runs share, stored once per content hash."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Literal, NamedTuple

import duckdb

from nestmap.model import (
    Accelerator,
    CostBounds,
    Layer,
    LayerResult,
    Loop,
    MemoryLevel,
    SearchStatistics,
    SpatialMapping,
    VectorEvaluation,
    Workload,
)

Row = Mapping[str, object]
"""A row: values by column name."""

Table = Literal[
    "accelerator_areas",
    "accelerators",
    "array_energies",
    "breakdowns",
    "cmes",
    "core_costs",
    "cores",
    "explored_layers",
    "generations",
    "homes",
    "individuals",
    "infeasible",
    "layers",
    "level_usage",
    "memories",
    "memory_costs",
    "paths",
    "port_stalls",
    "results",
    "run_costs",
    "run_searches",
    "runs",
    "schedule_energies",
    "schedule_memories",
    "schedule_nodes",
    "schedule_stays",
    "schedule_streams",
    "schedule_tensors",
    "schedule_transfers",
    "schedules",
    "searches",
    "spatial_mappings",
    "static_energies",
    "stream_costs",
    "stream_layers",
    "streams",
    "sweep_designs",
    "sweeps",
    "temporal_mappings",
    "vector_results",
    "wires",
    "workload_layers",
    "workloads",
]


class OnConflict(StrEnum):
    """What to do with a row whose key exists."""

    FAIL = "INSERT"
    KEEP = "INSERT OR IGNORE"
    REPLACE = "INSERT OR REPLACE"


def insert(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: Sequence[Row],
    on_conflict: OnConflict = OnConflict.FAIL,
) -> None:
    """Appends rows, all with the same columns, to a table."""
    if not rows:
        return
    # one parameter per column is twenty times faster than one per value
    columns = ", ".join(f'unnest(?) AS "{name}"' for name in rows[0])
    values = [[row[name] for row in rows] for name in rows[0]]
    connection.execute(f"{on_conflict} INTO {table} BY NAME SELECT {columns}", values)


def known_hashes(
    connection: duckdb.DuckDBPyConnection, table: Table, keys: Sequence[str]
) -> frozenset[str]:
    """Those of the content hashes that the table has."""
    if not keys:
        return frozenset()
    sql = f"SELECT hash FROM {table} WHERE hash IN (SELECT unnest(?))"
    rows: list[tuple[str]] = connection.execute(sql, [keys]).fetchall()
    return frozenset(key for (key,) in rows)


def write_workload(connection: duckdb.DuckDBPyConnection, workload: Workload) -> None:
    """Writes a workload and its layers, if the store does not have them."""
    key = workload.content_hash
    if key in known_hashes(connection, "workloads", [key]):
        return
    layers = workload.layers
    hashes = write_layers(connection, layers)
    row = {
        "hash": key,
        "name": workload.name,
        "macs": workload.macs,
        "json": workload.model_dump_json(),
    }
    insert(connection, "workloads", [row], OnConflict.KEEP)
    places = [
        {"workload": key, "position": i, "name": layer.name, "layer": content}
        for i, (layer, content) in enumerate(zip(layers, hashes, strict=True))
    ]
    insert(connection, "workload_layers", places, OnConflict.KEEP)


def write_layers(connection: duckdb.DuckDBPyConnection, layers: Sequence[Layer]) -> list[str]:
    """Writes the layers that the store does not have; returns the content hash of each."""
    contents = [layer.anonymous for layer in layers]
    hashes = [layer.content_hash for layer in contents]
    different = dict(zip(hashes, contents, strict=True))
    insert(connection, "layers", [_layer_row(h, x) for h, x in different.items()], OnConflict.KEEP)
    return hashes


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
    """Writes the accelerators, with their memories, that the store does not have."""
    from nestmap.costmodel.area_leakage import clock_period_of, total_area  # noqa: PLC0415 (readers do not pay the JIT import)

    different = {x.content_hash: x for x in accelerators}
    areas = [row for key, x in different.items() for row in _area_rows(key, x)]
    insert(connection, "accelerator_areas", areas, OnConflict.KEEP)
    for key in known_hashes(connection, "accelerators", list(different)):
        del different[key]
    rows = [
        {
            "hash": key,
            "name": accelerator.name,
            "units": accelerator.array.units,
            "area": total_area(accelerator),
            "clock_period": clock_period_of(accelerator),
            "json": accelerator.model_dump_json(),
        }
        for key, accelerator in different.items()
    ]
    insert(connection, "accelerators", rows, OnConflict.KEEP)
    memories = [
        {"accelerator": key, "position": i, **_memory_columns(memory)}
        for key, accelerator in different.items()
        for i, memory in enumerate(accelerator.memories)
    ]
    insert(connection, "memories", memories, OnConflict.KEEP)


def _area_rows(key: str, accelerator: Accelerator) -> Iterator[Row]:
    from nestmap.costmodel.area_leakage import areas_of  # noqa: PLC0415

    for i, part in enumerate(areas_of(accelerator)):
        costs = {"part": part.part, "kind": part.kind.value, "area": part.area}
        yield {"accelerator": key, "position": i, **costs}


def _memory_columns(level: MemoryLevel) -> Row:
    instance = level.instance
    return {
        "name": instance.name,
        "size": instance.size,
        "read_energy": instance.read_energy,
        "write_energy": instance.write_energy,
        "area": instance.area,
        "leakage": instance.leakage,
        "double_buffered": instance.double_buffered,
        "operands": list(level.operands),
        "served_dimensions": list(level.served_dimensions),
        "ports": [
            {
                "name": port.name,
                "kind": port.kind.value,
                "width_min": port.width_min,
                "width_max": port.width_max,
            }
            for port in instance.ports
        ],
    }


def write_spatial_mappings(
    connection: duckdb.DuckDBPyConnection, mappings: Sequence[SpatialMapping]
) -> None:
    """Writes the spatial mappings that the store does not have."""
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


def result_row(
    run: str, position: int, result: LayerResult, cme: str, cpu_seconds: float | None
) -> Row:
    """A row of ``results``; ``cme`` is the key of the evaluation."""
    statistics = result.statistics
    return {
        "run": run,
        "position": position,
        "layer": result.cme.layer,
        "cme": cme,
        "evaluations": statistics.evaluations,
        "pruned": statistics.pruned,
        "infeasible": [{"reason": x.reason, "count": x.count} for x in statistics.infeasible],
        "repeats": result.repeats,
        "bound": None if result.bound is None else result.bound.value,
        "gap": result.gap,
        **bound_columns(statistics),
        "front_gap": statistics.front_gap,
        "cpu_seconds": cpu_seconds,
    }


def bound_columns(statistics: SearchStatistics) -> Row:
    """The columns of ``searches`` and ``results`` with the bounds of a space, or NULL."""
    bounds = statistics.bounds
    return {
        "energy_bound": None if bounds is None else bounds.energy,
        "latency_bound": None if bounds is None else bounds.latency,
        "edp_bound": None if bounds is None else bounds.edp,
        "unproven": statistics.unproven,
        "cut": statistics.cut,
        "labels": statistics.labels,
    }


class BoundsRow(NamedTuple):
    """The values of these columns, read back in this order."""

    energy: float | None = None
    latency: float | None = None
    edp: float | None = None
    unproven: int = 0
    cut: int = 0
    labels: int = 0

    @property
    def bounds(self) -> CostBounds | None:
        """The bounds, if they are known."""
        if self.energy is None or self.latency is None or self.edp is None:
            return None
        return CostBounds(energy=self.energy, latency=self.latency, edp=self.edp)


BOUND_COLUMNS: Final = "energy_bound, latency_bound, edp_bound, coalesce(unproven, 0), cut, labels"
"""The columns of a :class:`BoundsRow`, in SQL."""


def vector_row(run: str, position: int, entry: VectorEvaluation) -> Row:
    """A row of ``vector_results``."""
    costs = {"energy": entry.energy, "latency": entry.latency}
    return {"run": run, "position": position, **entry.model_dump(), **costs}
