"""A tiny machine and a tiny network as files, and the command line run on them."""

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from typer.testing import CliRunner

from nestmap.pipeline.cli.commands import command_line
from nestmap.pipeline.cli.options.common import DEFAULT_STORE

# Two units along K. What collects their outputs has room for two finished sums (8 bit) and not for
# partial ones (16 bit), so that only orders fit in which the units finish their sums (C innermost).
MACHINE: Final = """\
name: tiny
operational_array: {dimensions: [D1], sizes: [2], unit_energy: 0.5, unit_area: 1}
memories:
  reg:
    operands: [O]
    served_dimensions: []
    size: 16
    r_cost: 0.1
    w_cost: 0.1
    area: 0
    latency: 1
    ports:
      - {name: r, type: read, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, tl", "O, th"]}
      - {name: w, type: write, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, fl", "O, fh"]}
  outlet:
    operands: [O]
    served_dimensions: [D1]
    size: 16
    r_cost: 0.2
    w_cost: 0.2
    area: 0
    latency: 1
    ports:
      - {name: r, type: read, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, tl", "O, th"]}
      - {name: w, type: write, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, fl", "O, fh"]}
  buffer:
    operands: [I1, I2, O]
    served_dimensions: [D1]
    size: 1000000
    r_cost: 10
    w_cost: 12
    area: 0
    latency: 1
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 64
        allocation: ["I1, tl", "I2, tl", "O, tl", "O, fl"]
"""

MAPPING: Final = """\
- name: default
  spatial_mapping: {D1: ["K, 2"]}
  memory_operand_links: {O: O, W: I2, I: I1}
"""

LAYER: Final = """\
- id: %d
  name: %s
  operator_type: Gemm
  equation: O[b][k]+=W[k][c]*I[b][c]
  loop_dims: [B, K, C]
  loop_sizes: [%s]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: %d, W: %d}
"""
NETWORK: Final = LAYER % (0, "first", "3, 8, 5", 0, 0) + LAYER % (1, "second", "3, 6, 8", 0, 1)


@final
@dataclass(frozen=True)
class Inputs:
    """The files of a small exploration."""

    folder: Path

    @property
    def machine(self) -> str:
        """The accelerator file."""
        return str(self.folder / "tiny.yaml")

    @property
    def mapping(self) -> str:
        """The mapping file."""
        return str(self.folder / "mapping.yaml")

    @property
    def network(self) -> str:
        """The workload file: layers ``first`` and ``second``."""
        return str(self.folder / "net.yaml")

    @property
    def explore(self) -> tuple[str, ...]:
        """The command that explores it with LOMA."""
        return ("explore", *self._problem, "--search", "loma")

    @property
    def evaluate(self) -> tuple[str, ...]:
        """The command that costs a mapping of the first layer, but for the mapping."""
        return ("evaluate", *self._problem, "--layer", "first")

    @property
    def _problem(self) -> tuple[str, ...]:
        return (self.network, "-a", self.machine, "-m", self.mapping)


def written(folder: Path) -> Inputs:
    """The files in a folder."""
    for name, text in (("tiny", MACHINE), ("mapping", MAPPING), ("net", NETWORK)):
        (folder / f"{name}.yaml").write_text(text)
    return Inputs(folder)


@final
@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def run(*arguments: str) -> Ended:
    """Runs the command line in this process."""
    result = CliRunner().invoke(command_line(arguments), list(arguments))
    return Ended(result.exit_code, result.stdout, result.stderr)


def explored(inputs: Inputs, *options: str) -> Ended:
    """The exploration of the files, recorded in the usual store in the current folder.

    Where there is no store yet, it is a copy of what an earlier test has recorded of equal files
    with the same options, which write no other file.
    """
    if DEFAULT_STORE.exists():
        ended = run(*inputs.explore, *options)
        assert ended.code == 0, ended.err
        return ended
    files = [Path(x) for x in (inputs.machine, inputs.mapping, inputs.network)]
    ended, stored = _explored(tuple((x.name, x.read_text()) for x in files), options)
    DEFAULT_STORE.write_bytes(stored)
    return ended


@lru_cache
def _explored(texts: tuple[tuple[str, str], ...], options: tuple[str, ...]) -> tuple[Ended, bytes]:
    """How the exploration of these files ends, and its store."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in texts:
            Path(name).write_text(text)
        ended = run(*Inputs(Path(folder)).explore, *options)
        assert ended.code == 0, ended.err
        return ended, DEFAULT_STORE.read_bytes()


def program(setup: str = "") -> list[str]:
    """The start of a command line that runs nestmap as a process of its own, after ``setup``."""
    return [sys.executable, "-c", f"{setup}\nfrom nestmap.pipeline.cli import main; main()"]


def run_process(*arguments: str, setup: str = "") -> Ended:
    """Runs the command line in a process of its own."""
    done = subprocess.run(
        [*program(setup), *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    return Ended(done.returncode, done.stdout, done.stderr)
