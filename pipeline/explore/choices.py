"""Applies the options of a search to the parts of its plan."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeVar

from nestmap.model import InputError, MappingType
from nestmap.model.base import copy_with
from nestmap.model.errors import suggestion
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.stages import (
    AllSpatialMappingsStage,
    ExactStage,
    LomaStage,
    PaddingStage,
    SalsaStage,
    SpatialMappingGeneratorStage,
)

Choice = TypeVar("Choice", bound=StrEnum)

Search = LomaStage | SalsaStage | ExactStage
"""A search for temporal mappings."""

_SEARCHES: Final[Mapping[str, type[Search]]] = {
    x.name: x for x in (ExactStage, LomaStage, SalsaStage)
}

SpatialMappings = SpatialMappingGeneratorStage | AllSpatialMappingsStage
"""Which spatial mappings to search."""


def member_by_name(members: Iterable[Choice], name: str, where: str) -> Choice:
    """The member of an enumeration, or of several, with this name.

    Raises:
        InputError: where there is none; ``where`` is the name of the option.
    """
    every = tuple(members)
    found = next((x for x in every if x.value == name), None)  # a name may be of any type
    if found is None:
        raise InputError(where, repr(name), f"one of {', '.join(x.value for x in every)}")
    return found


def named(kind: type[Choice], name: str | None, where: str) -> Choice | None:
    """The member of an enumeration with this name; ``None`` for ``None``."""
    return None if name is None else member_by_name(kind, name, where)


def check_names(options: Mapping[str, object], declared: Collection[str]) -> None:
    """Checks that all options are declared: Python accepts any keyword of a typed dictionary.

    Raises:
        InputError: where one is not.
    """
    for name in options:
        if name not in declared:
            raise InputError("options", repr(name), suggestion(name, declared))


def given(options: Mapping[str, object]) -> dict[str, object]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def chosen_search(search: Search, options: SearchOptions) -> Search:
    """The search of the kind that the options name, with its options.

    Raises:
        InputError: where an option is invalid, or has no effect with that search.
    """
    name = options.get("search") or _implied(search, options)
    if name not in _SEARCHES:  # from code that is not type-checked
        raise InputError("search", repr(name), "exact, loma or salsa")
    kind = _SEARCHES[name]
    inherited: dict[str, object] = {"mapping_type": search.mapping_type, "workers": search.workers}
    base = search if search.name == name else copy_with(kind(), inherited)
    asked = given(
        {
            "mapping_type": named(MappingType, options.get("mapping_type"), "mapping_type"),
            "workers": options.get("workers"),
            "time_limit": options.get("time_limit"),
            "gap": options.get("gap"),
            "seed": options.get("seed"),
        }
    )
    if "lpf_limit" in options and (options["lpf_limit"] is not None or name == LomaStage.name):
        asked["lpf_limit"] = options["lpf_limit"]
    for option in sorted(asked.keys() - kind.model_fields.keys()):
        suited = [x for x, other in _SEARCHES.items() if option in other.model_fields]
        raise InputError.conflict(
            option, f"search {name}", f"it has an effect with search {' or '.join(suited)}"
        )
    return copy_with(base, asked)


def _implied(search: Search, options: SearchOptions) -> str:
    """The search that is meant where none is named: only LOMA has a limit of loop factors."""
    is_limited = "lpf_limit" in options and search.is_exhaustive
    return LomaStage.name if is_limited else search.name


def chosen_spatial(
    present: SpatialMappings | None, options: SearchOptions, search: Search
) -> SpatialMappings | None:
    """The spatial mappings that the options ask for.

    With ``mixed`` alone, the usual number: of the exact search all, among which are mixed ones.
    """
    wanted, mixed = options.get("spatial_mappings"), options.get("mixed")
    if wanted == "all":
        if not search.is_exhaustive:
            found = f"all with search {search.name}"
            raise InputError("spatial_mappings", found, "a number, or search exact")
        return AllSpatialMappingsStage()
    generator = given({"max_mappings": wanted, "mixed": mixed})
    if isinstance(present, SpatialMappingGeneratorStage):
        return copy_with(present, generator)
    if wanted is not None or (mixed and not search.is_exhaustive):
        return copy_with(SpatialMappingGeneratorStage(), generator)
    return present if search.is_exhaustive else None


def chosen_padding(present: PaddingStage | None, percent: float | None) -> PaddingStage | None:
    """How layers are padded: as asked, or as at present."""
    return present if percent is None else PaddingStage(percent=percent)
