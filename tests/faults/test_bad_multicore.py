"""Every wrong line about several cores is named, with what stands there and what would be right."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.frontend.yaml.hardware.core import parse_core
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping
from tests.docs_pages.variants import value
from tests.faults.located import Fault, Parse, check_located
from tests.sweeps import some_of

MACHINE: Final = """\
name: machine
cores:
  0: tpu_like.yaml
  1: tpu_like.yaml
  2: pooling.yaml
  3: offchip.yaml
offchip_core_id: 3
unit_energy_cost: 0.5
core_coordinates:
  0: [0, 0]
core_memory_sharing:
  - 0, 1
core_connectivity:
  - {type: link, cores: [0, 2], bandwidth: 32}
  - type: link
    cores: [1, 3]
    bandwidth: 64
    unit_energy_cost: 1
    energy_per_bit: 2
"""

LINK: Final = "14: core_connectivity[0]"
FAULTS: Final = (
    Fault("name: machine\n", "", "1", "no name", "the field name"),
    Fault(MACHINE, "- a\n", "1", "a list", "the fields name, cores"),
    Fault("unit_energy", "unit_energies", "8: unit_energies_cost", "unknown field", "unit_energy_"),
    Fault("offchip_core_id: 3\n", "", "1", "no offchip_core_id", "the field offchip_core_id"),
    Fault("_id: 3", "_id: 5", "7: offchip_core_id", "5", "one of 0, 1, 2, 3"),
    Fault("_id: 3", "_id: dram", "7: offchip_core_id", "'dram'", "the number of a core"),
    Fault("_id: 3", "_id: 2", "7: offchip_core_id", "core 2, which computes", "of type offchip: o"),
    Fault("  1: tpu", "  0: tpu", "4: cores", "a second 0", "each number once"),
    Fault("  1: tpu", "  one: tpu", "4: cores", "'one'", "values by number"),
    Fault("  1: tpu", "  -1: tpu", "4: cores", "-1", "by number"),
    Fault("1: tpu_like.yaml", "1: tpu_lik.yaml", "4: cores.1", "'tpu_lik.yaml', wh", "tpu_like (o"),
    Fault("1: tpu_like.yaml", "1: 7", "4: cores.1", "7", "the file of a core, or the core itself"),
    Fault("1: tpu_like.yaml", "1: {}", "4: cores.1", "no name", "the field name"),
    Fault("1: tpu_like.yaml", "1: {type: gpu}", "4: cores.1.type", "'gpu'", "one of compute"),
    Fault("cost: 0.5", "cost: -1", "8: unit_energy_cost", "-1", "an energy in pJ, not negative"),
    Fault("0: [0, 0]", "4: [0, 0]", "10: core_coordinates.4", "core 4", "one of 0, 1, 2, 3"),
    Fault("[0, 0]", "[0, 0, 1]", "10: core_coordinates.0", "a list of 3", "column and row"),
    Fault("- 0, 1", "- 0, 9", "12: core_memory_sharing[0]", "core 9", "one of 0, 1, 2, 3"),
    Fault("- 0, 1", "- 0", "12: core_memory_sharing[0]", "0", "two or more different"),
    Fault("- 0, 1", "- 0, 0", "12: core_memory_sharing[0]", "cores 0, 0", "two or more different"),
    Fault("- 0, 1", "- 0 1", "12: core_memory_sharing[0]", "'0 1'", "such as [0, 1]"),
    Fault(
        "- 0, 1",
        "- [0, 3]",
        "12: core_memory_sharing[0]",
        "core 3, which is off",
        "on-chip cores only",
    ),
    Fault(
        "- 0, 1", "- 0, 2", "12: core_memory_sharing[0]", "core 2 has sram_128KB", "the same one"
    ),
    Fault("{type: link", "{type: ring", f"{LINK}.type", "'ring'", "one of link, bus"),
    Fault("[0, 2]", "[0, 9]", f"{LINK}.cores[1]", "core 9", "an existing core: one of 0, 1"),
    Fault("[0, 2]", "[0]", f"{LINK}.cores", "cores 0", "two or more different cores"),
    Fault("[0, 2]", "[2, 2]", f"{LINK}.cores", "cores 2, 2", "two or more different cores"),
    Fault("[0, 2]", "[0, x]", f"{LINK}.cores[1]", "'x'", "two or more different cores"),
    Fault("[0, 2]", "[3, 1]", "16: core_connectivity[1].cores", "a second link 1 -> 3", "at most"),
    Fault("bandwidth: 32", "bandwidth: 0", f"{LINK}.bandwidth", "0", "a positive number of bit"),
    Fault("bandwidth: 32", "bandwidth: -8", f"{LINK}.bandwidth", "-8", "a positive number of bit"),
    Fault(
        "bandwidth: 32", "bandwidth: 1.5", f"{LINK}.bandwidth", "1.5", "a positive number of bit"
    ),
    Fault(", bandwidth: 32", "", LINK, "no bandwidth", "the field bandwidth"),
    Fault(
        "bandwidth: 32", "bandwidth: 32, hub: 0", f"{LINK}.hub", "a hub", "only a bus may have one"
    ),
    Fault(
        "{type: link, cores: [0, 2], bandwidth: 32}",
        "{type: bus, cores: [0, 2], bandwidth: 32, hub: 1}",
        f"{LINK}.hub",
        "1",
        "one of 0, 2",
    ),
    Fault(
        "bandwidth: 32", "bandwidth: 32, columns: 2", f"{LINK}.columns", "columns", "only a mesh"
    ),
    Fault("{type: link", "{type: mesh", LINK, "no columns", "the field columns, in a mesh"),
    Fault("type: link,", "type: mesh, columns: 0,", f"{LINK}.columns", "0", "at least 1"),
    Fault("machine\n", "machine\ncopies: {0: 0}\n", "2: copies.0", "0", "1 to 1024"),
    Fault("machine\n", "machine\ncopies: {3: 2}\n", "2: copies.3", "core 3", "one of 0, 1, 2"),
    Fault("machine\n", "machine\ncopies: {9: 2}\n", "2: copies.9", "core 9", "on the chip"),
    Fault("bandwidth: 32", "bandwith: 32", f"{LINK}.bandwith", "unknown field", "bandwidth (one"),
    Fault("per_bit: 2", "per_bit: .nan", "19: core_connectivity[1].energy_per_bit", ".nan", "pJ"),
    Fault(
        "[0, 2]", "[0, 1]", "13: core_connectivity", "no path from core 3 to core 2", "links, a b"
    ),
    Fault("  - 0, 1\n", "  []\n", "13: core_connectivity", "no path from core 3 to core 0", "link"),
    Fault(MACHINE[MACHINE.index("core_conn") :], "", "1", "no core_connectivity", "the field core"),
)

OLD: Final = """\
name: old
cores:
  0: tpu_like.yaml
offchip_core: offchip.yaml
core_connectivity: ["0, 1"]
bandwidth: 32
"""
OLD_FAULTS: Final = (
    Fault("bandwidth: 32\n", "", "1", "no bandwidth", "the field bandwidth"),
    Fault("bandwidth: 32", "bandwidth: -4", "6: bandwidth", "-4", "a positive number"),
    Fault("offchip.yaml", "simd.yaml", "4: offchip_core", "a core that computes", "a storage core"),
    Fault("offchip.yaml", "off.yaml", "4: offchip_core", "'off.yaml'", "offchip (one of"),
    Fault('"0, 1"', '"0, 2"', "5: core_connectivity[0]", "core 2", "one of 0, 1"),
    Fault('"0, 1"', '"0, 1", "1, 0"', "5: core_connectivity[1]", "a second link 1 -> 0", "at most"),
    Fault('"0, 1"', "", "5: core_connectivity", "no path from core 1 to core 0", "links, a bus"),
    Fault("bandwidth", "offchip_core_id", "6: offchip_core_id", "unknown field", "offchip_core ("),
)

CORE: Final = """\
name: c
type: compute
operator_types: [Conv, Gemm]
dataflows: {D1: ["K, 4"], D2: ["C, 4"]}
operational_array: {dimensions: [D1, D2], sizes: [4, 4], unit_energy: 1}
memories:
  sram:
    size: 1024
    r_cost: 1
    w_cost: 1
    operands: [O]
    served_dimensions: [D1, D2]
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 8
        allocation: ["O, fh", "O, tl", "O, fl", "O, th"]
"""
STORING: Final = CORE.replace("type: compute\noperator_types: [Conv, Gemm]\n", "type: memory\n")
STORE: Final = STORING.replace('dataflows: {D1: ["K, 4"], D2: ["C, 4"]}\n', "")
CORE_FAULTS: Final = (
    Fault("type: compute", "type: aie2.compute", "2: type", "'aie2.compute'", "compute (one of"),
    Fault("type: compute", "type: 3", "2: type", "3", "one of compute, zigzag.compute, memory"),
    Fault("Gemm]", "Conv]", "3: operator_types[1]", "a second Conv", "each operator type once"),
    Fault("[Conv, Gemm]", "[]", "3: operator_types", "an empty list", "a list of operator types"),
    Fault("[Conv, Gemm]", "[5]", "3: operator_types[0]", "5", "an operator type such as Conv"),
    Fault("K, 4", "K, 8", "4: dataflows", "unrolls 8 times over D1", "at most 4"),
    Fault("D2: [", "D3: [", "4: dataflows", "over D3", "array dimensions: D1, D2"),
    Fault("K, 4", "K 4", "4: dataflows.D1[0]", "'K 4'", "such as 'K, 32'"),
    Fault("sizes: [4, 4]", "sizes: [0, 0]", "5: operational_array.sizes[0]", "0", "positive"),
)
STORE_FAULTS: Final = (
    Fault("type: memory", "type: compute\nbank: 1", "3: bank", "unknown field 'bank'", "banks"),
    Fault(
        STORE[STORE.index("memories") :], "memories: {}", "4: memories", "no field", "one memory"
    ),
    Fault(
        "[D1, D2]\n    ports",
        "D1\n    ports",
        "10: memories.sram.served_dimensions",
        "'D1'",
        "a list",
    ),
    Fault(
        "[D1, D2]\n    ports", "[8]\n    ports", "10: memories.sram.served_dimensions[0]", "8", ""
    ),
)

MAPPING: Final = """\
- name: Conv
  core_allocation: [0, 1]
  core_allocation_is_fixed: true
  intra_core_tiling: ["OY, all"]
  inter_core_tiling: ["K, 4"]
- name: Add
  core_allocation: 3
- {name: Gemm, dataflow: weight_stationary}
"""
MAPPING_FAULTS: Final = (
    Fault("[0, 1]", "[]", "2: [0].core_allocation", "an empty list", "the number of a core"),
    Fault("[0, 1]", "[[0], [1]]", "2: [0].core_allocation[0]", "a list", "the number of a core"),
    Fault("[0, 1]", "[0, -1]", "2: [0].core_allocation[1]", "-1", "the number of a core"),
    Fault("[0, 1]", "all", "2: [0].core_allocation", "'all'", "the number of a core"),
    Fault("fixed: true", "fixed: 1", "3: [0].core_allocation_is_fixed", "1", "true or false"),
    Fault(
        "  core_allocation: [0, 1]\n",
        "",
        "2: [0].core_allocation_is_fixed",
        "true",
        "core_allocation in the same entry",
    ),
    Fault("[0, 1]\n", "[1, 1]\n#", "2: [0].core_allocation", "cores 1, 1 to choose", "each once"),
    Fault('"OY, all"', "OY", "4: [0].intra_core_tiling[0]", "'OY'", "a number of parts, or all"),
    Fault("OY, all", "OY all", "4: [0].intra_core_tiling[0]", "'OY all'", "such as 'OY, 4'"),
    Fault("OY, all", "OY, *", "4: [0].intra_core_tiling[0]", "'OY, *'", "cores of core_allocation"),
    Fault("K, 4", "K, 0", "5: [0].inter_core_tiling[0]", "'K, 0'", "a number of parts, or all"),
    Fault("K, 4", "K, 9999999999", "5: [0].inter_core_tiling[0]", "'K, 9", "at most 2147483647"),
    Fault("name: Add", "name: Conv", "6: [1]", "a second mapping for 'Conv'", "for each name"),
    Fault("weight_", "weights_", "8: [2].dataflow", "'weights_stat", "weight_stationary (one of"),
    Fault("core_allocation: 3", "core_alloc: 3", "7: [1].core_alloc", "unknown", "core_allocation"),
)

GOOD: Final[tuple[tuple[Parse, str, tuple[Fault, ...]], ...]] = (
    (parse_multicore, MACHINE, FAULTS),
    (parse_multicore, OLD, OLD_FAULTS),
    (parse_core, CORE, CORE_FAULTS),
    (parse_core, STORE, STORE_FAULTS),
    (parse_core_mapping, MAPPING, MAPPING_FAULTS),
)
CASES: Final = [(parse, text, fault) for parse, text, faults in GOOD for fault in faults]


@pytest.mark.parametrize(("parse", "text", "fault"), CASES, ids=[x.new[:40] for *_, x in CASES])
def test_faults_are_located(parse: Parse, text: str, fault: Fault, tmp_path: Path) -> None:
    check_located(parse, text, fault, tmp_path / "bad.yaml")


@pytest.mark.parametrize(("parse", "text"), [(parse, text) for parse, text, _ in GOOD])
def test_the_files_are_good_before_the_change(parse: Parse, text: str, tmp_path: Path) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(text)
    parse(file)


def test_faults_in_files_of_cores_are_located_there(tmp_path: Path) -> None:
    machine, core = tmp_path / "machine.yaml", tmp_path / "mine.yaml"
    machine.write_text(MACHINE.replace("2: pooling.yaml", "2: mine.yaml"))
    core.write_text(CORE.replace("type: compute", "type: none"))
    with pytest.raises(InputError) as raised:
        parse_multicore(machine)
    assert raised.value.where == f"{core}:2: type"


def test_shared_memories_that_differ_are_told(tmp_path: Path) -> None:
    for name, size in (("a", 1024), ("b", 2048)):
        (tmp_path / f"{name}.yaml").write_text(CORE.replace("size: 1024", f"size: {size}"))
    machine = tmp_path / "machine.yaml"
    machine.write_text(MACHINE.replace("0: tpu_like", "0: a").replace("1: tpu_like", "1: b"))
    with pytest.raises(InputError) as raised:
        parse_multicore(machine)
    assert raised.value.where == f"{machine}:12: core_memory_sharing[0]"
    assert "sram of core 1 is not that of core 0" in raised.value.found


def test_accelerators_of_one_core_are_told_apart() -> None:
    with pytest.raises(InputError, match="cores: found 'tpu_like', which has a single core"):
        read_multicore("tpu_like")
    with pytest.raises(InputError, match="quad_tpu"):
        read_multicore("quad_tpus")


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_multicore(tmp_path / "none.yaml")


VALUES: Final = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=4)),
        st.sampled_from(["tpu_like.yaml", "offchip.yaml", "0, 1", "link", "bus", "unlimited"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.integers(0, 3), st.text(max_size=3)), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=some_of(150), deadline=None)
@given(st.data())
def test_any_value_anywhere_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Never a traceback."""
    parse, text, _ = data.draw(st.sampled_from(GOOD))
    tree = value(text)
    entries = data.draw(st.sampled_from(tree if isinstance(tree, list) else [tree]))
    assert isinstance(entries, dict)
    entries[data.draw(st.sampled_from(list(entries)))] = value(yaml.safe_dump(data.draw(VALUES)))
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    with suppress(InputError):
        parse(file)
