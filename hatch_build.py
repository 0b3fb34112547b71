"""Puts compiled kernels into the wheel: those in the folder that NESTMAP_KERNELS names."""

from __future__ import annotations

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Without the variable, the wheel is the same for all platforms."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Adds the folder; what is in it runs on this platform with this Python only."""
        folder = os.environ.get("NESTMAP_KERNELS")
        if not folder or version == "editable":
            return
        build_data["force_include"][folder] = "nestmap/costmodel/kernel/compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
