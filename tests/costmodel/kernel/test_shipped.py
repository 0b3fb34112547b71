"""A wheel's compiled kernels are used where they run, and only there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.compile_kernels import commands, compile_kernels, run
from benchmarks.startup import LAYER
from llvmlite import binding

from nestmap.costmodel.kernel.machine import Machine
from nestmap.costmodel.kernel.shipped import write_manifest
from tests.sweeps import STRESS

SOURCE = Path(__file__).parents[3] / "src" / "nestmap"
PROCESSOR = "generic"

CALL = """
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import is_compiled
print(is_compiled(distinct_values))
assert distinct_values(4.0, 1.0, 1, 1) == 4
"""

NOTHING_COMPILES = """
from numba.core import compiler
def fail(self, function):
    raise AssertionError(f"{function.__name__} is compiled")
compiler.CompilerBase.compile_extra = fail
"""


def call(site: Path, program: str, variables: dict[str, str]) -> str:
    """What a program prints with the package in a folder."""
    kept = {name: x for name, x in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=site,
        env=kept | {"PYTHONPATH": str(site)} | variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed with a kernel that was compiled for any processor."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCE, folder / "nestmap", ignore=shutil.ignore_patterns("__pycache__"))
    compiled = folder / "nestmap" / "costmodel" / "kernel" / "compiled"
    caches = folder / "caches"
    generic = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": ""}
    call(folder, CALL, generic | {"XDG_CACHE_HOME": str(caches)})
    shutil.move(caches / "nestmap" / "kernels", compiled)
    return folder


def used(site: Path, empty: Path, machine: Machine, requires: tuple[str, ...]) -> str:
    """Whether the shipped kernel is found, with this manifest and an empty cache."""
    compiled = site / "nestmap" / "costmodel" / "kernel" / "compiled"
    write_manifest(compiled, machine, requires)
    found = CALL.split("assert", maxsplit=1)[0]
    return call(site, found, {"XDG_CACHE_HOME": str(empty)}).strip()


TRIPLE = binding.get_process_triple()


def test_a_shipped_kernel_is_not_compiled(site: Path, tmp_path: Path) -> None:
    assert used(site, tmp_path, Machine(TRIPLE, PROCESSOR, ""), ()) == "True"
    call(site, NOTHING_COMPILES + CALL, {"XDG_CACHE_HOME": str(tmp_path)})
    assert not list(tmp_path.rglob("*.kernel"))


@pytest.mark.parametrize(
    ("machine", "requires"),
    [
        (Machine(TRIPLE, PROCESSOR, ""), ("no-such-feature",)),
        (Machine("pdp11-unknown-unix", PROCESSOR, ""), ()),
    ],
)
def test_a_kernel_for_another_machine_is_compiled(
    site: Path, tmp_path: Path, machine: Machine, requires: tuple[str, ...]
) -> None:
    assert used(site, tmp_path, machine, requires) == "False"
    call(site, CALL, {"XDG_CACHE_HOME": str(tmp_path)})
    assert len(list(tmp_path.rglob("*.kernel"))) == 1


def test_a_change_of_the_source_is_noticed(site: Path, tmp_path: Path) -> None:
    assert used(site, tmp_path, Machine(TRIPLE, PROCESSOR, ""), ()) == "True"
    changed = tmp_path / "changed"
    shutil.copytree(site, changed)
    source = changed / "nestmap" / "model" / "workload" / "affine.py"
    source.write_text(f"{source.read_text()}\n# changed\n")
    caches = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    assert call(changed, CALL, caches).strip() == "False"


@pytest.mark.skipif(not STRESS, reason="compiles everything: make stress")
def test_no_command_compiles_anything_in_an_installed_wheel(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "nestmap", ignore=shutil.ignore_patterns("__pycache__"))
    compile_kernels(tmp_path / "nestmap" / "costmodel" / "kernel" / "compiled")
    (tmp_path / "layer.yaml").write_text(LAYER)
    variables = {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "caches")}
    for command in [*commands("layer.yaml"), ("explore", "light:resnet50", "-a", "tpu_like")]:
        assert "ompiling" not in run(command, tmp_path, variables), command
        assert not list((tmp_path / "caches").rglob("*.kernel")), command
