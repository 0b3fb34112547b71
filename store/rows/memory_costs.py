"""What slow tools have said of memories, by what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import duckdb
from pydantic import Field, ValidationError

from nestmap.model import Frozen, MemoryCost, MemoryMacro
from nestmap.store.rows.content import OnConflict, insert

_MACRO: Final = ", ".join(MemoryMacro.model_fields)
_COST: Final = ", ".join(MemoryCost.model_fields)
_READ: Final = f"SELECT {_COST} FROM memory_costs WHERE hash = ?"
_ALL: Final = f"SELECT hash, tool, {_MACRO} FROM memory_costs ORDER BY hash"
_COSTS: Final = f"SELECT hash, {_COST} FROM memory_costs ORDER BY hash"


class CostQuestion(Frozen, frozen=True):
    """A memory, and the tool that is asked what it costs: its name, version and settings."""

    macro: MemoryMacro
    tool: str = Field(min_length=1)


def read_memory_cost(
    connection: duckdb.DuckDBPyConnection, question: CostQuestion
) -> MemoryCost | None:
    """What the tool has said before, if it was asked."""
    found = connection.execute(_READ, [question.content_hash]).fetchone()
    return None if found is None else _cost(found)


def write_memory_cost(
    connection: duckdb.DuckDBPyConnection, question: CostQuestion, cost: MemoryCost
) -> None:
    """Writes what the tool says, if it is not there yet."""
    row = {
        "hash": question.content_hash,
        "tool": question.tool,
        **question.macro.model_dump(),
        **cost.model_dump(),
    }
    insert(connection, "memory_costs", [row], OnConflict.KEEP)


def wrong_memory_costs(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """A sentence for each row that is not what its key says, or no cost."""
    for key, tool, *macro in connection.execute(_ALL).fetchall():
        try:
            question = CostQuestion(macro=_macro(macro), tool=tool)
        except ValidationError as error:
            yield f"memory_costs {key}: no valid memory: {_first(error)}"
            continue
        if question.content_hash != key:
            yield f"memory_costs {key}: its content has the hash {question.content_hash}"
    for key, *cost in connection.execute(_COSTS).fetchall():
        try:
            _cost(cost)
        except ValidationError as error:
            yield f"memory_costs {key}: no valid cost: {_first(error)}"


def _macro(values: list[object]) -> MemoryMacro:
    names = MemoryMacro.model_fields
    return MemoryMacro.model_validate(dict(zip(names, values, strict=True)))


def _cost(values: tuple[object, ...] | list[object]) -> MemoryCost:
    names = MemoryCost.model_fields
    return MemoryCost.model_validate(dict(zip(names, values, strict=True)))


def _first(error: ValidationError) -> str:
    return error.errors(include_url=False, include_input=False)[0]["msg"]
