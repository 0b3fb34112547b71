"""Runs CACTI over a grid of SRAM macros and writes what it says to a CSV: the data of the SRAM fit.

High-performance transistors, 360 K, one bank, no error correction, least energy times delay squared
(``pipeline/frontend/data/cacti.cfg``).

``python -m benchmarks.cacti_grid benchmarks/data/sram_cacti.csv [--binary PATH]``; the binary is by
default the one inside the installed zigzag-dse. CACTI runs in a temporary copy of its folder.
"""

import argparse
import csv
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from nestmap.model import MemoryMacro
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_input

NODES = (22, 32, 45, 65)
"""Technology nodes in nm."""

PORTS = ((1, 0, 0), (0, 1, 1), (0, 2, 1), (2, 0, 0), (1, 1, 0), (0, 4, 2))
"""Ports that read and write, that only read, that only write."""

TRAINING = (tuple(1 << power for power in range(6, 25)), (8, 32, 128, 512, 1024))
"""Sizes in bytes and widths in bits that the model is fitted to."""

HELD_OUT = (
    (96, 192, 640, 3 << 9, 3 << 12, 5 << 13, 3 << 15, 3 << 18, 3 << 21),
    (16, 24, 64, 256, 768),
)
"""Sizes in bytes and widths in bits that the model is judged on: none is in ``TRAINING``."""


@dataclass(frozen=True)
class Macro:
    """A row's question: which grid it is of, bytes, bits per access, ports, nm."""

    grid: str
    size: int
    width: int
    read_write: int
    read: int
    write: int
    node: int


@dataclass(frozen=True)
class Figures:
    """A row's answer: pJ per access, mm2, mW, ns; or what CACTI said in place of figures."""

    read_pj: float = math.nan
    write_pj: float = math.nan
    area_mm2: float = math.nan
    leakage_mw: float = math.nan
    access_ns: float = math.nan
    failure: str = ""


COLUMNS = tuple(field.name for kind in (Macro, Figures) for field in fields(kind))


def macros() -> Iterator[Macro]:
    """All macros of both grids that hold at least eight words."""
    for grid, (sizes, widths) in (("training", TRAINING), ("held-out", HELD_OUT)):
        for size, width, ports, node in product(sizes, widths, PORTS, NODES):
            if size * 8 >= 8 * width and size % (width // 8) == 0:
                yield Macro(grid, size, width, *ports, node)


def settings(macro: Macro) -> str:
    """CACTI's configuration file for a macro: as nestmap asks it."""
    return cacti_input(
        MemoryMacro(
            size=8 * macro.size,
            width=macro.width,
            read_write_ports=macro.read_write,
            read_ports=macro.read,
            write_ports=macro.write,
            technology=float(macro.node),
        )
    )


def run(binary: Path, macro: Macro) -> Figures:
    """What CACTI says of a macro; its first error line where it says no figures."""
    config = binary.parent / "macro.cfg"
    answer = binary.parent / "macro.cfg.out"
    config.write_text(settings(macro))
    answer.unlink(missing_ok=True)
    done = subprocess.run(
        ["nice", str(binary), "-infile", config.name],
        cwd=binary.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not answer.exists():
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
        return Figures(failure=errors[0].strip() if errors else f"exit code {done.returncode}")
    return _figures(answer.read_text())


def _figures(text: str) -> Figures:
    """The figures in CACTI's table of one row (energies there in nJ)."""
    names, values = (line.split(", ") for line in text.strip().splitlines()[:2])
    row = dict(zip((name.strip() for name in names), values, strict=False))
    found = Figures(
        read_pj=float(row["Dynamic read energy (nJ)"]) * 1000,
        write_pj=float(row["Dynamic write energy (nJ)"]) * 1000,
        area_mm2=float(row["Area (mm2)"]),
        leakage_mw=float(row["Standby leakage per bank(mW)"]),
        access_ns=float(row["Access time (ns)"]),
    )
    numbers = (found.read_pj, found.write_pj, found.area_mm2, found.leakage_mw)
    if all(math.isfinite(number) and number > 0 for number in numbers):
        return found
    return Figures(failure=f"no positive figures: {numbers}")


def bundled_binary() -> Path:
    """The CACTI that stands inside the installed zigzag-dse, found without importing that."""
    spec = find_spec("zigzag")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("zigzag-dse is not installed: give --binary")
    return Path(spec.submodule_search_locations[0]) / "cacti" / "cacti_master" / "cacti"


def main() -> None:
    """Run the grid, one CACTI at a time, and write the CSV row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--binary", type=Path, default=None)
    arguments = parser.parse_args()
    source: Path = arguments.binary or bundled_binary()
    with tempfile.TemporaryDirectory() as folder, arguments.output.open("w", newline="") as file:
        copy = Path(shutil.copytree(source.resolve().parent, Path(folder) / "cacti"))
        binary = copy / source.name
        os.chmod(binary, 0o755)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for macro in macros():
            numbers = astuple(run(binary, macro))
            texts = ["" if math.isnan(n) else f"{n:.6g}" for n in numbers[:-1]]
            writer.writerow([*astuple(macro), *texts, numbers[-1]])
            file.flush()


if __name__ == "__main__":
    main()
