"""Kernels that a wheel contains compiled, for all processors with certain features."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from nestmap.costmodel.kernel.machine import Machine, this_machine

SHIPPED: Final = Path(__file__).parent / "compiled"
"""The folder with the files of compiled kernels, as in the user's caches, and the manifest."""

MANIFEST: Final = "manifest.json"

BASELINES: Final = {
    "x86_64": (
        "x86-64-v3",
        *("avx", "avx2", "bmi", "bmi2", "cmov", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt"),
        *("mmx", "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"),
        "xsave",
    )
}
"""By architecture: LLVM's name of the processor that wheels are compiled for, and its features.

Source: "x86-64 psABI", table 3.1, levels up to v3.
"""


@lru_cache
def shipped_machine() -> Machine | None:
    """What the shipped kernels were compiled for; ``None`` if they do not run here."""
    try:
        manifest: dict[str, object] = json.loads((SHIPPED / MANIFEST).read_text())
    except FileNotFoundError:
        return None
    machine, host = Machine(*cast(list[str], manifest["machine"])), this_machine()
    has_all = all(host.has(name) for name in cast(Iterable[str], manifest["requires"]))
    return machine if has_all and host.triple == machine.triple else None


def write_manifest(folder: Path, machine: Machine, requires: Iterable[str]) -> None:
    """Says of a folder of compiled kernels what they were compiled for, and what they need."""
    content = {"machine": machine, "requires": sorted(requires)}
    (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n")
