"""What each command takes from its first second: CPU time, memory, and what it imports.

Run ``python -m benchmarks.startup``; with the folder of another checkout as argument, its commands
are timed in turns with these, and the files that both write must be equal. ``--cold`` compares the
first exploration and the first scheduling on a machine instead, whose kernels are not compiled yet.

Commands run as a user's do: with compiled bytecode, and medians are over seven rounds.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, final

HERE: Final = Path(__file__).parent.parent
ROUNDS: Final = 7
HEAVY: Final = ("altair", "duckdb", "matplotlib", "networkx", "numba", "onnx", "pyarrow")
"""Packages whose import takes more than 50 ms."""

LAYER: Final = """\
- id: 0
  name: conv
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 32, 28, 28, 3, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 0, I: 0}
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [28, 28]
  padding: [[1, 1], [1, 1]]
"""


@final
@dataclass(frozen=True, slots=True)
class Command:
    """A command line; ``fresh`` is the store that is deleted before each run."""

    name: str
    words: tuple[str, ...]
    fresh: str | None = None
    result: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Usage:
    """What one run of a command took: seconds and megabytes."""

    cpu: float
    wall: float
    memory: float


RESNET: Final = ("explore", "light:resnet50", "-a", "tpu_like", "--workers", "2")
STREAM: Final = ("stream", "light:squeezenet", "-c", "quad_tpu", "--individuals", "2")
COMMANDS: Final = (
    Command("--help", ("--help",)),
    Command("examples", ("examples",)),
    Command("show light:resnet50", ("show", "light:resnet50")),
    Command(
        "explore, one layer, store exists",
        (*("explore", "layer.yaml", "-a", "tpu_like", "--fresh"), *("--json", "layer.json")),
        result="layer.json",
    ),
    Command(
        "ResNet-50, LOMA, recalled",
        (*RESNET, *("--search", "loma", "--store", "resnet.duckdb", "--json", "recalled.json")),
        result="recalled.json",
    ),
    Command(
        "ResNet-50, LOMA, fresh",
        (*RESNET, *("--search", "loma", "--store", "fresh.duckdb", "--json", "fresh.json")),
        fresh="fresh.duckdb",
        result="fresh.json",
    ),
    Command(
        "ResNet-50, exact, recalled",
        (*RESNET, *("--store", "resnet.duckdb", "--json", "exact.json")),
        result="exact.json",
    ),
    Command(
        "ResNet-50, exact, fresh",
        (*RESNET, *("--store", "fresh.duckdb", "--json", "exact-fresh.json")),
        fresh="fresh.duckdb",
        result="exact-fresh.json",
    ),
    Command("query", ("query", "SELECT count(*) FROM best", "--store", "resnet.duckdb")),
    Command("report", ("report", "last", "--store", "resnet.duckdb")),
    Command("plot last", ("plot", "last", "--store", "resnet.duckdb")),
)
COLD: Final = (
    Command("first explore", (*RESNET, *("--store", "cold.duckdb"))),
    Command("first explore, LOMA", (*RESNET, *("--search", "loma", "--store", "cold.duckdb"))),
    Command("first stream", (*STREAM, *("--generations", "0", "--store", "cold.duckdb"))),
)


@final
@dataclass(frozen=True, slots=True)
class Checkout:
    """A source tree, and the folder in which its commands run."""

    source: Path
    folder: Path

    def run(self, command: Command, options: Sequence[str] = (), kernels: str = "") -> Usage:
        """Runs a command in a process of its own; ``kernels`` is the cache of kernels."""
        if command.fresh is not None:
            (self.folder / command.fresh).unlink(missing_ok=True)
        start = time.perf_counter()
        with (self.folder / "stdout").open("w") as out, (self.folder / "stderr").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, *options, "-c", MAIN, *command.words],
                cwd=self.folder,
                env=self._environment(kernels),
                stdout=out,
                stderr=err,
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        assert process.returncode == 0, (self.folder / "stderr").read_text()
        return Usage(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)

    def imports(self, command: Command) -> str:
        """The number of modules that a command imports, and the heavy packages among them."""
        self.run(command, ("-X", "importtime"))
        lines = (self.folder / "stderr").read_text()
        modules = set(re.findall(r"^import time:.*\| +(\S+)$", lines, re.MULTILINE))
        return f"{len(modules)} modules, {', '.join(x for x in HEAVY if x in modules) or '-'}"

    def _environment(self, kernels: str) -> dict[str, str]:
        clean = {x: y for x, y in os.environ.items() if x != "PYTHONDONTWRITEBYTECODE"}
        bytecode = {"PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        cache = {"XDG_CACHE_HOME": kernels} if kernels else {}
        return clean | bytecode | cache | {"PYTHONPATH": str(self.source / "src")}


MAIN: Final = "from nestmap.pipeline.cli import main; main()"


def main() -> None:
    """Prints a row for each command."""
    words = [x for x in sys.argv[1:] if x != "--cold"]
    with tempfile.TemporaryDirectory() as folder:
        sources = [HERE, *(Path(x).resolve() for x in words)]
        checkouts = [Checkout(x, Path(folder, str(i))) for i, x in enumerate(sources)]
        for checkout in checkouts:
            checkout.folder.mkdir()
            (checkout.folder / "layer.yaml").write_text(LAYER)
        if "--cold" in sys.argv:
            _compare_cold(checkouts)
        else:
            _compare_warm(checkouts)


def _compare_warm(checkouts: Sequence[Checkout]) -> None:
    print("command | " + " | ".join("CPU s | wall s | MB" for _ in checkouts) + " | imports")
    for checkout in checkouts:
        for command in COMMANDS:  # compiles, writes bytecode, fills the stores
            checkout.run(command)
    for command in COMMANDS:
        turns = [[x.run(command) for x in checkouts] for _ in range(ROUNDS)]
        columns = [_cells(used) for used in zip(*turns, strict=True)]
        print(" | ".join([command.name, *columns, checkouts[0].imports(command)]), flush=True)
        if command.result is not None:
            results = [_result(x.folder / command.result) for x in checkouts]
            assert all(x == results[0] for x in results), f"{command.name}: results differ"


def _compare_cold(checkouts: Sequence[Checkout]) -> None:
    for command in COLD:
        for checkout in checkouts:
            checkout.run(COMMANDS[0])  # bytecode of what all commands share
            with tempfile.TemporaryDirectory() as kernels:
                print(
                    command.name, checkout.source.name, _cells([checkout.run(command, (), kernels)])
                )


def _cells(used: Sequence[Usage]) -> str:
    cpu, wall, memory = (
        median(x) for x in zip(*((y.cpu, y.wall, y.memory) for y in used), strict=True)
    )
    return f"{cpu:.2f} | {wall:.2f} | {memory:.0f}"


def _result(path: Path) -> object:
    """What a command wrote, without the number of the run."""
    written: dict[str, object] = json.loads(path.read_text())
    return {name: value for name, value in written.items() if name != "run"}


if __name__ == "__main__":
    main()
