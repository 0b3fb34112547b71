"""Rows of schedules, written by column: nodes, tensors, transfers, streams, stays, energies."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import duckdb
import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.cn_costs import INFEASIBLE
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem, TransferKind
from nestmap.store.rows.content import OnConflict, Row, Table, insert
from nestmap.store.rows.evaluations import numbers_table

Columns = Mapping[str, NDArray[np.int64] | NDArray[np.float64]]

_KINDS: Final = ", ".join(f"'{kind.name.lower()}'" for kind in TransferKind)
_INSERT: Final = "INSERT INTO {table} BY NAME SELECT ?::UUID AS run, * {change} FROM incoming"
_NO_COSTS: Final = (
    "REPLACE (if(runtime < 0, NULL, runtime) AS runtime, "
    "if(runtime < 0, NULL, onchip_energy) AS onchip_energy, "
    "if(runtime < 0, NULL, offchip_energy) AS offchip_energy)"
)
_KIND_NAMES: Final = f"REPLACE (([{_KINDS}])[kind + 1] AS kind)"
_ENDLESS: Final = "REPLACE (if(until < 0, NULL, until) AS until)"


def write_problem(
    connection: duckdb.DuckDBPyConnection, run: UUID, problem: ScheduleProblem
) -> None:
    """Writes the problem of a run: its layers, and the costs of their nodes."""
    nodes, space = problem.nodes, problem.space
    row = {
        "run": str(run),
        "nodes": len(nodes),
        "edges": len(nodes.edges),
        "kinds": len(problem.costs.runtime),
        "genes": len(space.groups),
        "free_genes": len(space.free_groups),
    }
    insert(connection, "streams", [row], OnConflict.KEEP)
    layers: list[Row] = [
        {
            "run": str(run),
            "layer": layer.nest.number,
            "name": layer.nest.name,
            "operator": layer.nest.operator,
            "operands": [x.operand for x in (layer.nest.output, *layer.nest.inputs)],
            "nodes": layer.tiling.count,
        }
        for layer in nodes.layers
    ]
    insert(connection, "stream_layers", layers, OnConflict.KEEP)
    connection.execute("DELETE FROM stream_costs WHERE run = ?", [run])
    _write(connection, run, "stream_costs", _costs(problem), _NO_COSTS)


def _costs(problem: ScheduleProblem) -> Columns:
    """The cost table, one row per kind and core."""
    costs, count = problem.costs, len(problem.costs.cores)
    kinds = len(costs.runtime)
    first = np.zeros(kinds, dtype=np.int64)
    used, place = np.unique(costs.kind, return_index=True)
    first[used] = layer_numbers(problem.nodes)[place]
    nodes = np.bincount(costs.kind, minlength=kinds)
    return {
        "kind": np.repeat(np.arange(kinds), count),
        "core": np.tile(np.array(costs.cores, dtype=np.int64), kinds),
        "layer": np.repeat(first, count),
        "nodes": np.repeat(nodes, count),
        "runtime": np.where(costs.runtime == INFEASIBLE, -1, costs.runtime).ravel(),
        "onchip_energy": costs.onchip.ravel(),
        "offchip_energy": costs.offchip.ravel(),
        "streamed": costs.streamed.ravel(),
        "read_rate": costs.read_rate.ravel(),
        "write_rate": costs.write_rate.ravel(),
    }


def layer_numbers(nodes: CnWorkload) -> NDArray[np.int64]:
    """The layer number of each node."""
    numbers = np.array([layer.nest.number for layer in nodes.layers], dtype=np.int64)
    return np.repeat(numbers, np.diff(nodes.first_nodes))


def write_schedule(connection: duckdb.DuckDBPyConnection, run: UUID, schedule: Schedule) -> None:
    """Writes the schedule that a run reports."""
    row = {
        "run": str(run),
        "allocation": list(schedule.allocation),
        "latency": schedule.latency,
        "energy": schedule.energy.total,
    }
    insert(connection, "schedules", [row])
    energies: list[Row] = [
        {"run": str(run), "position": place, "part": part, "energy": energy}
        for place, (part, energy) in enumerate(schedule.energy.parts.items())
    ]
    insert(connection, "schedule_energies", energies)
    _write(connection, run, "schedule_nodes", _nodes(schedule))
    _write(connection, run, "schedule_tensors", _tensors(schedule))
    _write(connection, run, "schedule_transfers", _transfers(schedule), _KIND_NAMES)
    _write(connection, run, "schedule_streams", _streams(schedule))
    _write(connection, run, "schedule_stays", _residencies(schedule), _ENDLESS)
    peaks = np.array(schedule.peaks, dtype=np.int64)
    memories = {"memory": np.arange(len(peaks)), "peak": peaks}
    _write(connection, run, "schedule_memories", memories)


def _nodes(schedule: Schedule) -> Columns:
    problem = schedule.problem
    nodes, place = problem.nodes, np.arange(len(problem.nodes))
    counts = np.diff(nodes.first_nodes)
    return {
        "node": place,
        "layer": layer_numbers(nodes),
        "number": place - np.repeat(nodes.first_nodes[:-1], counts),
        "gene": problem.space.group_of,
        "kind": problem.costs.kind,
        "core": schedule.core,
        "begins": schedule.start,
        "ends": schedule.end,
    }


def _tensors(schedule: Schedule) -> Columns:
    tensors = schedule.tensors
    return {
        "tensor": np.arange(len(tensors)),
        "node": tensors.node,
        "operand": tensors.operand,
        "bits": tensors.bits,
    }


def _transfers(schedule: Schedule) -> Columns:
    sent = schedule.transfers
    return {
        "transfer": np.arange(len(sent)),
        "tensor": sent.tensor,
        "sender": sent.sender,
        "receiver": sent.receiver,
        "sending": sent.sending,
        "receiving": sent.receiving,
        "begins": sent.start,
        "ends": sent.end,
        "kind": sent.kind,
        "node": sent.node,
        "link_energy": sent.link_energy,
        "memory_energy": sent.memory_energy,
    }


def _streams(schedule: Schedule) -> Columns:
    streams = schedule.streams
    return {
        "stream": np.arange(len(streams)),
        "node": streams.node,
        "sending": streams.sending,
        "receiving": streams.receiving,
        "begins": streams.start,
        "ends": streams.end,
        "rate": streams.rate,
        "link_energy": streams.link_energy,
    }


def _residencies(schedule: Schedule) -> Columns:
    stays = schedule.residencies
    return {
        "stay": np.arange(len(stays)),
        "tensor": stays.tensor,
        "memory": stays.memory,
        "since": stays.since,
        "available": stays.available,
        "until": stays.until,
    }


def _write(
    connection: duckdb.DuckDBPyConnection,
    run: UUID,
    table: Table,
    columns: Columns,
    change: str = "",
) -> None:
    """Appends columns to a table; ``change`` is SQL that replaces some of them."""
    connection.register("incoming", numbers_table(columns))
    connection.execute(_INSERT.format(table=table, change=change), [run])
    connection.unregister("incoming")
