"""Applies the options of a search to the parts of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from nestmap.model import InputError, MappingType
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.stages import (
    AllSpatialMappingsStage,
    ExactStage,
    LomaStage,
    PaddingStage,
    SalsaStage,
    SearchUnusedMemoryStage,
    SpatialMappingGeneratorStage,
)

Choice = TypeVar("Choice", bound=StrEnum)

Search = LomaStage | SalsaStage | ExactStage
"""A search for temporal mappings."""

SpatialMappings = SpatialMappingGeneratorStage | AllSpatialMappingsStage
"""Which spatial mappings to search."""


def member_by_name(kind: type[Choice], name: str, where: str) -> Choice:
    """The member of an enumeration with this name.

    Raises:
        InputError: where there is none; ``where`` is the name of the option.
    """
    try:
        return kind(name)
    except ValueError:
        names = ", ".join(x.value for x in kind)
        raise InputError(where, repr(name), f"one of {names}") from None


def named(kind: type[Choice], name: str | None, where: str) -> Choice | None:
    """The member of an enumeration with this name; ``None`` for ``None``."""
    return None if name is None else member_by_name(kind, name, where)


def given(options: Mapping[str, object]) -> dict[str, object]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def chosen_search(search: Search, options: SearchOptions) -> Search:
    """The search of the kind that the options name, with the options that apply to it."""
    kind = named(MappingType, options.mapping_type, "mapping_type")
    inherited: dict[str, object] = {"mapping_type": search.mapping_type, "workers": search.workers}
    common = given({"mapping_type": kind, "workers": options.workers})
    match options.search or _implied(search, options):
        case "exact":
            exact = search if isinstance(search, ExactStage) else copy_with(ExactStage(), inherited)
            return copy_with(exact, common | given({"time_limit": options.time_limit}))
        case "loma":
            loma = search if isinstance(search, LomaStage) else copy_with(LomaStage(), inherited)
            lpf = {} if options.lpf_limit is ... else {"lpf_limit": options.lpf_limit}
            return copy_with(loma, common | lpf)
        case "salsa":
            salsa = search if isinstance(search, SalsaStage) else copy_with(SalsaStage(), inherited)
            return copy_with(salsa, common | given({"seed": options.seed}))
        case _:  # from code that is not type-checked
            raise InputError("search", repr(options.search), "exact, loma or salsa")


def _implied(search: Search, options: SearchOptions) -> str:
    """The search that is meant where none is named: only LOMA has a limit of loop factors."""
    is_limited = options.lpf_limit is not ... and isinstance(search, ExactStage)
    return "loma" if is_limited else _name(search)


def _name(search: Search) -> str:
    match search:
        case ExactStage():
            return "exact"
        case LomaStage():
            return "loma"
        case SalsaStage():
            return "salsa"


def chosen_spatial(
    present: SpatialMappings | None, options: SearchOptions, search: Search
) -> SpatialMappings | None:
    """The spatial mappings that the options ask for; with ``mixed`` alone, the usual number."""
    wanted, is_exact = options.spatial_mappings, isinstance(search, ExactStage)
    if wanted == "all":
        if not is_exact:
            found = f"all with search {_name(search)}"
            raise InputError("spatial_mappings", found, "a number, or search exact")
        return AllSpatialMappingsStage()
    generator = given({"max_mappings": wanted, "mixed": options.mixed})
    if isinstance(present, SpatialMappingGeneratorStage):
        return copy_with(present, generator)
    if wanted is not None or options.mixed:
        return copy_with(SpatialMappingGeneratorStage(), generator)
    return present if is_exact else None


def chosen_locality(
    present: SearchUnusedMemoryStage | None, keep: bool | None
) -> SearchUnusedMemoryStage | None:
    """Whether data is kept on chip: as asked, or as at present."""
    if keep is None:
        return present
    return present or SearchUnusedMemoryStage() if keep else None


def chosen_padding(present: PaddingStage | None, percent: float | None) -> PaddingStage | None:
    """How layers are padded: as asked, or as at present."""
    return present if percent is None else PaddingStage(percent=percent)
