"""Differences between two accelerators other than energies, areas and names."""

from collections.abc import Iterator
from typing import Final, cast

from nestmap.model import (
    Accelerator,
    ArraySide,
    Frozen,
    InMemoryCompute,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    OperationalArray,
    VectorUnit,
)

Models = tuple[Frozen, ...]

_FREE: Final[dict[type[Frozen], frozenset[str]]] = {
    Accelerator: frozenset({"name", "counts_leakage", "unused_leakage", "area_unit"}),
    OperationalArray: frozenset({"unit_energy", "unit_area", "unit_leakage", "clock_period"}),
    MemoryInstance: frozenset({"name", "read_energy", "write_energy", "area", "leakage"}),
    MemoryPort: frozenset({"name"}),
    VectorUnit: frozenset({"operation_energy", "area"}),
}
"""The fields that hold energies, areas and names. All other fields, including those that later
versions add, determine which mappings fit and how many accesses and cycles they take."""

_KINDS: Final[dict[type[Frozen], str]] = {
    MemoryLevel: "memory",
    MemoryInstance: "",  # it has the name of its level
    MemoryPort: "port",
    ArraySide: "dimension",
    OperationalArray: "array",
    InMemoryCompute: "",  # it is the array
    VectorUnit: "vector unit",
}
"""The names of the components that messages identify by kind."""


class Difference(Frozen, frozen=True):
    """One field that differs.

    ``where`` names the component, as in ``memory sram, port r`` (empty for the accelerator
    itself); the values are texts.
    """

    where: str
    field: str
    before: str
    after: str

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.field} {self.after} instead of {self.before}"


def differences(before: Accelerator, after: Accelerator) -> tuple[Difference, ...]:
    """All differences except energies, areas and names; memories are paired by position."""
    return tuple(_of_models("", before, _with_vector_memory(before, after)))


def _with_vector_memory(before: Accelerator, after: Accelerator) -> Accelerator:
    """``after``, with the memory of its vector unit named as in ``before``.

    The memory may have been renamed, and the outermost memory need not be named at all.
    """
    old, new = before.vector_memory, after.vector_memory
    if not (before.vector_unit and after.vector_unit and old and new):
        return after
    if before.memories.index(old) != after.memories.index(new):
        return after
    unit = after.vector_unit.model_copy(update={"memory": before.vector_unit.memory})
    return after.model_copy(update={"vector_unit": unit})


def _of_models(where: str, before: Frozen, after: Frozen) -> Iterator[Difference]:
    free = _FREE.get(type(before), frozenset())
    for field in type(before).model_fields:
        if field not in free:
            old: object = getattr(before, field)
            new: object = getattr(after, field)
            yield from _of_values(where, field, old, new)


def _of_values(where: str, field: str, before: object, after: object) -> Iterator[Difference]:
    parts, others = _parts(before), _parts(after)
    if parts and len(parts) == len(others):
        for old, new in zip(parts, others, strict=True):
            yield from _of_models(_inside(where, old, new), old, new)
    elif before != after:
        yield Difference(where=where, field=field, before=_text(before), after=_text(after))


def _parts(value: object) -> Models:
    """The models in a field, if all of them are components of an accelerator."""
    values = cast(tuple[object, ...], value) if isinstance(value, tuple) else (value,)
    parts = tuple(x for x in values if isinstance(x, Frozen) and type(x) in _KINDS)
    return parts if len(parts) == len(values) else ()


def _inside(where: str, before: Frozen, after: Frozen) -> str:
    """The name of a component within ``where``."""
    kind, old, new = _KINDS[type(before)], _name(before), _name(after)
    named = f"{kind} {old}" + (f" (now {new})" if old != new else "")
    return ", ".join(text for text in (where, named.strip()) if text)


def _name(part: Frozen) -> str:
    """The name of a component; empty if an accelerator has only one of its kind."""
    return part.name if isinstance(part, MemoryLevel | MemoryPort | ArraySide) else ""


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(x) for x in cast(tuple[object, ...], value)) or "none"
    if isinstance(value, VectorUnit):
        return f"one of {value.lanes} lanes"
    if isinstance(value, InMemoryCompute):
        return f"{value.kind}"
    named = _name(value) if isinstance(value, Frozen) else ""
    return named or (str(value) if value is not None else "none")
