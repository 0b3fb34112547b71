"""Runs CACTI, as shipped in the package hwcomponents-cacti, to cost a memory.

CACTI 7 is described in Balasubramonian et al., "CACTI 7: New Tools for Interconnect Exploration in
Innovative Off-Chip Memories", ACM TACO 14(2), 2017. The program is run directly because
the package's own interface has no ports that only read or only write.
"""

import csv
import hashlib
import subprocess
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pydantic import ValidationError

from nestmap.model import InputError, MemoryCost, MemoryMacro

_PACKAGE: Final = "hwcomponents-cacti"
_WHERE: Final = "CACTI"
_PICO: Final = 1000.0  # pJ in an nJ
_PATIENCE: Final = 600.0
_SETTINGS: Final = "cacti.cfg"
"""The settings shared by all memories: high-performance transistors, 360 K, minimal E x D^2."""


def cacti_cost(macro: MemoryMacro) -> MemoryCost:
    """Energies (pJ per access), area (mm2) and leakage (mW) of a memory, from CACTI; takes seconds.

    Sizes and widths are rounded up to whole bytes. CACTI covers nodes from 22 to 90 nm.

    Raises:
        InputError: if CACTI is not installed, does not run on this machine, or cannot build the
            memory.
    """
    with TemporaryDirectory() as folder:
        question = Path(folder) / "memory.cfg"
        question.write_text(cacti_input(macro), encoding="utf-8")
        _run(_program(), question)
        return _read(question.with_name("memory.cfg.out"))


def cacti_name() -> str:
    """Name, version and settings of the installed CACTI, which determine its answers.

    Raises:
        InputError: if CACTI is not installed.
    """
    _program()
    settings = hashlib.sha256(_settings().encode()).hexdigest()[:8]
    return f"{_PACKAGE} {version(_PACKAGE)}, settings {settings}"


def cacti_input(macro: MemoryMacro) -> str:
    """The text of CACTI's input file for a memory."""
    lines = (
        f"-size (bytes) {_bytes(macro.size)}",
        f"-block size (bytes) {_bytes(macro.width)}",
        f"-output/input bus width {8 * _bytes(macro.width)}",
        f"-technology (u) {macro.technology / 1000:.6g}",
        f"-read-write port {macro.read_write_ports}",
        f"-exclusive read port {macro.read_ports}",
        f"-exclusive write port {macro.write_ports}",
    )
    return "\n".join(lines) + "\n" + _settings()


def _settings() -> str:
    return files("nestmap.pipeline.frontend.data").joinpath(_SETTINGS).read_text(encoding="utf-8")


def _bytes(bits: int) -> int:
    return -(-bits // 8)


def _program() -> Path:
    """The path of the program, found without importing the package."""
    spec = find_spec(_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise InputError(
            _WHERE,
            f"no package {_PACKAGE}",
            "the package: pip install 'nestmap[cacti]' (Python 3.12 or newer), or cost: fitted",
        )
    return Path(spec.origin).parent / "cacti" / "cacti"


def _run(program: Path, question: Path) -> None:
    """Runs CACTI on an input file; it writes its answer next to that file."""
    command = [str(program), "-infile", str(question)]
    place = program.parent  # CACTI reads its technology files from the working directory
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        found = f"no answer within {_PATIENCE:g} s"
        raise InputError(_WHERE, found, "a smaller memory, or cost: fitted") from None
    except OSError as error:
        raise _does_not_run(error.strerror or str(error)) from None
    if question.with_name("memory.cfg.out").exists():
        return
    output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    first = errors.partition("\n")[0].strip()
    if first.startswith(f"{program}: "):  # the message comes from the loader, not from CACTI
        raise _does_not_run(first.removeprefix(f"{program}: "))
    said = first or _last(output) or f"exit code {done.returncode}"
    raise InputError(
        _WHERE,
        f"the error {said!r} instead of an answer",
        "a memory that CACTI can build (64 bytes or more, several words, 22 to 90 nm), or cost: "
        "fitted",
    )


def _does_not_run(reason: str) -> InputError:
    return InputError(
        _WHERE,
        f"a program in the package {_PACKAGE} that does not run on this machine ({reason})",
        "a program that runs, or cost: fitted, which needs no program",
    )


def _last(text: str) -> str:
    """The last line of CACTI's output, which says why it stopped."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else ""


def _read(answer: Path) -> MemoryCost:
    """The costs in CACTI's output, a table with one row."""
    with answer.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    row = rows[0] if rows else {}
    try:
        return MemoryCost(
            read_energy=_PICO * float(row["Dynamic read energy (nJ)"]),
            write_energy=_PICO * float(row["Dynamic write energy (nJ)"]),
            area=float(row["Area (mm2)"]),
            leakage=float(row["Standby leakage per bank(mW)"]),
        )
    except (KeyError, TypeError, ValidationError, ValueError):
        found = ", ".join(f"{name} {value}" for name, value in row.items()) or "nothing"
        raise InputError(
            _WHERE, f"an answer with missing values: {found}", "energies, area and leakage"
        ) from None
