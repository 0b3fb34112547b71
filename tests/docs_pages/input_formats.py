"""The formats of input files: an example of each, and the sections that its parser reads."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from nestmap.model import (
    Accelerator,
    ComputeCore,
    CoreMapping,
    MappingConstraints,
    MultiCoreAccelerator,
    StorageCore,
    Workload,
)
from nestmap.model.design_space.space import DesignSpace
from nestmap.pipeline.frontend.yaml.design_space import SpaceFields, parse_design_space
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, Part, Section
from nestmap.pipeline.frontend.yaml.file_model import parts
from nestmap.pipeline.frontend.yaml.hardware.accelerator import (
    AcceleratorFields,
    VectorUnitFields,
    parse_accelerator,
)
from nestmap.pipeline.frontend.yaml.hardware.array import ArrayFields, ImcArrayFields
from nestmap.pipeline.frontend.yaml.hardware.core import (
    CoreFields,
    StorageCoreFields,
    parse_core,
    parse_offchip_core,
)
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import MemoryFields, PortFields
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    ConnectionFields,
    Multicore2024Fields,
    MulticoreFields,
)
from nestmap.pipeline.frontend.yaml.layer_fields import LayerFields
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from nestmap.pipeline.frontend.yaml.mapping_fields import MappingFields, SegmentFields
from nestmap.pipeline.frontend.yaml.stream_mapping import (
    StreamGroupFields,
    StreamLayerFields,
    StreamMappingFields,
)
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml

Mapped = tuple[MappingConstraints, CoreMapping]
Hardware = Accelerator | ComputeCore | StorageCore | MultiCoreAccelerator
Model = Hardware | Mapped | Workload | DesignSpace

_EXAMPLES: Final = Path(__file__).parent / "formats"


@final
@dataclass(frozen=True)
class Format:
    """A kind of file: what it is for, an example, what it consists of, whose format it is."""

    title: str
    meaning: str
    example: Path
    parse: Callable[[Path], Model]
    parts: tuple[Part, ...]
    origin: Origin = Origin.ZIGZAG


def _parse_mapping(path: Path) -> Mapped:
    """What a mapping file says of one core, and of several."""
    return parse_mapping(path), parse_core_mapping(path)


def _only_in(shown: tuple[Part, ...], before: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a format that another does not have."""
    titles = {part.title for part in before}
    return tuple(part for part in shown if part.title not in titles)


FORMATS: Final = (
    Format(
        "Accelerator",
        "The machine: the units that compute, and the memories that feed them. "
        "`nestmap show --accelerator FILE` prints what was read.",
        _EXAMPLES / "accelerator.yaml",
        parse_accelerator,
        parts(AcceleratorFields, ArrayFields, MemoryFields, PortFields, VectorUnitFields),
    ),
    Format(
        "In-memory computing",
        "An accelerator whose array multiplies where the weights are stored. All but the array is "
        "as above.",
        _EXAMPLES / "imc_accelerator.yaml",
        parse_accelerator,
        parts(ImcArrayFields),
    ),
    Format(
        "Several cores",
        "A machine whose cores exchange tensors over links and buses, as Stream's files describe "
        "it. Each core has a file, or stands in this one.",
        _EXAMPLES / "multicore.yaml",
        parse_multicore,
        parts(MulticoreFields, ConnectionFields),
        Origin.STREAM,
    ),
    Format(
        "Core file",
        "A core of several, in a file or in place. Arrays, memories and ports are as "
        "[above](#operational-array).",
        _EXAMPLES / "core.yaml",
        parse_core,
        parts(CoreFields),
        Origin.STREAM,
    ),
    Format(
        "Core file without an array",
        "A core that only stores. Memories and ports are as [above](#memory).",
        _EXAMPLES / "storage_core.yaml",
        parse_offchip_core,
        parts(StorageCoreFields),
        Origin.STREAM,
    ),
    Format(
        "Several cores as in 2024",
        "The older way to write them, which is read, too.",
        _EXAMPLES / "multicore_2024.yaml",
        parse_multicore,
        _only_in(parts(Multicore2024Fields), parts(MulticoreFields)),
        Origin.STREAM,
    ),
    Format(
        "Mapping",
        "What is fixed about how layers are mapped (`--mapping FILE`); all else is searched.",
        _EXAMPLES / "mapping.yaml",
        _parse_mapping,
        parts(MappingFields, SegmentFields),
    ),
    Format(
        "Mapping as in present Stream",
        "The form that Stream later than 0.0.8 writes, which is read, too.",
        _EXAMPLES / "mapping_stream.yaml",
        _parse_mapping,
        parts(StreamMappingFields, StreamLayerFields, StreamGroupFields),
        Origin.STREAM,
    ),
    Format(
        "Workload",
        "A network layer by layer. Its name is that of the file. Most networks come as "
        "[ONNX models](#onnx-models) instead.",
        _EXAMPLES / "workload.yaml",
        parse_workload_yaml,
        parts(LayerFields),
    ),
    Format(
        "Design space",
        "Accelerators that differ in some fields, for `nestmap sweep`: see [sweeps](sweeps.md).",
        _EXAMPLES / "space.yaml",
        parse_design_space,
        parts(SpaceFields),
        Origin.NESTMAP,
    ),
)

_BITS: Final = "a whole number of bits"

ONNX_ATTRIBUTES: Final = Section(
    "Attributes of a node",
    (),
    "Integer attributes that override the precisions of one layer, as in ZigZag.",
    (
        Field(
            "weight_size",
            "of an element of `W`",
            _BITS,
            "4",
            Need.OPTIONAL,
            otherwise="as the type of the tensor, or quantization around it, says",
        ),
        Field(
            "act_size",
            "of an element of `I` and of a finished `O`",
            _BITS,
            "4",
            Need.OPTIONAL,
            otherwise="as the types of the tensors, or quantization around them, say",
        ),
        Field(
            "output_size",
            "of a partial sum of `O`",
            _BITS,
            "24",
            Need.OPTIONAL,
            otherwise="32 for quantized inputs, else twice those of a finished `O` and at most 32",
        ),
    ),
)
"""What users may write into ONNX models."""
