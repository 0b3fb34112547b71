"""The machine that code is compiled for, as LLVM describes it."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple, cast

from nestmap.costmodel.kernel.cache import cached_folders, save_quietly

_PROCESSOR: Final = Path("/sys/devices/system/cpu/modalias")
"""What Linux knows of the processor: its model, and which features can be used."""

_FILE: Final = "machine.json"


class Machine(NamedTuple):
    """What code was compiled for: features with ``+`` or ``-`` in front, separated by commas."""

    triple: str
    processor: str
    features: str

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature."""
        return f"+{feature}" in self.features.split(",")


@lru_cache
def this_machine() -> Machine:
    """This machine; what LLVM said of it is cached, as its library takes 50 MB and 0.05 s."""
    folder = _folder()
    if folder is None:
        return _described_by_llvm()
    for cached in cached_folders(folder):
        with suppress(OSError, ValueError, TypeError):  # the file may have broken off
            return Machine(*cast(list[str], json.loads((cached / _FILE).read_text())))
    machine = _described_by_llvm()
    save_quietly(Path(folder, _FILE), json.dumps(machine).encode())
    return machine


def _folder() -> str | None:
    """The cache's folder for this kind of processor; ``None`` if its kind is unknown."""
    try:
        found = _PROCESSOR.read_bytes()
    except OSError:
        return None
    return hashlib.sha256(found + version("llvmlite").encode()).hexdigest()[:16]


def _described_by_llvm() -> Machine:
    from llvmlite import binding  # noqa: PLC0415 (a large library)

    return Machine(
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )
