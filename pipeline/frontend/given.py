"""What Python callers may give as a network, an accelerator or a mapping."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    import onnx

    from nestmap.model import Accelerator, Layer, MappingConstraints, Workload
    from nestmap.model.multicore.accelerator import MultiCoreAccelerator
    from nestmap.model.multicore.core_constraints import CoreMapping

FieldValues: TypeAlias = Mapping[str, object]
"""The fields of a YAML file, or of an item of one, as a dictionary."""

GivenWorkload: TypeAlias = "Workload | Layer | onnx.ModelProto | Sequence[FieldValues] | Path | str"
"""A network or a single layer, an ONNX model, the layers of a YAML file, a file, a bundled name."""

GivenAccelerator: TypeAlias = "Accelerator | FieldValues | Path | str"
"""An accelerator, the fields of a YAML file, a file, a bundled name."""

GivenMapping: TypeAlias = "MappingConstraints | Sequence[FieldValues] | Path | str"
"""Constraints, the entries of a YAML file, a file, a bundled name."""

GivenCores: TypeAlias = "MultiCoreAccelerator | FieldValues | Path | str"
"""An accelerator with several cores, the fields of a YAML file, a file, a bundled name."""

GivenCoreMapping: TypeAlias = "CoreMapping | Sequence[FieldValues] | Path | str"
"""Core allocations, the entries of a YAML file, a file, a bundled name."""

V = TypeVar("V")
"""The values of a YAML file."""


def source_of(given: V | Path | str, resolve: Callable[[str], Path]) -> V | Path:
    """The file of a path or name, or the values themselves."""
    return resolve(str(given)) if isinstance(given, str | Path) else given
