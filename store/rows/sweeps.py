"""Rows of sweeps and of their designs."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import pyarrow as pa

from nestmap.model import Frozen, Objective
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Aggregate
from nestmap.model.units import Count
from nestmap.store.rows.content import OnConflict, insert
from nestmap.store.rows.run_records import JsonText


class SweepInfo(Frozen, frozen=True):
    """The description of a sweep, known before it starts.

    ``key`` is the content hash of everything that determines its designs and their figures, and
    ``methods`` those of what determines the figures of each network on an accelerator; ``question``
    is what the sweep asks, as JSON. Each design is mapped for each of ``mapped_for`` in turn, and
    has a row for each; ``objectives`` are the names of those of the front. At most ``most`` designs
    are explored.
    """

    key: str
    name: str
    command: str
    version: str
    mapped_for: tuple[Objective, ...]
    objectives: tuple[str, ...]
    aggregate: Aggregate
    methods: tuple[str, ...]
    question: JsonText
    most: Count


class SweepState(Frozen, frozen=True):
    """How far a sweep is: its designs, and the positions of the rows on the front.

    ``rejected`` counts the designs that were tried and do not meet the constraints; ``None`` until
    the sweep is complete.
    """

    designs: Count = 0
    front: tuple[Count, ...] = ()
    rejected: Count | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all designs are explored."""
        return self.rejected is not None


class DesignRow(NamedTuple):
    """A mapped design and the values of the objectives, which an infeasible one has not."""

    result: DesignResult
    objective_values: tuple[float, ...] | None


class SweepRecord(Frozen, frozen=True):
    """A sweep as the store has it; ``started`` is UTC."""

    info: SweepInfo
    started: datetime
    state: SweepState


NETWORK_FIGURES: pa.DataType = pa.struct(
    [
        pa.field("network", pa.string()),
        pa.field("weight", pa.float64()),
        pa.field("energy", pa.float64()),
        pa.field("latency", pa.float64()),
        pa.field("gap", pa.float64()),
        pa.field("cut", pa.bool_()),
    ]
)
"""The figures of a network on a design, as the column ``networks`` has them."""


def write_sweep(
    connection: duckdb.DuckDBPyConnection, info: SweepInfo, started: datetime, state: SweepState
) -> None:
    """Writes a sweep, in place of an earlier state of it."""
    row = {
        "hash": info.key,
        "name": info.name,
        "started": started,
        "command": info.command,
        "version": info.version,
        "mapped_for": [x.value for x in info.mapped_for],
        "objectives": list(info.objectives),
        "aggregate": info.aggregate.value,
        "methods": list(info.methods),
        "question": info.question,
        "most": info.most,
        "designs": state.designs,
        "rejected": state.rejected,
        "front": list(state.front),
    }
    insert(connection, "sweeps", [row], OnConflict.REPLACE)


def forget_cut_designs(connection: duckdb.DuckDBPyConnection, key: str) -> None:
    """Removes the designs of a sweep from the first one on that a limit of time cut short.

    They are not what the sweep asks for, as another exploration may find more.
    """
    connection.execute(_FORGET_DESIGNS, {"sweep": key})
    connection.execute(_FORGET_STATE, {"sweep": key})


_FORGET_STATE = """
UPDATE sweeps SET rejected = NULL, front = list_filter(front, lambda x: x < kept.rows),
  designs = kept.rows // len(mapped_for)
FROM (SELECT count(*) AS rows FROM sweep_designs WHERE sweep = $sweep) AS kept
WHERE hash = $sweep AND designs * len(mapped_for) > kept.rows
"""
_FORGET_DESIGNS = """
DELETE FROM sweep_designs
WHERE sweep = $sweep AND position >= (
  SELECT min(design.position - design.position % len(asked.mapped_for))
  FROM sweep_designs AS design JOIN sweeps AS asked ON asked.hash = design.sweep
  WHERE asked.hash = $sweep AND len(list_filter(design.networks, lambda x: x.cut)) > 0
)
"""


def utc_now() -> datetime:
    """The time without its zone, as the store has it."""
    return datetime.now(UTC).replace(tzinfo=None)


def write_designs(
    connection: duckdb.DuckDBPyConnection, key: str, first: int, rows: Sequence[DesignRow]
) -> None:
    """Writes rows of a sweep from the position ``first`` on."""
    connection.register("incoming", _table(key, first, rows))
    connection.execute("INSERT INTO sweep_designs BY NAME FROM incoming")
    connection.unregister("incoming")


def _table(key: str, first: int, rows: Sequence[DesignRow]) -> pa.Table:
    figures, designs = pa.float64(), [x.result for x in rows]
    values = [x.objective_values for x in rows]
    networks = [[network.model_dump() for network in x.networks] for x in designs]
    return pa.table(
        {
            "sweep": pa.array([key] * len(designs), pa.string()),
            "position": pa.array(range(first, first + len(designs)), pa.int64()),
            "number": pa.array([x.number for x in designs], pa.decimal128(38)),
            "parameters": pa.array([json.dumps(dict(x.parameters)) for x in designs], pa.string()),
            "mapped_for": pa.array([x.mapped_for.value for x in designs], pa.string()),
            "accelerator": pa.array([x.accelerator for x in designs], pa.string()),
            "area": pa.array([x.area for x in designs], figures),
            "energy": pa.array([x.energy for x in designs], figures),
            "latency": pa.array([x.latency for x in designs], figures),
            "edp": pa.array([x.edp for x in designs], figures),
            "objective_values": pa.array(values, pa.list_(figures)),
            "reason": pa.array([x.reason for x in designs], pa.string()),
            "networks": pa.array(networks, pa.list_(NETWORK_FIGURES)),
        }
    )
