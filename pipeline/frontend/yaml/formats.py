"""The formats of YAML files, and the parts of each."""

from enum import StrEnum
from typing import Final

from nestmap.pipeline.frontend.yaml.design_space import (
    CONDITIONS,
    FIELDS,
    NETWORKS,
    OBJECTIVES,
    SpaceFields,
)
from nestmap.pipeline.frontend.yaml.design_space_parameters import PARAMETERS
from nestmap.pipeline.frontend.yaml.field_schema import Part
from nestmap.pipeline.frontend.yaml.file_model import parts
from nestmap.pipeline.frontend.yaml.hardware.accelerator import AcceleratorFields, VectorUnitFields
from nestmap.pipeline.frontend.yaml.hardware.array import ArrayFields, ImcArrayFields
from nestmap.pipeline.frontend.yaml.hardware.core import CoreFields, StorageCoreFields
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import (
    COMPRESSION,
    MOVEMENTS,
    MemoryFields,
    PortFields,
)
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    ENTRIES,
    EQUAL_CORES,
    PAIRS,
    PLACES,
    SHARED,
    ConnectionFields,
    Multicore2024Fields,
    MulticoreFields,
)
from nestmap.pipeline.frontend.yaml.layer_fields import (
    DENSITIES,
    PRECISIONS,
    RELATIONS,
    SOURCES,
    LayerFields,
)
from nestmap.pipeline.frontend.yaml.mapping_fields import (
    HINTS,
    LEVELS,
    LINKS,
    ORDER,
    TILINGS,
    UNROLLED,
    MappingFields,
    SegmentFields,
)
from nestmap.pipeline.frontend.yaml.stream_mapping import (
    SPLITS,
    TILES,
    StreamGroupFields,
    StreamLayerFields,
    StreamMappingFields,
)


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


HARDWARE: Final = (
    *(ArrayFields, ImcArrayFields, MemoryFields),
    *(COMPRESSION, PortFields, MOVEMENTS, VectorUnitFields),
)
"""The parts that accelerators and cores have in common."""

PARTS: Final[dict[FileFormat, tuple[Part, ...]]] = {
    FileFormat.ACCELERATOR: parts(AcceleratorFields, *HARDWARE),
    FileFormat.CORES: parts(
        *(MulticoreFields, ENTRIES, ConnectionFields, SHARED, PLACES, EQUAL_CORES)
    ),
    FileFormat.CORE: parts(CoreFields, StorageCoreFields, *HARDWARE),
    FileFormat.MAPPING: parts(
        *(MappingFields, UNROLLED, HINTS, LINKS, ORDER, LEVELS, SegmentFields, TILINGS)
    ),
    FileFormat.WORKLOAD: parts(LayerFields, RELATIONS, SOURCES, DENSITIES, PRECISIONS),
    FileFormat.SPACE: parts(SpaceFields, PARAMETERS, FIELDS, CONDITIONS, NETWORKS, OBJECTIVES),
}
"""The parts of each format; sections with the same path are alternatives."""

MAPPING_OF_STREAM: Final = parts(
    *(StreamMappingFields, StreamLayerFields, SPLITS, StreamGroupFields, TILES)
)
"""The parts of mapping files of present Stream."""

CORES_2024: Final = parts(Multicore2024Fields, ENTRIES, PAIRS, SHARED, PLACES)
"""The parts of files of several cores as in 2024."""
