"""Costs of memories that a description leaves to a model: which one, asked what, and what stays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.memory_cost.dram import DramPreset, dram_cost
from nestmap.costmodel.memory_cost.sram import fitted_cost
from nestmap.model import MemoryCost, MemoryInstance, MemoryMacro
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import DEFAULT_DRAM, DEFAULT_TECHNOLOGY

PORTS: Final = [
    ("read", 64, ["I1, tl", "I2, tl"]),
    ("read", 128, ["O, tl"]),
    ("write", 32, ["O, fl"]),
]
MACRO: Final = MemoryMacro(
    size=2**20, width=128, read_ports=2, write_ports=1, technology=DEFAULT_TECHNOLOGY
)
SAID: Final = MemoryCost(read_energy=1.0, write_energy=2.0, area=3.0, leakage=4.0)

CELL_COSTS: Final = """    r_cost: 0  # reading is part of computing
    w_cost: 0.095
    area: 0  # of one unit; 0 leaves the cells out of every area
"""

Fields = Mapping[str, str | float | bool | None]


def description(memory: Fields, **root: float) -> str:
    """A machine of one memory with two ports that read and one that writes."""
    ports = [
        {
            "name": f"port_{i}",
            "type": kind,
            "bandwidth_min": 8,
            "bandwidth_max": width,
            "allocation": allocation,
        }
        for i, (kind, width, allocation) in enumerate(PORTS)
    ]
    level = {"size": 2**20, "operands": ["I1", "I2", "O"], "served_dimensions": ["D1"]}
    array = {"dimensions": ["D1"], "sizes": [2], "unit_energy": 1}
    text: str = yaml.safe_dump(
        {
            "name": "one",
            "operational_array": array,
            "memories": {"buffer": {**level, "ports": ports, **memory}},
            **root,
        }
    )
    return text


def cost_of(instance: MemoryInstance) -> MemoryCost:
    return MemoryCost(
        read_energy=instance.read_energy,
        write_energy=instance.write_energy,
        area=instance.area,
        leakage=instance.leakage,
    )


def parsed(folder: Path, memory: Fields, **root: float) -> MemoryCost:
    """What the memory costs; CACTI must not be asked."""
    file = folder / "one.yaml"
    file.write_text(description(memory, **root))
    (level,) = parse_accelerator(file, never).memories
    return cost_of(level.instance)


def never(macro: MemoryMacro) -> MemoryCost:
    raise AssertionError(f"CACTI was asked about {macro}")


@pytest.mark.parametrize(
    "fields",
    [
        {"auto_cost_extraction": True},
        {"auto_cost_extraction": True, "mem_type": "sram"},
        {"auto_cost_extraction": True, "mem_type": "rf"},
        {"auto_cost_extraction": True, "cost": "fitted"},
        {"cost": "fitted"},
        {"cost": "fitted", "mem_type": "rf", "r_cost": None, "auto_cost_extraction": None},
    ],
)
def test_fitted(tmp_path: Path, fields: Fields) -> None:
    """Width is that of the widest port; each port counts by what it does."""
    assert parsed(tmp_path, fields) == fitted_cost(MACRO)


def test_ports_that_do_both_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    text = description({"cost": "fitted"}).replace("type: read\n", "type: read_write\n")
    file.write_text(text)
    asked = MACRO.model_copy(update={"read_ports": 0, "read_write_ports": 2})
    (level,) = parse_accelerator(file).memories
    assert cost_of(level.instance) == fitted_cost(asked)


@pytest.mark.parametrize(
    ("of_memory", "of_all", "technology"), [(None, 45, 45.0), (32, 45, 32.0), (32.5, None, 32.5)]
)
def test_technology_is_that_of_the_memory_or_of_all(
    tmp_path: Path, of_memory: float | None, of_all: float | None, technology: float
) -> None:
    root = {} if of_all is None else {"technology": of_all}
    found = parsed(tmp_path, {"cost": "fitted", "technology": of_memory}, **root)
    assert found == fitted_cost(MACRO.model_copy(update={"technology": technology}))


@pytest.mark.parametrize("kind", [None, "dram"])
@pytest.mark.parametrize("preset", DramPreset)
def test_dram(tmp_path: Path, preset: DramPreset, kind: str | None) -> None:
    found = parsed(tmp_path, {"cost": str(preset), "mem_type": kind}, technology=22)
    assert found == dram_cost(preset, 128)


def test_the_usual_dram(tmp_path: Path) -> None:
    found = parsed(tmp_path, {"auto_cost_extraction": True, "mem_type": "dram"})
    assert found == dram_cost(DramPreset(DEFAULT_DRAM), 128)


def test_cacti_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(description({"cost": "cacti"}, technology=32))
    asked: list[MemoryMacro] = []

    def cacti(macro: MemoryMacro) -> MemoryCost:
        asked.append(macro)
        return SAID

    (level,) = parse_accelerator(file, cacti).memories
    assert cost_of(level.instance) == SAID
    assert asked == [MACRO.model_copy(update={"technology": 32.0})]


def test_figures_beside_cost_stay(tmp_path: Path) -> None:
    model = fitted_cost(MACRO)
    for field, figure in (
        ("r_cost", "read_energy"),
        ("w_cost", "write_energy"),
        ("area", "area"),
        ("leakage", "leakage"),
    ):
        found = parsed(tmp_path, {"cost": "fitted", field: 12.5})
        assert found == model.model_copy(update={figure: 12.5})


def test_zigzags_switch_alone_replaces_the_figures_beside_it(tmp_path: Path) -> None:
    """As in ZigZag, whose files have ``area: 0`` everywhere; it knows no leakage."""
    figures: Fields = {"r_cost": 1, "w_cost": 2, "area": 0, "auto_cost_extraction": True}
    assert parsed(tmp_path, figures) == fitted_cost(MACRO)
    leaking = parsed(tmp_path, {**figures, "leakage": 0.5})
    assert leaking == fitted_cost(MACRO).model_copy(update={"leakage": 0.5})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"auto_cost_extraction": False},
        {"auto_cost_extraction": None, "cost": None, "technology": None},
        {"mem_type": "rf", "auto_cost_extraction": False},
    ],
)
def test_without_a_model_figures_are_those_given(tmp_path: Path, more: Fields) -> None:
    found = parsed(tmp_path, {"r_cost": 1, "w_cost": 2.5, **more}, technology=22)
    assert found == MemoryCost(read_energy=1.0, write_energy=2.5, area=0.0, leakage=0.0)
    found = parsed(tmp_path, {"r_cost": 1, "w_cost": 2.5, "area": 3, "leakage": 4, **more})
    assert found == MemoryCost(read_energy=1.0, write_energy=2.5, area=3.0, leakage=4.0)


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@settings(deadline=None)
@given(size=st.integers(128, 2**40), technology=st.floats(7, 180))
def test_any_memory_has_a_cost(folder: Path, size: int, technology: float) -> None:
    found = parsed(folder, {"cost": "fitted", "size": size, "technology": technology})
    asked = MACRO.model_copy(update={"size": size, "technology": technology})
    assert found == fitted_cost(asked)
    assert min(found.read_energy, found.write_energy, found.area, found.leakage) > 0


def imc_file(folder: Path, cells: str) -> Path:
    """The bundled digital IMC machine with other costs of its cells."""
    before, costs, after = resolve_accelerator("dimc").read_text().partition(CELL_COSTS)
    assert costs
    path = folder / "imc.yaml"
    path.write_text(before + cells + after)
    return path


def test_cells_of_an_imc_array_cost_their_share_of_a_bank(tmp_path: Path) -> None:
    machine = parse_accelerator(imc_file(tmp_path, "    cost: fitted\n"))
    units, columns = 128 * 128, 128
    bank = fitted_cost(
        MemoryMacro(size=8 * units, width=8 * columns, read_write_ports=1, technology=28.0)
    )
    cells = machine.cells.instance
    assert cells.area * units == pytest.approx(bank.area)
    assert cells.leakage * units == pytest.approx(bank.leakage)
    assert cells.write_energy * columns == pytest.approx(bank.write_energy)
    assert cells.read_energy == 0.0
    alone = fitted_cost(MemoryMacro(size=8, width=8, read_write_ports=1, technology=28.0))
    assert cells.area < alone.area / 2


def test_a_node_of_their_own_counts_for_cells(tmp_path: Path) -> None:
    costs = "    cost: fitted\n    technology: 45\n"
    small = parse_accelerator(imc_file(tmp_path, "    cost: fitted\n")).cells.instance
    assert parse_accelerator(imc_file(tmp_path, costs)).cells.instance.area > small.area
