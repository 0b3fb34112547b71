"""CACTI: the real one says what the fit is made from; what goes wrong is said in one sentence."""

import csv
from pathlib import Path
from typing import Final

import pytest

from nestmap.model import InputError, MemoryCost, MemoryMacro
from nestmap.pipeline.frontend.yaml.hardware import cacti
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost, cacti_input, cacti_name
from tests.cacti_package import ANSWER, FAILURE, HAS_CACTI, TOO_NEW, install_cacti, real_cacti
from tests.sweeps import STRESS

GRID: Final = Path(__file__).parents[5] / "benchmarks" / "data" / "sram_cacti.csv"
MACRO: Final = MemoryMacro(size=2**19, width=64, read_write_ports=1, technology=22.0)


def _rows() -> list[dict[str, str]]:
    """Some rows of the grid that CACTI has figures for, spread over all of it."""
    with GRID.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["failure"]]
    return rows[:: 150 if STRESS else 600]


@pytest.mark.skipif(not HAS_CACTI, reason="the CACTI of zigzag-dse is for Linux on x86-64")
@pytest.mark.parametrize("row", _rows(), ids=lambda row: f"{row['size']} B x {row['width']}")
def test_the_fit_is_made_from_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, str]
) -> None:
    install_cacti(monkeypatch, tmp_path, real_cacti())
    macro = MemoryMacro(
        size=8 * int(row["size"]),
        width=int(row["width"]),
        read_ports=int(row["read"]),
        write_ports=int(row["write"]),
        read_write_ports=int(row["read_write"]),
        technology=float(row["node"]),
    )
    cost = cacti_cost(macro)
    found = (cost.read_energy, cost.write_energy, cost.area, cost.leakage)
    names = ("read_pj", "write_pj", "area_mm2", "leakage_mw")
    assert found == pytest.approx([float(row[name]) for name in names], rel=1e-5)


@pytest.mark.skipif(not HAS_CACTI, reason="the CACTI of zigzag-dse is for Linux on x86-64")
@pytest.mark.parametrize(
    ("size", "width", "technology", "said"),
    [
        (16, 16, 22.0, "Cache size must >=64"),
        (512, 64, 22.0, "no valid data array organizations found"),
        (2**19, 64, 7.0, "Invalid technology nodes"),
        (2**19, 64, 130.0, "Feature size must be <= 90 nm"),
    ],
)
def test_what_it_cannot_build(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    width: int,
    technology: float,
    said: str,
) -> None:
    install_cacti(monkeypatch, tmp_path, real_cacti())
    with pytest.raises(InputError, match="expected a memory that CACTI can build") as caught:
        cacti_cost(MemoryMacro(size=size, width=width, read_write_ports=1, technology=technology))
    assert caught.value.found == f"the error {said!r} instead of an answer"


def test_the_answer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_cacti(monkeypatch, tmp_path, ANSWER)
    expected = MemoryCost(read_energy=1.0, write_energy=2.0, area=0.5, leakage=3.0)
    assert cacti_cost(MACRO) == expected


def test_bits_are_rounded_up_to_bytes() -> None:
    macro = MemoryMacro(size=1025, width=20, read_ports=3, write_ports=2, technology=28.0)
    lines = cacti_input(macro).splitlines()
    assert lines[:7] == [
        "-size (bytes) 129",
        "-block size (bytes) 3",
        "-output/input bus width 24",
        "-technology (u) 0.028",
        "-read-write port 0",
        "-exclusive read port 3",
        "-exclusive write port 2",
    ]


def test_its_name_has_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_cacti(monkeypatch, tmp_path, ANSWER)
    first = cacti_name()
    assert first.startswith("hwcomponents-cacti 1.0.40, settings ")
    install_cacti(monkeypatch, tmp_path, ANSWER, "1.0.41")
    assert cacti_name() == first.replace("1.0.40", "1.0.41")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    for ask in (cacti_name, lambda: cacti_cost(MACRO)):
        with pytest.raises(InputError, match=r"pip install 'nestmap\[cacti\]'.*cost: fitted"):
            ask()


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (TOO_NEW, "does not run on this machine (/lib/libc.so.6: version `GLIBC_2.38' not found)"),
        ("no program", "does not run on this machine (Exec format error)"),
        ("#!/no/such/shell\n", "does not run on this machine (No such file or directory)"),
        (FAILURE, "the error 'no such memory' instead"),
        ("#!/bin/sh\necho 'too small: ' >&2\nexit 1", "the error 'too small:' instead"),
        ("#!/bin/sh\nexit 3", "the error 'exit code 3' instead"),
        ('#!/bin/sh\n: > "$2.out"', "an answer with missing values: nothing"),
        ('#!/bin/sh\nprintf "a, b\\n1, 2\\n" > "$2.out"', "missing values: a 1, b 2"),
        (ANSWER.replace("0.001", "nan"), "an answer with missing values: Dynamic read energy"),
        (ANSWER.replace("0.001", "N/A"), "an answer with missing values: Dynamic read energy"),
    ],
)
def test_what_can_go_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, found: str
) -> None:
    install_cacti(monkeypatch, tmp_path, program)
    with pytest.raises(InputError) as caught:
        cacti_cost(MACRO)
    assert caught.value.where == "CACTI"
    assert found in caught.value.found


def test_a_program_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_cacti(monkeypatch, tmp_path, "#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(cacti, "_PATIENCE", 0.2)
    with pytest.raises(InputError, match=r"no answer within 0.2 s; expected a smaller memory"):
        cacti_cost(MACRO)


def test_a_program_that_may_not_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = install_cacti(monkeypatch, tmp_path, ANSWER)
    (place / "hwcomponents_cacti" / "cacti" / "cacti").chmod(0o644)
    with pytest.raises(
        InputError, match="machine \\(Permission denied\\); expected a program that runs"
    ):
        cacti_cost(MACRO)
