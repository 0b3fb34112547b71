"""Reads the constraints of mappings from a file, a bundled name or a Python object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nestmap.model import MappingConstraints
from nestmap.pipeline.frontend.bundled import default_mapping_for, resolve_mapping
from nestmap.pipeline.frontend.given import source_of
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenMapping


def read_mapping(given: GivenMapping | None, *, for_accelerator: str | None) -> MappingConstraints:
    """Reads mapping constraints; ``None`` means those bundled for the accelerator, if any.

    Raises:
        InputError: if the file or the name is invalid.
    """
    if isinstance(given, MappingConstraints):
        return given
    if given is not None:
        return parse_mapping(source_of(given, resolve_mapping))
    bundled = None if for_accelerator is None else default_mapping_for(for_accelerator)
    return MappingConstraints() if bundled is None else parse_mapping(bundled)
