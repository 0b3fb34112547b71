"""Rows of full cost model evaluations, stored once per content hash."""

from collections.abc import Iterator, Mapping

import duckdb

from nestmap.model import MOVEMENTS, CostModelEvaluation, LevelEvaluation, TemporalMapping
from nestmap.model.base import copy_with
from nestmap.store.rows.content import OnConflict, Row, insert, loop_structs, write_spatial_mappings

_KNOWN = "SELECT hash FROM cmes WHERE hash IN (SELECT unnest(?))"
_READ = "SELECT json FROM cmes WHERE hash = ?"


def read_cme(connection: duckdb.DuckDBPyConnection, key: str) -> CostModelEvaluation | None:
    """The evaluation with that key, under the name of one of its layers; ``None``: not recorded."""
    found: list[tuple[str]] = connection.execute(_READ, [key]).fetchall()
    return CostModelEvaluation.model_validate_json(found[0][0]) if found else None


def write_cmes(
    connection: duckdb.DuckDBPyConnection, cmes: Mapping[str, CostModelEvaluation]
) -> None:
    """Writes the evaluations, by key, that the store does not have."""
    known: list[tuple[str]] = connection.execute(_KNOWN, [list(cmes)]).fetchall()
    there = {key for (key,) in known}
    new = {key: cme for key, cme in cmes.items() if key not in there}
    mappings = {x.content_hash: x for x in (cme.temporal_mapping for cme in new.values())}
    write_spatial_mappings(connection, [cme.spatial_mapping for cme in new.values()])
    temporal = [_temporal_row(key, mapping) for key, mapping in mappings.items()]
    insert(connection, "temporal_mappings", temporal, OnConflict.KEEP)
    insert(connection, "cmes", [_cme_row(key, cme) for key, cme in new.items()])
    levels = [(key, level) for key, cme in new.items() for level in cme.levels]
    insert(connection, "breakdowns", [row for x in levels for row in _breakdown_rows(*x)])
    insert(connection, "level_usage", [_usage_row(*x) for x in levels])
    insert(connection, "array_energies", [row for x in new.items() for row in _array_rows(*x)])
    insert(connection, "static_energies", [row for x in new.items() for row in _static_rows(*x)])
    insert(connection, "port_stalls", [row for x in new.items() for row in _stall_rows(*x)])


def _temporal_row(key: str, mapping: TemporalMapping) -> Row:
    return {
        "hash": key,
        "text": str(mapping),
        "ordering": loop_structs(mapping.order),
        "cuts": [{"operand": x.operand, "positions": list(x.positions)} for x in mapping.cuts],
    }


def _cme_row(key: str, cme: CostModelEvaluation) -> Row:
    return {
        "hash": key,
        "operator": cme.operator,
        "macs": cme.macs,
        "spatial_mapping": cme.spatial_mapping.content_hash,
        "temporal_mapping": cme.temporal_mapping.content_hash,
        "energy": cme.energy,
        "mac_energy": cme.mac_energy,
        "memory_energy": cme.memory_energy,
        "latency0": cme.latency0,
        "latency1": cme.latency1,
        "latency2": cme.latency2,
        "ideal_cycles": cme.ideal_cycles,
        "ideal_temporal_cycles": cme.ideal_temporal_cycles,
        "stall": cme.stall,
        "onloading": cme.onloading,
        "offloading": cme.offloading,
        "drain": cme.drain,
        "utilization": cme.utilization,
        "area": cme.area,
        "static_energy": cme.static_energy,
        "clock_period": cme.clock_period,
        "dataflows": [x.value for x in cme.dataflows],
        "json": copy_with(cme, {"layer": ""}).model_dump_json(),  # the same for all layers
    }


def _breakdown_rows(key: str, level: LevelEvaluation) -> Iterator[Row]:
    costs = zip(MOVEMENTS, level.costs.accesses, level.costs.energies, strict=True)
    for movement, accesses, energy in costs:
        yield {
            **_level_key(key, level),
            "movement": movement.name.lower(),
            "accesses": accesses,
            "energy": energy,
        }


def _usage_row(key: str, level: LevelEvaluation) -> Row:
    return {
        **_level_key(key, level),
        "elements": level.elements,
        "bits": level.bits,
        "utilization": level.utilization,
        "shared_utilization": level.shared_utilization,
        "effective_utilization": level.effective_utilization,
        "effective_shared_utilization": level.effective_shared_utilization,
        "double_buffered": level.double_buffered,
    }


def _level_key(key: str, level: LevelEvaluation) -> Row:
    return {"cme": key, "operand": level.operand, "level": level.level, "memory": level.memory}


def _stall_rows(key: str, cme: CostModelEvaluation) -> Iterator[Row]:
    for port in cme.port_stalls:
        costs = {"stall": port.stall, "busy": port.busy}
        yield {"cme": key, "memory": port.memory, "port": port.port, **costs}


def _array_rows(key: str, cme: CostModelEvaluation) -> Iterator[Row]:
    for entry in cme.array_energies:
        yield {"cme": key, "part": entry.part.value, "energy": entry.energy}


def _static_rows(key: str, cme: CostModelEvaluation) -> Iterator[Row]:
    for i, entry in enumerate(cme.static_energies):
        costs = {"kind": entry.kind.value, "power": entry.power, "energy": entry.energy}
        yield {"cme": key, "position": i, "part": entry.part, **costs}
