"""Rows of multi-core accelerators: cores, top memories, channels and paths."""

from __future__ import annotations

from itertools import product
from typing import TypedDict

import duckdb

from nestmap.model.multicore.accelerator import ComputeCore, Core, MultiCoreAccelerator
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.store.rows.content import OnConflict, Row, insert, known_hashes


class _Accelerator(TypedDict):
    accelerator: str


def write_multicore_accelerator(
    connection: duckdb.DuckDBPyConnection, machine: MultiCoreAccelerator
) -> None:
    """Writes an accelerator, its cores, memories, channels and paths, unless the store has it."""
    key = machine.content_hash
    if key in known_hashes(connection, "accelerators", [key]):
        return
    insert(connection, "accelerators", [_accelerator_row(key, machine)], OnConflict.KEEP)
    of: _Accelerator = {"accelerator": key}
    cores: list[Row] = [{**of, **_core_columns(machine, core)} for core in machine.cores]
    insert(connection, "cores", cores, OnConflict.KEEP)
    homes: list[Row] = [
        {
            **of,
            "memory": place,
            "name": home.name,
            "cores": list(home.cores),
            "size": home.level.instance.size,
        }
        for place, home in enumerate(TopMemories(accelerator=machine).memories)
    ]
    insert(connection, "homes", homes, OnConflict.KEEP)
    _write_interconnect(connection, of, Interconnect(accelerator=machine))


def _accelerator_row(key: str, machine: MultiCoreAccelerator) -> Row:
    from nestmap.costmodel.core_areas import chip_area  # noqa: PLC0415 (imports the JIT)

    return {
        "hash": key,
        "name": machine.name,
        "cores": len(machine.cores),
        "units": sum(core.accelerator.array.units for core in machine.compute_cores),
        "area": chip_area(machine),
        "json": machine.model_dump_json(),
    }


def _core_columns(machine: MultiCoreAccelerator, core: Core) -> Row:
    computing = core if isinstance(core, ComputeCore) else None
    return {
        "core": core.id,
        "name": core.name,
        "kind": core.kind,
        "offchip": core.id == machine.offchip,
        "operators": list(computing.operators) if computing else [],
        "units": computing.accelerator.array.units if computing else 0,
    }


def _write_interconnect(
    connection: duckdb.DuckDBPyConnection, of: _Accelerator, ways: Interconnect
) -> None:
    wires: list[Row] = [
        {**of, "wire": place, **wire.model_dump()} for place, wire in enumerate(ways.channels)
    ]
    insert(connection, "wires", wires, OnConflict.KEEP)
    numbers = [core.id for core in ways.accelerator.cores]
    paths: list[Row] = [
        {**of, "sender": sender, "receiver": receiver, "wires": list(ways.path(sender, receiver))}
        for sender, receiver in product(numbers, repeat=2)
        if _has_path(ways, sender, receiver)
    ]
    insert(connection, "paths", paths, OnConflict.KEEP)


def _has_path(ways: Interconnect, sender: int, receiver: int) -> bool:
    try:
        ways.path(sender, receiver)
    except KeyError:
        return False
    return True
