"""Costs of memories that cannot be computed: the line is named, and what would be right."""

from pathlib import Path
from typing import Final

import pytest

from nestmap.model import InputError
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from tests.cacti_package import TOO_NEW, install_cacti

# buffer stands in line 4, what it costs from line 6 on, its ports from line 9 on
MACHINE: Final = """\
name: computed
operational_array: {dimensions: [D1], sizes: [2], unit_energy: 0.5}
memories:
  buffer:
    size: 1000000
    cost: fitted
    technology: 22
    operands: [I1, I2, O]
    ports:
      - name: r
        type: read
        bandwidth_min: 8
        bandwidth_max: 64
        allocation: ["I1, tl", "I2, tl", "O, tl"]
      - {name: w, type: write, bandwidth_min: 8, bandwidth_max: 64, allocation: ["O, fl"]}
    served_dimensions: [D1]
technology: 32
"""
PORTS: Final = MACHINE[MACHINE.index("      - name: r") : MACHINE.index("    served")]
WRITE: Final = PORTS[PORTS.index("      - {name: w") :]
COST: Final = "    cost: fitted\n"
NODE: Final = "    technology: 22\n"
AUTO: Final = "    auto_cost_extraction: true\n"
MODELS: Final = "fitted, cacti, ddr4, lpddr4, lpddr5, hbm2, hbm2e, hbm3, gddr6"


def fails(folder: Path, text: str) -> InputError:
    file = folder / "machine.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        parse_accelerator(file)
    assert caught.value.where.startswith(f"{file}:")
    return caught.value


def place(error: InputError, folder: Path) -> str:
    """Line and path of the error."""
    return error.where.removeprefix(f"{folder / 'machine.yaml'}:")


def test_the_text_is_good_before_the_change(tmp_path: Path) -> None:
    file = tmp_path / "machine.yaml"
    file.write_text(MACHINE)
    assert parse_accelerator(file).memories[0].instance.leakage > 0


@pytest.mark.parametrize(
    ("old", "new", "where", "found", "expected"),
    [
        ("size: 1000000", "size: 0", "5: memories.buffer.size", "0", "positive number of bits"),
        ("size: 1000000", "size: 63", "4: memories.buffer", "width 64 above size 63", "at most"),
        ("fitted", "fited", "6: memories.buffer.cost", "'fited'", f"fitted (one of {MODELS})"),
        ("fitted", "3", "6: memories.buffer.cost", "3", f"one of {MODELS}"),
        ("fitted", "true", "6: memories.buffer.cost", "true", f"one of {MODELS}"),
        ("gy: 22", "gy: 3", "7: memories.buffer.technology", "3", "node of 7 to 180 nm"),
        ("gy: 22", "gy: 0", "7: memories.buffer.technology", "0", "node of 7 to 180 nm"),
        ("gy: 22", "gy: 500", "7: memories.buffer.technology", "500", "node of 7 to 180 nm"),
        ("gy: 22", "gy: soon", "7: memories.buffer.technology", "'soon'", "node of 7 to 180 nm"),
        ("gy: 22", "gy: 22nm", "7: memories.buffer.technology", "'22nm'", "node of 7 to 180 nm"),
        ("gy: 22", "gy: .nan", "7: memories.buffer.technology", ".nan", "node of 7 to 180 nm"),
        ("gy: 32", "gy: 3", "17: technology", "3", "node of 7 to 180 nm"),
        ("gy: 32", "gy: soon", "17: technology", "'soon'", "node of 7 to 180 nm"),
        ("gy: 32", "gy: [32]", "17: technology", "a list", "node of 7 to 180 nm"),
        (PORTS, "      []\n", "9: memories.buffer.ports", "an empty list", "at least one port"),
        (WRITE, "", "4: memories.buffer", "1 read, 0 write", "ports that write"),
        (COST, "", "6: memories.buffer.technology", "technology without cost", "cost: fitted"),
        (
            *(COST + NODE, "    auto_cost_extraction: false\n"),
            *("4: memories.buffer", "no r_cost", "the field r_cost (pJ per access)"),
        ),
        (
            *(COST + NODE, "    auto_cost_extraction: false\n    r_cost: 1\n"),
            *("4: memories.buffer", "no w_cost", "the field w_cost (pJ per access), or cost:"),
        ),
        (COST + NODE, "", "4: memories.buffer", "no r_cost", "the field r_cost (pJ per access)"),
        (
            *(COST, "    auto_cost_extraction: false\n" + COST, "7: memories.buffer.cost"),
            *("cost with auto_cost_extraction: false", "either cost or"),
        ),
        (
            *(COST, "    auto_cost_extraction: perhaps\n"),
            *("6: memories.buffer.auto_cost_extraction", "'perhaps'", "true or false"),
        ),
        (
            *(COST, AUTO + "    mem_type: flash\n", "7: memories.buffer.mem_type"),
            *("'flash'", "one of sram, rf, dram"),
        ),
        (
            *(COST, "    cost: hbm2\n    mem_type: sram\n", "6: memories.buffer.cost"),
            *("'hbm2'", "one of fitted, cacti for mem_type: sram"),
        ),
        (
            *(COST, "    cost: fitted\n    mem_type: dram\n", "6: memories.buffer.cost"),
            *("'fitted'", "hbm3, gddr6 for mem_type: dram"),
        ),
        (
            *(COST, "    cost: ddr4\n", "7: memories.buffer.technology"),
            *("technology with ddr4", "no technology: the energies of a DRAM"),
        ),
        (COST, COST + "    r_cost: -1\n", "7: memories.buffer.r_cost", "-1", "energy in pJ"),
        (COST, COST + "    area: x\n", "7: memories.buffer.area", "'x'", "an area"),
        (COST, COST + "    leakage: -1\n", "7: memories.buffer.leakage", "-1", "power in mW"),
        (COST, AUTO + "    w_cost: x\n", "7: memories.buffer.w_cost", "'x'", "energy in pJ"),
    ],
)
def test_faults_are_located(
    tmp_path: Path, old: str, new: str, where: str, found: str, expected: str
) -> None:
    assert MACHINE.count(old) == 1
    error = fails(tmp_path, MACHINE.replace(old, new))
    assert place(error, tmp_path) == where
    assert found in error.found
    assert expected in error.expected


def test_cacti_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing: dict[str, None] = {}
    monkeypatch.setattr("nestmap.pipeline.frontend.yaml.hardware.cacti.find_spec", missing.get)
    error = fails(tmp_path, MACHINE.replace("fitted", "cacti"))
    assert place(error, tmp_path) == "6: memories.buffer.cost"
    assert error.found == "no package hwcomponents-cacti"
    assert "pip install 'nestmap[cacti]'" in error.expected


def test_cacti_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_cacti(monkeypatch, tmp_path, TOO_NEW)
    error = fails(tmp_path, MACHINE.replace("fitted", "cacti"))
    assert place(error, tmp_path) == "6: memories.buffer.cost"
    assert "does not run on this machine (/lib/libc.so.6: version `GLIBC_2.38'" in error.found
    assert "cost: fitted" in error.expected
