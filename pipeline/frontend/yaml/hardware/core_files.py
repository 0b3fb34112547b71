"""Finds and reads the files of cores that a description of several cores names."""

from os.path import isfile
from pathlib import Path
from typing import final

from nestmap.model.base import copy_with
from nestmap.model.errors import suggestion
from nestmap.model.multicore.accelerator import CoreId
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.core import Core, CoreType, core_of
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import CORES, OFFCHIP_CORE, SEVERAL
from nestmap.pipeline.frontend.yaml.load import plain_value, read_source, read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node


@final
class CoreFiles:
    """The core files named by descriptions in one folder."""

    def __init__(self, folder: Path, cacti: CactiClient) -> None:
        self._folder = folder
        self._cacti = cacti
        self._read: dict[tuple[Path, CoreType], Core] = {}

    def core(self, node: Node, number: CoreId) -> Core:
        """The core described in a file, or by the node itself.

        Raises:
            InputError: if the file does not exist or does not describe a core.
        """
        return self._core(node, number, CoreType.COMPUTE)

    def offchip(self, node: Node, number: CoreId) -> Core:
        """The off-chip core: a storage core unless the description states another type."""
        return self._core(node, number, CoreType.OFFCHIP)

    def _core(self, node: Node, number: CoreId, default: CoreType) -> Core:
        if node.is_mapping:
            return core_of(node, number, default, self._cacti)
        key = self.path(node), default
        if key not in self._read:
            self._read[key] = core_of(read_yaml(key[0]), number, default, self._cacti)
        return copy_with(self._read[key], {"id": number})

    def path(self, node: Node) -> Path:
        """The file of a core.

        Raises:
            InputError: if it does not exist.
        """
        name = node.text("the file of a core, or the core itself")
        for path in (self._folder / name, self._folder / "cores" / name):
            if isfile(path):
                return path
        bundled = bundled_cores()
        if name.removesuffix(".yaml") in bundled:
            return bundled[name.removesuffix(".yaml")]
        raise node.error(
            f"a file in this folder or its subfolder cores, or a bundled core: "
            f"{suggestion(name.removesuffix('.yaml'), bundled)}",
            f"{node.text()!r}, which does not exist",
        )


def multicore_values(source: Path | FieldValues) -> dict[str, object]:
    """The values of a valid description; keys that are numbers of cores become texts, as in JSON.

    The contents of core files stand in place. They are looked for as by
    :func:`~nestmap.pipeline.frontend.yaml.hardware.multicore.parse_multicore`.

    Raises:
        InputError: if there is a value other than numbers, texts, lists and mappings.
    """
    root = read_source(source, FileKind.CORES)
    files = CoreFiles(source.parent if isinstance(source, Path) else Path(), cacti_cost)
    return {name: _value(name, node, files) for name, node in root.entries().items()}


def _value(name: str, node: Node, files: CoreFiles) -> object:
    if name == OFFCHIP_CORE:
        return _content(node, files)
    if name == CORES:
        return {str(key): _content(x, files) for key, x in node.numbered(SEVERAL).items()}
    return plain_value(node)


def _content(node: Node, files: CoreFiles) -> object:
    """The contents of a core, which may stand in a file."""
    return plain_value(node if node.is_mapping else read_yaml(files.path(node)))
