"""Rows of the generations of an allocation search, and of the result of the constraint engine."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from uuid import UUID

import duckdb

from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES
from nestmap.model.multicore.allocation import Fitness, Generation, Individual, StreamBound
from nestmap.store.rows.content import Row, insert

_NEWEST = """
SELECT number, evaluations, improved, exhaustive FROM generations WHERE run = ?
ORDER BY number DESC LIMIT 1
"""
_INDIVIDUALS = """
SELECT allocation, latency, energy, memory FROM individuals
WHERE run = $run AND role = $role AND generation = $generation
ORDER BY position
"""
_ALL = """
SELECT number, evaluations, improved, exhaustive FROM generations WHERE run = ? ORDER BY number
"""
_SCHEDULED = """
SELECT allocation, latency, energy, memory FROM individuals
WHERE run = ? AND role = 'scheduled' ORDER BY generation, position
"""
_BOUND = "SELECT bound, proven, proof FROM streams WHERE run = ? AND proven IS NOT NULL"
_WRITE_BOUND = "UPDATE streams SET bound = ?, proven = ?, proof = ? WHERE run = ?"

_Row = tuple[list[int], int | None, float | None, int | None]


class Role(StrEnum):
    """The role of an individual in a generation."""

    POPULATION = "population"
    FRONT = "front"
    SCHEDULED = "scheduled"
    CONSTRAINT = "constraint"


def write_generation(
    connection: duckdb.DuckDBPyConnection, run: UUID, generation: Generation
) -> None:
    """Writes a completed generation."""
    insert(connection, "generations", [_generation_row(run, generation)])
    members = (
        (Role.POPULATION, generation.population),
        (Role.FRONT, generation.front),
        (Role.SCHEDULED, generation.scheduled),
    )
    rows = [
        row
        for role, individuals in members
        for row in _rows(run, generation.number, role, individuals)
    ]
    insert(connection, "individuals", rows)


def _generation_row(run: UUID, generation: Generation) -> Row:
    best = {
        objective.value: min(
            (x.fitness.of(objective) for x in generation.front if x.fitness), default=None
        )
        for objective in ALLOCATION_OBJECTIVES
    }
    return {
        "run": str(run),
        "number": generation.number,
        "evaluations": generation.evaluations,
        **best,
        "front": len(generation.front),
        "improved": generation.improved,
        "exhaustive": generation.exhaustive,
    }


def _rows(
    run: UUID, generation: int, role: Role, individuals: Sequence[Individual]
) -> Iterator[Row]:
    for position, individual in enumerate(individuals):
        fitness = individual.fitness
        yield {
            "run": str(run),
            "generation": generation,
            "role": role.value,
            "position": position,
            "allocation": list(individual.allocation),
            "latency": fitness and fitness.latency,
            "energy": fitness and fitness.energy,
            "memory": fitness and fitness.memory,
        }


def read_generation(connection: duckdb.DuckDBPyConnection, run: UUID) -> Generation | None:
    """The newest generation of a run; ``None`` if there is none."""
    found: list[tuple[int, int, int, bool]] = connection.execute(_NEWEST, [run]).fetchall()
    return _generation(connection, run, found[0]) if found else None


def read_generations(connection: duckdb.DuckDBPyConnection, run: UUID) -> tuple[Generation, ...]:
    """All generations of a run, oldest first."""
    rows: list[tuple[int, int, int, bool]] = connection.execute(_ALL, [run]).fetchall()
    return tuple(_generation(connection, run, row) for row in rows)


def _generation(
    connection: duckdb.DuckDBPyConnection, run: UUID, row: tuple[int, int, int, bool]
) -> Generation:
    number, evaluations, improved, exhaustive = row
    return Generation(
        number=number,
        population=_read(connection, run, number, Role.POPULATION),
        front=_read(connection, run, number, Role.FRONT),
        evaluations=evaluations,
        scheduled=_read(connection, run, number, Role.SCHEDULED),
        improved=improved,
        exhaustive=exhaustive,
    )


def read_scheduled(connection: duckdb.DuckDBPyConnection, run: UUID) -> tuple[Individual, ...]:
    """All allocations that a run scheduled in its generations."""
    rows: list[_Row] = connection.execute(_SCHEDULED, [run]).fetchall()
    return tuple(map(_individual, rows))


def _read(
    connection: duckdb.DuckDBPyConnection, run: UUID, generation: int, role: Role
) -> tuple[Individual, ...]:
    parameters = {"run": run, "generation": generation, "role": role.value}
    rows: list[_Row] = connection.execute(_INDIVIDUALS, parameters).fetchall()
    return tuple(map(_individual, rows))


def _individual(row: _Row) -> Individual:
    allocation, latency, energy, memory = row
    fitness = None
    if latency is not None and energy is not None and memory is not None:
        fitness = Fitness(latency=latency, energy=energy, memory=memory)
    return Individual(allocation=tuple(allocation), fitness=fitness)


def write_bound(connection: duckdb.DuckDBPyConnection, run: UUID, found: StreamBound) -> None:
    """Writes the result of the constraint engine."""
    connection.execute(_WRITE_BOUND, [found.bound, found.proven, found.evaluations, run])
    best = [] if found.best is None else [found.best]
    insert(connection, "individuals", list(_rows(run, 0, Role.CONSTRAINT, best)))


def read_bound(connection: duckdb.DuckDBPyConnection, run: UUID) -> StreamBound | None:
    """The result of the constraint engine; ``None`` if it has not finished."""
    found: list[tuple[int, bool, int]] = connection.execute(_BOUND, [run]).fetchall()
    if not found:
        return None
    bound, proven, evaluations = found[0]
    best = _read(connection, run, 0, Role.CONSTRAINT)
    return StreamBound(
        best=best[0] if best else None, bound=bound, proven=proven, evaluations=evaluations
    )
