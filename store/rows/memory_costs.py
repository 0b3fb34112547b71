"""Rows of memory costs that slow external tools such as CACTI computed, by question."""

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
    """A memory, and the tool that computes its costs: name, version and settings."""

    macro: MemoryMacro
    tool: str = Field(min_length=1)


def read_memory_cost(
    connection: duckdb.DuckDBPyConnection, question: CostQuestion
) -> MemoryCost | None:
    """The recorded answer of the tool; ``None`` if there is none."""
    found = connection.execute(_READ, [question.content_hash]).fetchone()
    return None if found is None else _cost(found)


def write_memory_cost(
    connection: duckdb.DuckDBPyConnection, question: CostQuestion, cost: MemoryCost
) -> None:
    """Records the answer of the tool, if there is none yet."""
    row = {
        "hash": question.content_hash,
        "tool": question.tool,
        **question.macro.model_dump(),
        **cost.model_dump(),
    }
    insert(connection, "memory_costs", [row], OnConflict.KEEP)


def check_memory_costs(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """One sentence for each row that does not match its key or is no valid cost."""
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
    return error.errors(include_url=False, include_input=False)[0]["msg"].removeprefix(
        "Value error, "
    )
