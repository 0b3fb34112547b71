"""The values of a description of several cores, with the contents of core files in place."""

from pathlib import Path

from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.core_files import CoreFiles
from nestmap.pipeline.frontend.yaml.hardware.multicore import CORES, OFFCHIP_CORE
from nestmap.pipeline.frontend.yaml.load import read_source, read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import plain_value


def multicore_values(source: Path | FieldValues) -> dict[str, object]:
    """The values of a valid description; keys that are numbers of cores become texts, as in JSON.

    Files of cores are looked for as by
    :func:`~nestmap.pipeline.frontend.yaml.hardware.multicore.parse_multicore`.

    Raises:
        InputError: if there is a value other than numbers, texts, lists and mappings.
    """
    root = read_source(source, FileKind.CORES)
    files = CoreFiles(source.parent if isinstance(source, Path) else Path(), cacti_cost)
    return {name: _value(name, node, files) for name, node in root.entries().items()}


def _value(name: str, node: Node, files: CoreFiles) -> object:
    if name == OFFCHIP_CORE:
        return _core(node, files)
    if name == CORES.at[0]:
        return {str(key): _core(x, files) for key, x in node.numbered(CORES.kind).items()}
    return plain_value(node)


def _core(node: Node, files: CoreFiles) -> object:
    """The contents of a core, which may stand in a file."""
    return plain_value(node if node.is_mapping else read_yaml(files.path(node)))
