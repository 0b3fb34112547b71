"""What the description of a base says of its format: a single core, or several."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from nestmap.model import InputError
from nestmap.model.design_space.space import Description
from nestmap.pipeline.frontend.bundled import multicore_names, resolve_accelerator
from nestmap.pipeline.frontend.yaml.field_schema import KEY, Section
from nestmap.pipeline.frontend.yaml.file_model import FileModel, models_of, section_of
from nestmap.pipeline.frontend.yaml.hardware.accelerator import AcceleratorFields
from nestmap.pipeline.frontend.yaml.hardware.core import CoreFields, StorageCoreFields
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    CORES,
    OFFCHIP_CORE,
    Multicore2024Fields,
    MulticoreFields,
)
from nestmap.pipeline.frontend.yaml.load import read_yaml


def is_multicore(values: Collection[str]) -> bool:
    """Whether a description with these fields is one of several cores."""
    return CORES in values


def names_multicore(given: str | Description) -> bool:
    """Whether the base of a space is a description of several cores; not if it is unreadable."""
    if isinstance(given, Description):
        return is_multicore(given.values)
    if given in multicore_names():
        return True
    try:
        return is_multicore(_root(resolve_accelerator(given)))
    except InputError:  # which is told where the accelerator is read
        return False


def _root(path: Path) -> Collection[str]:
    root = read_yaml(path)
    return root.entries() if root.is_mapping else ()


def sections_of(values: Collection[str]) -> tuple[Section, ...]:
    """The sections of the format of a description with these fields."""
    if not is_multicore(values):
        return _sections(AcceleratorFields)
    is_old = OFFCHIP_CORE in values
    places = ((CORES, KEY), (OFFCHIP_CORE,)) if is_old else ((CORES, KEY),)
    cores = (
        replace(section, at=(*place, *section.at))
        for place in places
        for section in (*_sections(CoreFields), *_sections(StorageCoreFields))
    )
    return (*_sections(Multicore2024Fields if is_old else MulticoreFields), *cores)


def _sections(root: type[FileModel]) -> tuple[Section, ...]:
    return tuple(section_of(model) for model in models_of(root))
