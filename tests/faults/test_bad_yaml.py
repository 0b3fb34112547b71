"""Every wrong line of a YAML file is named, with what stands there and what would be right."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import Accelerator, InputError, MappingConstraints, Workload
from nestmap.pipeline.frontend import bundled as presets
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from tests.faults.located import Fault, Parse, check_located

ACCELERATOR = """\
name: small
operational_array:
  dimensions: [D1, D2]
  sizes: [4, 8]
  systolic_dimensions: [D1]
  unit_energy: 0.5
  unit_area: 1
memories:
  reg:
    size: 16
    r_cost: 0.1
    w_cost: 0.2
    latency: 1
    operands: [O]
    ports:
      - name: r_port_1
        type: read
        bandwidth_min: 8
        bandwidth_max: 16
        allocation: ["O, tl", "O, th"]
      - name: w_port_1
        type: write
        bandwidth_min: 8
        bandwidth_max: 16
        allocation: ["O, fl", "O, fh"]
    served_dimensions: [D2]
  dram:
    size: 1000000
    r_cost: 7
    w_cost: 8
    latency: 1
    operands: [I1, I2, O]
    ports:
      - name: rw_port_1
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 64
        allocation: ["I1, tl", "I2, tl", "O, tl", "O, fl"]
    served_dimensions: [D1, D2]
"""

MAPPING = """\
- name: default
  spatial_mapping:
    D1: ["K, 4"]
    D2: ["C, 4", "OX, 2"]
  spatial_mapping_hint:
    D1: [K, G]
  memory_operand_links: {O: O, W: I2, I: I1}
  temporal_ordering:
    - [OX, 112]
    - [FX, "*"]
  memory_levels:
    W: {sram: 1, dram: 2}
- name: Add
  spatial_mapping:
    D1: ["G, 4"]
"""

WORKLOAD = """\
- id: 0
  name: first
  operator_type: Conv
  equation: O[k][ox]+=W[k][c][fx]*I[c][ix]
  dimension_relations: [ix=2*ox+1*fx]
  loop_dims: [K, C, OX, FX]
  loop_sizes: [8, 3, 16, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  pr_loop_dims: [IX]
  pr_loop_sizes: [32]
  padding: [[1, 0]]
  operand_source: {W: 0, I: 0}
- id: 1
  operator_type: Add
  equation: O[k][ox]=W[k][ox]+I[k][ox]
  loop_dims: [K, OX]
  loop_sizes: [8, 16]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source:
    W: 0
    I: 0
"""


ACCELERATOR_FAULTS = (
    Fault("name: small\n", "", "1", "no name", "the field name"),
    Fault("name: small", "name: 5", "1: name", "5", "name of the accelerator"),
    Fault("name: small", "- name: small", "2", "not YAML", "YAML"),
    Fault(ACCELERATOR, "just words\n", "1", "'just words'", "name, memories"),
    Fault("memories:", "memory:", "8: memory", "unknown field 'memory'", "memories (one of"),
    Fault(ACCELERATOR[ACCELERATOR.index("  reg:") :], "", "8: memories", "nothing", "memories by"),
    Fault("  dimensions: [D1, D2]\n", "", "2: operational_array", "no dimensions", "dimensions"),
    Fault("[4, 8]", "[4]", "4: operational_array.sizes", "1 sizes", "each of 2 dimensions"),
    Fault("[4, 8]", "[4, 0]", "4: operational_array.sizes[1]", "0", "positive number of units"),
    Fault("[4, 8]", "[4, -8]", "4: operational_array.sizes[1]", "-8", "positive number"),
    Fault("[4, 8]", "[4, 9999999999]", "4: operational_array.sizes[1]", "9999999999", "at most"),
    Fault("[4, 8]", "4 x 8", "4: operational_array.sizes", "'4 x 8'", "a list"),
    Fault("[D1]", "[D3]", "5: operational_array.systolic_dimensions[0]", "'D3'", "of D1, D2"),
    Fault("[D1, D2]", "[]", "3: operational_array.dimensions", "an empty list", "at least one"),
    Fault("[D1, D2]", "[D1, D1]", "3: operational_array.dimensions[1]", "a second D1", "each once"),
    Fault("[D1, D2]", "[D1, 2]", "3: operational_array.dimensions[1]", "2", "array dimension"),
    Fault("unit_energy: 0.5", "unit_energy: -1", "6: operational_array.unit_energy", "-1", "pJ"),
    Fault(
        "unit_energy: 0.5",
        "unit_energy: 0.5\n  hop_bandwidth: 0",
        "7: operational_array.hop_bandwidth",
        "0",
        "a positive number of bit/cycle",
    ),
    Fault(
        "unit_energy: 0.5",
        "unit_energy: 0.5\n  zero_gating: [I1]\n  zero_skipping: [I1]",
        "2: operational_array",
        "zeros of I1 gate and skip operations",
        "one of them, as what is skipped is gated, too",
    ),
    Fault("unit_energy: 0.5", "is_imc: 5", "6: operational_array.is_imc", "5", "true or false"),
    Fault(
        "unit_energy: 0.5", "is_imc: yes", "2: operational_array", "no imc_type", "imc_type: one of"
    ),
    Fault(
        "unit_energy: 0.5",
        "unit_energi: 1",
        "6: operational_array.unit_energi",
        "unknown",
        "unit_energy",
    ),
    Fault("size: 16", "size: -3", "10: memories.reg.size", "-3", "positive number of bits"),
    Fault("size: 16", "size: 0", "10: memories.reg.size", "0", "positive number of bits"),
    Fault("size: 16", "size: big", "10: memories.reg.size", "'big'", "positive number of bits"),
    Fault("size: 16", "size: 1.5", "10: memories.reg.size", "1.5", "positive number of bits"),
    Fault("size: 16", f"size: {10**30}", "10: memories.reg.size", str(10**30), "at most"),
    Fault("size: 16", "sise: 16", "10: memories.reg.sise", "unknown field 'sise'", "size (one of"),
    Fault("size: 16", "area: 1", "9: memories.reg", "no size", "the field size"),
    Fault("r_cost: 0.1", "r_cost: .nan", "11: memories.reg.r_cost", ".nan", "not negative"),
    Fault("r_cost: 0.1", "r_cost: 1e-1", "11: memories.reg.r_cost", "'1e-1'", "1.0e-3"),
    Fault("r_cost: 0.1", "r_cost:", "9: memories.reg", "no r_cost", "pJ per access"),
    Fault("latency: 1", "latency: -1", "13: memories.reg.latency", "-1", "cycles"),
    Fault("latency: 1", "area: -1", "13: memories.reg.area", "-1", "area"),
    Fault(
        "latency: 1",
        "force_double_buffering: 2",
        "13: memories.reg.force_double_buffering",
        "2",
        "true or false",
    ),
    Fault(
        "latency: 1",
        "compression: {O: zip}",
        "13: memories.reg.compression.O",
        "'zip'",
        "bitmask, or run_length and",
    ),
    Fault(
        "latency: 1",
        "compression: {O: run_length 17}",
        "13: memories.reg.compression.O",
        "'run_length 17'",
        "(1 to 16)",
    ),
    Fault(
        "latency: 1",
        "compression: {I1: bitmask}",
        "13: memories.reg.compression.I1",
        "the operand 'I1'",
        "an operand of the memory: one of O",
    ),
    Fault(
        "operands: [O]",
        "operands: []",
        "14: memories.reg.operands",
        "an empty list",
        "at least one",
    ),
    Fault("operands: [O]", "operands: O", "14: memories.reg.operands", "'O'", "a list"),
    Fault(
        "operands: [O]",
        "operands: [O, O]",
        "14: memories.reg.operands[1]",
        "a second O",
        "each once",
    ),
    Fault(
        "type: read\n",
        "type: reed\n",
        "17: memories.reg.ports[0].type",
        "'reed'",
        "read (one of read, write, read_write)",
    ),
    Fault(
        "bandwidth_min: 8",
        "bandwidth_min: 0",
        "18: memories.reg.ports[0].bandwidth_min",
        "0",
        "bit/cycle",
    ),
    Fault(
        "bandwidth_max: 16",
        "bandwidth_max: 4",
        "19: memories.reg.ports[0].bandwidth_max",
        "4",
        "at least bandwidth_min, 8 bit/cycle",
    ),
    Fault(
        '"O, tl"',
        '"I9, tl"',
        "20: memories.reg.ports[0].allocation[0]",
        "'I9, tl'",
        "operand of the memory: one of O",
    ),
    Fault(
        '"O, tl"',
        '"O, up"',
        "20: memories.reg.ports[0].allocation[0]",
        "'O, up'",
        "such as 'I1, tl'",
    ),
    Fault('"O, tl"', "O", "20: memories.reg.ports[0].allocation[0]", "'O'", "tl, fl, th, fh"),
    Fault(
        '"O, tl"',
        '"O, fl"',
        "16: memories.reg.ports[0]",
        "read port and is allocated 'O, fl'",
        "write",
    ),
    Fault(
        '["O, tl", "O, th"]', '["O, tl"]', "9: memories.reg", "no port for 'O, th'", "allocation"
    ),
    Fault('"I1, tl", ', "", "27: memories.dram", "no port for 'I1, tl'", "allocation"),
    Fault(
        "served_dimensions: [D2]",
        "served_dimensions: [D3]",
        "26: memories.reg.served_dimensions[0]",
        "'D3'",
        "one of D1, D2",
    ),
    Fault(
        "served_dimensions: [D2]",
        "served_dimensions: [D2, D2]",
        "26: memories.reg.served_dimensions[1]",
        "a second D2",
        "each once",
    ),
    Fault(
        "    served_dimensions: [D2]\n", "", "9: memories.reg", "no served_dimensions", "the field"
    ),
    Fault("  reg:", "  ? [a]\n  :", "9: memories", "the key a list", "a text as key"),
)

MAPPING_FAULTS = (
    Fault(MAPPING, "name: default\n", "1", "fields", "a list of mappings"),
    Fault(MAPPING, "- default\n", "1: [0]", "'default'", "name, dataflow, spatial_mapping"),
    Fault("- name: default\n  spatial", "- spatial", "1: [0]", "no name", "the field name"),
    Fault("name: default", "name: [a]", "1: [0].name", "a list", "operator type"),
    Fault("name: Add", "name: default", "13: [1]", "second mapping for 'default'", "one mapping"),
    Fault(
        "spatial_mapping:",
        "spatial_maping:",
        "2: [0].spatial_maping",
        "unknown",
        "spatial_mapping (",
    ),
    Fault('["K, 4"]', '["K, 0"]', "3: [0].spatial_mapping.D1[0]", "'K, 0'", "such as 'K, 32'"),
    Fault('["K, 4"]', '["K, -4"]', "3: [0].spatial_mapping.D1[0]", "'K, -4'", "such as 'K, 32'"),
    Fault('["K, 4"]', '["K, 2.5"]', "3: [0].spatial_mapping.D1[0]", "'K, 2.5'", "such as 'K, 32'"),
    Fault('["K, 4"]', '["K, 9999999999"]', "3: [0].spatial_mapping.D1[0]", "9999999999", "1 to "),
    Fault('["K, 4"]', "[K, 4]", "3: [0].spatial_mapping.D1[0]", "'K'", "such as 'K, 32'"),
    Fault('["K, 4"]', "[4]", "3: [0].spatial_mapping.D1[0]", "4", "such as 'K, 32'"),
    Fault('["K, 4"]', '"K, 4"', "3: [0].spatial_mapping.D1", "'K, 4'", "a list, each item"),
    Fault('"OX, 2"', '"C, 2"', "4: [0].spatial_mapping.D2[1]", "second unrolling of C", "once"),
    Fault(
        "    D1: [K, G]", "    1D: [K, G]", "6: [0].spatial_mapping_hint.1D", "the key '1D'", "D1"
    ),
    Fault("[K, G]", "[K, K]", "6: [0].spatial_mapping_hint.D1[1]", "a second K", "once"),
    Fault("[K, G]", "[K, 3]", "6: [0].spatial_mapping_hint.D1[1]", "3", "loop dimension"),
    Fault("W: I2", "W: I1", "7: [0].memory_operand_links.I", "I1, which already carries W", "each"),
    Fault("W: I2", "W: 2", "7: [0].memory_operand_links.W", "2", "memory operand such as I2"),
    Fault("{O: O, W: I2, I: I1}", "[O, I2]", "7: [0].memory_operand_links", "a list", "W: I2"),
    Fault("[OX, 112]", "[OX, 0]", "9: [0].temporal_ordering[0][1]", "0", "positive loop size"),
    Fault("[OX, 112]", "[OX, all]", "9: [0].temporal_ordering[0][1]", "'all'", '"*"'),
    Fault("[OX, 112]", "[OX]", "9: [0].temporal_ordering[0]", "a list of 1 items", "[K, 2]"),
    Fault("[OX, 112]", '"x"', "9: [0].temporal_ordering[0]", "'x'", '"*" alone'),
    Fault("[OX, 112]", '["x"]', "9: [0].temporal_ordering[0]", "a list of 1 items", '"*" alone'),
    Fault("[OX, 112]", "{}", "9: [0].temporal_ordering[0]", "no field", '"*" alone'),
    Fault("[OX, 112]", "[[OX, 2]]", "9: [0].temporal_ordering[0]", "a list of 1 items", "[K, 2]"),
    Fault(
        "[OX, 112]", '"*"\n    - ["*"]', "10: [0].temporal_ordering[1]", 'a second "*"', "one wild"
    ),
    Fault("W: {sram: 1", "W: {sram: 3", "12: [0].memory_levels.W.sram", "3", "at most 2"),
    Fault(
        "W: {sram: 1",
        "W: {sram: -1",
        "12: [0].memory_levels.W.sram",
        "-1",
        "items of temporal_ordering",
    ),
    Fault(
        "W: {sram: 1",
        "W: {sram: x",
        "12: [0].memory_levels.W.sram",
        "'x'",
        "items of temporal_ordering",
    ),
    Fault(
        "W: {sram: 1", "W: {'': 1", "12: [0].memory_levels.W.", "the key ''", "below each memory"
    ),
    Fault("W: {sram: 1, dram: 2}", "W: 3", "12: [0].memory_levels.W", "3", "such as {sram: 3"),
    Fault("W: {sram", "2W: {sram", "12: [0].memory_levels.2W", "the key '2W'", "by layer operand"),
    Fault("    W: {sram: 1, dram: 2}", "    - W", "11: [0].memory_levels", "a list", "such as W:"),
    Fault("[OX, 112]", "OX 112", "9: [0].temporal_ordering[0]", "'OX 112'", "[K, 2]"),
    Fault('"*"', "*", "10", "not YAML", "valid YAML"),
)

WORKLOAD_FAULTS = (
    Fault(WORKLOAD, "[]\n", "1", "an empty list", "at least one layer"),
    Fault(WORKLOAD, "id: 0\n", "1", "fields", "a list of layers"),
    Fault("O: 16", "O: 0", "8: [0].operand_precision.O", "0", "at least 1 bit of an output"),
    Fault("id: 0", "id: zero", "1: [0].id", "'zero'", "number of the layer"),
    Fault("id: 1", "id: 0", "13: [1].id", "a second layer 0", "different id"),
    Fault("name: first", "nam: first", "2: [0].nam", "unknown field 'nam'", "name (one of"),
    Fault("operator_type: Conv", "operator_type: ''", "3: [0].operator_type", "''", "Conv"),
    Fault("O[k][ox]+=W", "O[k][ox]>=W", "4: [0].equation", "'O[k][ox]>=W", "equation such as"),
    Fault("O[k][ox]+=W", "+=W", "4: [0].equation", "'+=W", "equation such as"),
    Fault("O[k][ox]+=W", "O[k][q]+=W", "4: [0].equation", "the index Q of O", "K, C, OX, FX, IX"),
    Fault("W[k][c][fx]", "I[k][c][fx]", "4: [0].equation", "a second I", "different name"),
    Fault("ix=2*ox+1*fx", "ix=2*ox", "5: [0].dimension_relations[0]", "'ix=2*ox'", "such as"),
    Fault("ix=2*ox+1*fx", "ix=2*ox+1*fz", "5: [0].dimension_relations[0]", "FZ in", "K, C, OX, FX"),
    Fault("ix=2*ox+1*fx", "fx=2*ox+1*k", "5: [0].dimension_relations[0]", "second FX", "new"),
    Fault("[K, C, OX, FX]", "[K, C, OX]", "7: [0].loop_sizes", "4 sizes", "each of 3 loop"),
    Fault("[K, C, OX, FX]", "[K, C, OX, K]", "6: [0].loop_dims[3]", "a second K", "once"),
    Fault("[K, C, OX, FX]", "[K, C, NO, FX]", "6: [0].loop_dims[2]", "NO (which YAML reads", "OX"),
    Fault("[8, 3, 16, 3]", "[8, 3, 16, 0]", "7: [0].loop_sizes[3]", "0", "positive loop size"),
    Fault(
        "[8, 3, 16, 3]", "[8, 3, 16, 3000000000]", "7: [0].loop_sizes[3]", "3000000000", "at most"
    ),
    Fault("{W: 8, I: 8", "{W: 8, I: -8", "8: [0].operand_precision.I", "-8", "not negative"),
    Fault("{W: 8, I: 8", "{W: 8", "8: [0].operand_precision", "no I", "the field I"),
    Fault("{W: 8, I: 8", "{W: 8, I: 8, X: 8", "8: [0].operand_precision.X", "field 'X'", "O, W, I"),
    Fault(
        "  operand_source: {W: 0, I: 0}",
        "  operand_density: {I: 0}",
        "12: [0].operand_density.I",
        "0",
        "above 0 and at most 1",
    ),
    Fault(
        "  operand_source: {W: 0, I: 0}",
        "  operand_density: {J: 0.5}",
        "12: [0].operand_density.J",
        "the operand 'J'",
        "O, W, I",
    ),
    Fault("pr_loop_dims: [IX]", "pr_loop_dims: [IY]", "9: [0].pr_loop_dims[0]", "'IY'", "IX"),
    Fault("pr_loop_sizes: [32]", "pr_loop_sizes: []", "10: [0].pr_loop_sizes", "0 items", "1 pr_"),
    Fault("pr_loop_sizes: [32]", "pr_loop_sizes: [0]", "10: [0].pr_loop_sizes[0]", "0", "length"),
    Fault("padding: [[1, 0]]", "padding: [[1, -1]]", "11: [0].padding[0][1]", "-1", "not negative"),
    Fault("padding: [[1, 0]]", "padding: [[1]]", "11: [0].padding[0]", "1 items", "[1, 1]"),
    Fault("padding: [[1, 0]]", "padding: [1, 0]", "11: [0].padding[0]", "1", "such as [1, 1]"),
    Fault("{W: 0, I: 0}", "{W: 0, I: 9}", "12: [0].operand_source.I", "9", "(0, 1), or 0, its own"),
    Fault("{W: 0, I: 0}", "{W: 0, J: 0}", "12: [0].operand_source.J", "operand 'J'", "one of W, I"),
    Fault("{W: 0, I: 0}", "{W: 0, I: 1}", "12: [0].operand_source", "'first' -> 'Layer1'", "cycle"),
    Fault("    W: 0", "    W: conv1", "20: [1].operand_source.W", "'conv1'", "id of a layer"),
)


def _cases() -> list[pytest.ParameterSet]:
    groups: tuple[tuple[str, Parse, str, tuple[Fault, ...]], ...] = (
        ("accelerator", parse_accelerator, ACCELERATOR, ACCELERATOR_FAULTS),
        ("mapping", parse_mapping, MAPPING, MAPPING_FAULTS),
        ("workload", parse_workload_yaml, WORKLOAD, WORKLOAD_FAULTS),
    )
    return [
        pytest.param(parse, text, fault, id=f"{name}: {fault.new[:40].strip()!r} at {fault.where}")
        for name, parse, text, faults in groups
        for fault in faults
    ]


@pytest.mark.parametrize(("parse", "text", "fault"), _cases())
def test_faults_are_located(tmp_path: Path, parse: Parse, text: str, fault: Fault) -> None:
    check_located(parse, text, fault, tmp_path / "f.yaml")


@pytest.mark.parametrize(
    ("parse", "text"),
    [(parse_accelerator, ACCELERATOR), (parse_mapping, MAPPING), (parse_workload_yaml, WORKLOAD)],
)
def test_the_texts_are_good_before_the_change(tmp_path: Path, parse: Parse, text: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    assert isinstance(parse(file), Accelerator | MappingConstraints | Workload)


@pytest.mark.parametrize("parse", [parse_accelerator, parse_mapping, parse_workload_yaml])
def test_files_that_are_not_there(tmp_path: Path, parse: Parse) -> None:
    with pytest.raises(InputError, match="found no such file"):
        parse(tmp_path / "f.yaml")
    with pytest.raises(InputError, match="found a directory"):
        parse(tmp_path)


def _good_texts() -> list[tuple[Parse, str]]:
    """Texts to damage: the samples and everything bundled."""
    texts: list[tuple[Parse, str]] = [
        (parse_accelerator, ACCELERATOR),
        (parse_mapping, MAPPING),
        (parse_workload_yaml, WORKLOAD),
    ]
    for name in presets.accelerator_names():
        texts.append((parse_accelerator, presets.resolve_accelerator(name).read_text()))
        texts.append((parse_mapping, presets.resolve_mapping(name).read_text()))
    return texts


JUNK = (
    *(
        "-1",
        "0",
        "1.5",
        "1e400",
        ".nan",
        ".inf",
        "9" * 25,
        "9" * 5000,
        "0b",
        "!!int x",
        "null",
        "~",
    ),
    *(
        "[]",
        "{}",
        "[[]]",
        "''",
        '"x"',
        "yes",
        "*a",
        "&a [*a]",
        "<<",
        "!!python/name:os.system",
        "x",
    ),
    *(
        "'",
        "\t",
        "\x00",
        "2001-99-99",
        "!!binary x",
        "?",
        "- ",
        "%",
        "é",
        "K, 4",
        "O, tl",
        "[O, tl]",
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Parse, str]:
    """A good text with some lines deleted, doubled, swapped or given another value."""
    parse, text = draw(st.sampled_from(_good_texts()))
    lines = text.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        i, j = (draw(st.integers(0, max(0, len(lines) - 1))) for _ in range(2))
        match draw(st.sampled_from(("delete", "double", "swap", "value", "item"))):
            case "delete":
                del lines[i : i + 1]
            case "double":
                lines[i:i] = lines[i : i + 1]
            case "swap" if lines:
                lines[i], lines[j] = lines[j], lines[i]
            case "value" if lines:
                key, colon, _ = lines[i].partition(":")
                lines[i] = f"{key}{colon} {draw(st.sampled_from(JUNK))}"
            case _ if lines:
                words = lines[i].split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(JUNK))
                lines[i] = " ".join(words)
            case _:
                pass
    return parse, "\n".join(lines)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write to, again and again."""
    return tmp_path_factory.mktemp("damaged") / "f.yaml"


@pytest.mark.filterwarnings("ignore:.*found:nestmap.model.InputWarning")
@settings(deadline=None)
@given(case=damaged())
def test_damaged_files_are_read_or_refused(file: Path, case: tuple[Parse, str]) -> None:
    parse, text = case
    file.write_text(text)
    try:
        model = parse(file)
    except InputError as error:
        refusal = str(error)
    else:
        assert isinstance(model, Accelerator | MappingConstraints | Workload)
        refusal = f"{file}"
    assert refusal.startswith(str(file))


trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda t: st.lists(t) | st.dictionaries(st.text(), t),
)


@settings(deadline=None)
@given(
    parse=st.sampled_from((parse_accelerator, parse_mapping, parse_workload_yaml)),
    tree=st.lists(trees, min_size=1) | st.dictionaries(st.text(), trees),
)
def test_any_other_yaml_is_refused(file: Path, parse: Parse, tree: object) -> None:
    file.write_text(yaml.safe_dump(tree))
    with pytest.raises(InputError):
        parse(file)
