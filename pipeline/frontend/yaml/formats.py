"""The formats of YAML files: what each consists of."""

from enum import StrEnum
from typing import Final

from nestmap.pipeline.frontend.yaml.design_space import SpaceFields
from nestmap.pipeline.frontend.yaml.file_model import FileModel
from nestmap.pipeline.frontend.yaml.hardware.accelerator import AcceleratorFields
from nestmap.pipeline.frontend.yaml.hardware.core import CoreFields, StorageCoreFields
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    Multicore2024Fields,
    MulticoreFields,
)
from nestmap.pipeline.frontend.yaml.layer_fields import LayerFields
from nestmap.pipeline.frontend.yaml.mapping_fields import MappingFields
from nestmap.pipeline.frontend.yaml.stream_mapping import StreamMappingFields


class FileFormat(StrEnum):
    """A kind of YAML file."""

    ACCELERATOR = "accelerator"
    """An accelerator with a single core."""
    CORES = "cores"
    """An accelerator with several cores."""
    CORE = "core"
    """A core of several."""
    MAPPING = "mapping"
    """Constraints on mappings, and core allocations."""
    WORKLOAD = "workload"
    """A network, layer by layer."""
    SPACE = "space"
    """A design space: accelerators that a sweep explores."""


ROOTS: Final[dict[FileFormat, tuple[type[FileModel], ...]]] = {
    FileFormat.ACCELERATOR: (AcceleratorFields,),
    FileFormat.CORES: (MulticoreFields, Multicore2024Fields),
    FileFormat.CORE: (CoreFields, StorageCoreFields),
    FileFormat.MAPPING: (MappingFields, StreamMappingFields),
    FileFormat.WORKLOAD: (LayerFields,),
    FileFormat.SPACE: (SpaceFields,),
}
"""The models of a file, or of the items of one, in each form in which a format is read."""
