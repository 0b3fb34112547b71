"""Finds and reads the core files of a multi-core description, each file once."""

from os.path import isfile
from pathlib import Path
from typing import final

from nestmap.model.base import copy_with
from nestmap.model.errors import suggestion
from nestmap.model.multicore.accelerator import CoreId
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.yaml.hardware.core import Core, CoreType, core_of
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient
from nestmap.pipeline.frontend.yaml.load import read_yaml
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
