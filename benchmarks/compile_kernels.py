"""Compiles the kernels that commands use into a folder, for ``make wheel``.

Run ``python -m benchmarks.compile_kernels FOLDER``. It runs commands with each search, objective
and rule in an empty cache, so what a wheel contains follows what commands call.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from llvmlite import binding

from benchmarks.startup import LAYER, MAIN
from nestmap.costmodel.kernel.machine import Machine
from nestmap.costmodel.kernel.shipped import BASELINES, write_manifest
from nestmap.model import MappingType, Objective
from nestmap.model.multicore.schedule import CandidateRule
from nestmap.pipeline.explore.plan import Rank

Command = tuple[str, ...]


def commands(layer: str) -> Iterator[Command]:
    """Short commands that call all kernels; ``layer`` is the file of one layer."""
    one = ("explore", layer, "--no-store", "--yes", "-a")
    for objective in Objective:
        yield (*one, "tpu_like", "--objective", objective)
    for search in ("loma", "salsa"):
        yield (*one, "tpu_like", "--search", search, "--lpf-limit", "4")
    yield (*one, "edge_22nm", "--pareto", "--static-energy")
    yield (*one, "aimc", "--pad", "10")
    for rank in Rank:
        free = (*one, "eyeriss_like", "--mapping", "free", "--mixed", "--spatial-mappings", "3")
        yield (*free, "--rank", rank, "--search", "loma", "--lpf-limit", "3", "--prune")
    for kind in MappingType:
        yield (*one, "eyeriss_like", "--mapping-type", kind, "--lpf-limit", "4", "--search", "loma")
    for rule in CandidateRule:
        stream = ("stream", "light:squeezenet", "-c", "quad_tpu", "--lpf-limit", "3", "--no-store")
        yield (*stream, "--individuals", "4", "--generations", "1", "--rule", rule)


def run(command: Command, folder: Path, variables: dict[str, str]) -> str:
    """Runs a command; its error output."""
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, *command],
        cwd=folder,
        env={name: x for name, x in os.environ.items() if name != "NUMBA_CACHE_DIR"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{' '.join(command)}: {ran.stderr}"
    return ran.stderr


def compile_kernels(target: Path) -> None:
    """Fills a folder with compiled kernels and their manifest."""
    processor, *requires = BASELINES.get(platform.machine(), ("generic",))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layer.yaml").write_text(LAYER)
        variables = {"XDG_CACHE_HOME": str(folder / "caches"), "NUMBA_CPU_NAME": processor}
        for command in commands("layer.yaml"):
            run(command, folder, variables | {"NUMBA_CPU_FEATURES": ""})
            print(" ".join(command), flush=True)
        shutil.copytree(folder / "caches" / "nestmap" / "kernels", target)
    machine = Machine(binding.get_process_triple(), processor, "")
    write_manifest(target, machine, requires)


if __name__ == "__main__":
    compile_kernels(Path(sys.argv[1]))
