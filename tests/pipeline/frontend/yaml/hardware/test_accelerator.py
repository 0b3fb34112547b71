"""Accelerator files: ZigZag's own load unchanged, field by field, and descriptions round-trip."""

from pathlib import Path
from typing import NotRequired, TypedDict

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Accelerator,
    ArraySide,
    InputWarning,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from tests.pipeline.frontend.yaml.zigzag_files import zigzag_inputs
from tests.strategies import subsets
from tests.zeros import bitmask, run_length


class PortText(TypedDict):
    """A port as the schema has it."""

    name: str
    type: str
    bandwidth_min: int
    bandwidth_max: int
    allocation: list[str]


class MemoryText(TypedDict, total=False):
    """A memory as the schema has it."""

    size: int
    r_cost: float
    w_cost: float
    area: float
    latency: int
    operands: list[str]
    ports: list[PortText]
    served_dimensions: list[str]
    force_double_buffering: bool
    window_reuse: bool
    compression: dict[str, str]


class ArrayText(TypedDict, total=False):
    """An array as the schema has it."""

    is_imc: bool
    imc_type: str | None
    input_precision: list[int]
    bit_serial_precision: int | None
    adc_resolution: int | None
    technology: float
    supply_voltage: float
    unit_leakage: float
    clock_period: float
    holds_inputs: bool
    dimensions: list[str]
    sizes: list[int]
    systolic_dimensions: list[str]
    zero_gating: list[str]
    zero_skipping: list[str]
    hop_energy: float
    hop_bandwidth: int | None
    unit_energy: float
    unit_area: float


class AcceleratorText(TypedDict):
    """An accelerator as the schema has it."""

    name: str
    memories: dict[str, MemoryText]
    operational_array: ArrayText
    free_first_sum: NotRequired[bool]
    strict_ports: NotRequired[bool]


FILES = zigzag_inputs("hardware")
IMC = ("aimc", "dimc")
UNSAID: MemoryText = {"force_double_buffering": False, "window_reuse": False, "compression": {}}
"""What a memory is that says nothing about these."""


def loaded(path: Path) -> AcceleratorText:
    """What the safe loader makes of the file."""
    data: AcceleratorText = yaml.safe_load(path.read_text())
    return data


def written(accelerator: Accelerator) -> AcceleratorText:
    """The accelerator in the schema of the files."""
    array = accelerator.array
    return {
        "name": accelerator.name,
        "memories": {level.name: _memory_text(level) for level in accelerator.memories},
        "operational_array": {
            "dimensions": list(array.sizes),
            "sizes": list(array.sizes.values()),
            "systolic_dimensions": list(array.systolic_dimensions),
            "zero_gating": list(array.zero_gating),
            "zero_skipping": list(array.zero_skipping),
            "hop_energy": array.hop_energy,
            "hop_bandwidth": array.hop_bandwidth,
            "unit_energy": array.unit_energy,
            "unit_area": array.unit_area,
        },
        "free_first_sum": accelerator.free_first_sum,
        "strict_ports": accelerator.strict_ports,
    }


def _memory_text(level: MemoryLevel) -> MemoryText:
    instance = level.instance
    return {
        "size": instance.size,
        "r_cost": instance.read_energy,
        "w_cost": instance.write_energy,
        "area": instance.area,
        "latency": instance.latency,
        "operands": list(level.operands),
        "ports": [
            {
                "name": port.name,
                "type": str(port.kind),
                "bandwidth_min": port.width_min,
                "bandwidth_max": port.width_max,
                "allocation": [str(use) for use in port.allocation],
            }
            for port in instance.ports
        ],
        "served_dimensions": list(level.served_dimensions),
        "force_double_buffering": instance.double_buffered,
        "window_reuse": instance.window_reuse,
        "compression": {x.operand: str(x).removeprefix(f"{x.operand} ") for x in level.compression},
    }


@pytest.mark.parametrize("path", [f for f in FILES if f.stem not in IMC], ids=lambda f: f.stem)
def test_zigzag_accelerators_load_field_by_field(path: Path) -> None:
    data, text = loaded(path), written(parse_accelerator(path))
    assert text["name"] == data["name"]
    assert list(text["memories"]) == list(data["memories"])
    for name, memory in data["memories"].items():
        known = {k: v for k, v in memory.items() if k != "auto_cost_extraction"}
        assert text["memories"][name] == UNSAID | known
    array = {k: v for k, v in data["operational_array"].items() if k != "input_precision"}
    assert (
        text["operational_array"]
        == {
            "systolic_dimensions": [],
            "zero_gating": [],
            "zero_skipping": [],
            "hop_energy": 0.0,
            "hop_bandwidth": None,
        }
        | array
    )


@pytest.mark.parametrize("path", [f for f in FILES if f.stem in IMC], ids=lambda f: f.stem)
def test_zigzag_imc_accelerators_load_field_by_field(path: Path) -> None:
    data, accelerator = loaded(path), parse_accelerator(path)
    given, array = data["operational_array"], accelerator.array
    assert array.imc is not None
    assert str(array.imc.kind) == given.get("imc_type")
    precisions = [array.imc.activation_precision, array.imc.weight_precision]
    assert precisions == given.get("input_precision")
    assert array.imc.bit_serial_precision == given.get("bit_serial_precision")
    assert array.imc.adc_resolution == given.get("adc_resolution", 0)
    assert (array.imc.technology, array.imc.supply_voltage) == (28, 0.9)
    assert list(array.sizes) == given.get("dimensions")
    assert list(array.sizes.values()) == given.get("sizes")
    assert array.operation_cycles == {"aimc": 4, "dimc": 8}[path.stem]
    assert written(accelerator)["memories"]["cells"] == UNSAID | data["memories"]["cells"]


@pytest.fixture
def dimc() -> AcceleratorText:
    """The digital IMC accelerator of ZigZag, to be changed."""
    (path,) = (f for f in FILES if f.stem == "dimc")
    return loaded(path)


@pytest.mark.parametrize(
    ("fields", "technology", "voltage"),
    [
        ({}, 28, 0.9),
        ({"technology": 28}, 28, 0.9),
        ({"technology": 7}, 7, 0.7),
        ({"supply_voltage": 0.6}, 28, 0.6),
        ({"technology": 65, "supply_voltage": 1}, 65, 1),
    ],
)
def test_imc_arrays_in_other_technologies(
    file: Path, dimc: AcceleratorText, fields: ArrayText, technology: float, voltage: float
) -> None:
    dimc["operational_array"].update(fields)
    file.write_text(yaml.safe_dump(dimc))
    imc = parse_accelerator(file).array.imc
    assert imc is not None
    assert (imc.technology, imc.supply_voltage) == (technology, voltage)


def test_what_the_circuits_of_an_imc_array_decide_is_left_out(
    file: Path, dimc: AcceleratorText
) -> None:
    file.write_text(yaml.safe_dump(dimc))
    before = parse_accelerator(file)
    dimc["operational_array"] |= {
        "unit_energy": 3,
        "unit_area": 4,
        "systolic_dimensions": ["D2"],
        "holds_inputs": True,
        "adc_resolution": None,
    }
    file.write_text(yaml.safe_dump(dimc))
    assert parse_accelerator(file) == before


def test_leakage_and_clock_of_arrays(file: Path, dimc: AcceleratorText) -> None:
    dimc["operational_array"]["unit_leakage"] = 0.01
    file.write_text(yaml.safe_dump({**dimc, "static_energy": True}))
    accelerator = parse_accelerator(file)
    assert (accelerator.array.unit_leakage, accelerator.counts_leakage) == (0.01, True)
    ordinary: ArrayText = {
        "dimensions": ["D1", "D2"],
        "sizes": [4, 4],
        "unit_energy": 1,
        "unit_leakage": 0.02,
        "clock_period": 2,
    }
    dimc["operational_array"] = ordinary
    file.write_text(yaml.safe_dump({**dimc, "static_energy": True}))
    accelerator = parse_accelerator(file)
    array = accelerator.array
    assert (array.unit_leakage, array.clock_period, array.imc) == (0.02, 2, None)
    assert accelerator.counts_leakage
    file.write_text(yaml.safe_dump({**dimc, "static_energy": False}))
    assert not parse_accelerator(file).counts_leakage


@pytest.mark.parametrize("nothing", [None, 0])
def test_ordinary_arrays_may_have_imc_fields_that_say_nothing(
    file: Path, dimc: AcceleratorText, nothing: int | None
) -> None:
    dimc["operational_array"] = {"dimensions": ["D1", "D2"], "sizes": [4, 4], "unit_energy": 1}
    file.write_text(yaml.safe_dump(dimc))
    before = parse_accelerator(file)
    dimc["operational_array"] |= {
        "is_imc": False,
        "imc_type": None,
        "input_precision": [8, 8],
        "adc_resolution": nothing,
        "bit_serial_precision": nothing,
    }
    file.write_text(yaml.safe_dump(dimc))
    assert parse_accelerator(file) == before


def test_details_of_a_known_file() -> None:
    (path,) = (f for f in FILES if f.stem == "gemm_l1_l3")
    accelerator = parse_accelerator(path)
    register, l1, l3 = accelerator.memories
    assert accelerator.array.sizes == {"D1": 8, "D2": 8, "D3": 8}
    assert [level.instance.double_buffered for level in accelerator.memories] == [
        False,
        True,
        False,
    ]
    assert (register.operands, register.served_dimensions) == (("O",), ("D2",))
    assert (l1.instance.size, l1.instance.read_energy, l1.instance.write_energy) == (
        943718,
        118,
        141.6,
    )
    assert (l1.port_index("I2", Movement.RD_TO_LOW), l1.port_index("O", Movement.RD_TO_HIGH)) == (
        1,
        3,
    )
    assert l3.instance.ports[0].kind is PortKind.READ_WRITE


def test_the_last_of_two_port_lists_counts() -> None:
    (path,) = (f for f in FILES if f.stem == "tpu_like")
    assert path.read_text().count("    ports:") == 5
    with pytest.warns(InputWarning, match="found a second ports, which replaces the first"):
        accelerator = parse_accelerator(path)
    assert [len(level.instance.ports) for level in accelerator.memories] == [2, 4, 2, 1]


INPUT_MOVES = (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
energies = st.floats(0, 1e6)


@st.composite
def memories(draw: st.DrawFn, name: str, dimensions: tuple[str, ...]) -> MemoryLevel:
    """A memory for some operands, with a port of its own for each of them."""
    some = st.lists(st.sampled_from(("I1", "I2", "O")), min_size=1, unique=True)
    operands = ("I1", "I2", "O") if name == "top" else tuple(draw(some))
    ports: list[MemoryPort] = []
    for operand in operands:
        width = draw(st.integers(1, 4096))
        moves = tuple(Movement) if operand == "O" else INPUT_MOVES
        ports.append(
            MemoryPort(
                name=f"rw_port_{operand}",
                kind=PortKind.READ_WRITE,
                width_min=draw(st.integers(1, width)),
                width_max=width,
                allocation=tuple(PortUse(operand=operand, movement=move) for move in moves),
            )
        )
    instance = MemoryInstance(
        name=name,
        size=draw(st.integers(1, 2**50)),
        read_energy=draw(energies),
        write_energy=draw(energies),
        area=draw(energies),
        latency=draw(st.integers(0, 10)),
        ports=tuple(ports),
        double_buffered=draw(st.booleans()),
        window_reuse=draw(st.booleans()),
    )
    served = draw(st.lists(st.sampled_from(dimensions), unique=True))
    packed = draw(st.lists(st.sampled_from(operands), unique=True))
    formats = tuple(draw(st.sampled_from((bitmask(x), run_length(x, 16)))) for x in packed)
    return MemoryLevel(
        instance=instance, operands=operands, served_dimensions=tuple(served), compression=formats
    )


@st.composite
def accelerators(draw: st.DrawFn) -> Accelerator:
    """An accelerator of up to five memories; the top one holds all operands."""
    sizes = draw(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=4))
    sides = tuple(ArraySide(name=f"D{i}", size=size) for i, size in enumerate(sizes, 1))
    dimensions = tuple(side.name for side in sides)
    gating = draw(subsets(("I1", "I2")))
    array = OperationalArray(
        sides=sides,
        unit_energy=draw(energies),
        unit_area=draw(energies),
        systolic_dimensions=tuple(draw(st.lists(st.sampled_from(dimensions), unique=True))),
        zero_gating=gating,
        zero_skipping=tuple(x for x in ("I2", "I1") if x not in gating and draw(st.booleans())),
        hop_energy=draw(energies),
        hop_bandwidth=draw(st.none() | st.integers(1, 2**31 - 1)),
    )
    names = (*(f"m{i}" for i in range(draw(st.integers(0, 4)))), "top")
    levels = tuple(draw(memories(name, dimensions)) for name in names)
    return Accelerator(
        name=draw(st.text("abc é", min_size=1)),
        array=array,
        memories=levels,
        free_first_sum=draw(st.booleans()),
        strict_ports=draw(st.booleans()),
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write to, again and again."""
    return tmp_path_factory.mktemp("accelerators") / "a.yaml"


@settings(deadline=None)
@given(accelerator=accelerators().filter(lambda a: bool(a.name.strip())))
def test_what_is_written_is_read(file: Path, accelerator: Accelerator) -> None:
    file.write_text(yaml.safe_dump(written(accelerator), sort_keys=False))
    assert parse_accelerator(file) == accelerator
