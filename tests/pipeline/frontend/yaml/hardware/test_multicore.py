"""Files of several cores: Stream's schema field by field, where core files are, what is bundled."""

from pathlib import Path
from typing import Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    Bus,
    ComputeCore,
    CoreAllocation,
    CoreMapping,
    Dataflow,
    Link,
    Loop,
    MultiCoreAccelerator,
    SpatialMapping,
    StorageCore,
    Unrolling,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.builders import (
    AttachedCore,
    ChannelSpec,
    OffChip,
    bus,
    mesh,
    point_to_point,
)
from nestmap.model.multicore.split_options import HintLoop
from nestmap.pipeline.frontend.bundled import accelerator_names, multicore_names, resolve_multicore
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE, GRADIENTS
from nestmap.pipeline.frontend.onnx.operators.record import Vector
from nestmap.pipeline.frontend.onnx.operators.rows import NORMALIZATIONS, REDUCTIONS
from nestmap.pipeline.frontend.read.accelerator import read_core_mapping, read_multicore
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.yaml.hardware.core import parse_core
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore

CORES: Final = """\
name: m
cores: {0: tpu_like.yaml, 1: tpu_like, 5: offchip.yaml}
offchip_core_id: 5
"""
"""Of bundled cores, with numbers that leave some out."""


def parsed(folder: Path, text: str) -> MultiCoreAccelerator:
    file = folder / "machine.yaml"
    file.write_text(text)
    return parse_multicore(file)


def test_links_and_buses_field_by_field(tmp_path: Path) -> None:
    model = parsed(
        tmp_path,
        CORES
        + """\
unit_energy_cost: 2
core_connectivity:
  - {cores: [0, 1], bandwidth: 32, energy_per_bit: 0.5}
  - {type: link, cores: [1, 5], bandwidth: 8, unit_energy_cost: 0}
  - {type: bus, cores: [0, 1, 5], bandwidth: unlimited, unit_energy_cost: 3}
""",
    )
    near = {"bandwidth": 32, "energy_per_bit": 0.5, "energy_per_cycle": 2.0}
    assert (model.name, model.offchip, model.shared) == ("m", 5, ())
    assert model.links == (
        Link.model_validate({"sender": 0, "receiver": 1} | near),
        Link.model_validate({"sender": 1, "receiver": 0} | near),
        Link(sender=1, receiver=5, bandwidth=8),
        Link(sender=5, receiver=1, bandwidth=8),
    )
    assert model.buses == (Bus(cores=(0, 1, 5), bandwidth=None, energy_per_cycle=3.0),)


def test_a_link_of_more_cores_joins_any_two_of_them(tmp_path: Path) -> None:
    model = parsed(tmp_path, f"{CORES}core_connectivity: [{{cores: [0, 1, 5], bandwidth: 4}}]\n")
    assert set(model.links) == set(ChannelSpec(bandwidth=4).links([(0, 1), (0, 5), (1, 5)]))


REPEATED: Final = """\
name: m
cores: {0: tpu_like.yaml, 1: simd.yaml, 5: offchip.yaml}
offchip_core_id: 5
copies: {0: 3, 1: 2}
core_memory_sharing: [[0]]
core_connectivity:
  - {cores: [0, 1], bandwidth: 8}
  - {type: bus, cores: [0, 1, 5], bandwidth: 4}
  - {type: mesh, cores: [0], columns: 2, bandwidth: 2}
"""
"""Cores 6 and 7 are copies of core 0, core 8 is one of core 1."""


def test_copies_are_equal_cores_with_equal_connections(tmp_path: Path) -> None:
    model = parsed(tmp_path, REPEATED)
    assert [core.id for core in model.cores] == [0, 1, 5, 6, 7, 8]
    assert [core.name for core in model.cores][3:] == ["tpu_like", "tpu_like", "simd"]
    for number, copy in ((0, 6), (0, 7), (1, 8)):
        assert copy_with(model.core(copy), {"id": number}) == model.core(number)
    pairs = [(x, y) for x in (0, 6, 7) for y in (1, 8)]
    near = ChannelSpec(bandwidth=2).links([(0, 6), (0, 7)])  # in rows of two
    assert model.links == (*ChannelSpec(bandwidth=8).links(pairs), *near)
    assert model.buses == (Bus(cores=(0, 6, 7, 1, 8, 5), bandwidth=4),)
    assert model.shared == ((0, 6, 7),)


def test_a_core_without_copies_stays_alone(tmp_path: Path) -> None:
    alone = parsed(tmp_path, REPEATED.replace("{0: 3, 1: 2}", "{0: 1}"))
    plain = REPEATED.replace("copies: {0: 3, 1: 2}\ncore_memory_sharing: [[0]]\n", "")
    plain = plain.replace("  - {type: mesh, cores: [0], columns: 2, bandwidth: 2}\n", "")
    assert alone == parsed(tmp_path, plain)


def test_a_mesh_links_neighbors_in_rows(tmp_path: Path) -> None:
    repeated = "copies: {0: 4}\ncore_connectivity:\n  - {type: bus, cores: [0, 1, 5], bandwidth: 4}"
    text = f"{CORES}{repeated}\n  - {{type: mesh, cores: [0, 1], columns: 2, bandwidth: 8}}\n"
    cores = [(0, 6), (0, 7), (6, 8), (7, 8), (7, 1)]  # rows 0 6, 7 8, 1
    assert set(parsed(tmp_path, text).links) == set(ChannelSpec(bandwidth=8).links(cores))


@given(st.integers(1, 9), st.integers(1, 5))
def test_a_mesh_of_copies_links_those_one_step_apart(count: int, columns: int) -> None:
    tpu, offchip = (yaml.safe_load(bundled_cores()[x].read_text()) for x in ("tpu_like", "offchip"))
    wires = {"bandwidth": 8}
    made = read_multicore(
        {
            "name": "m",
            "cores": {0: tpu, 1: offchip},
            "offchip_core_id": 1,
            "copies": {0: count},
            "core_connectivity": [
                {"type": "mesh", "cores": [0], "columns": columns, **wires},
                {"type": "bus", "cores": [0, 1], **wires},
            ],
        }
    )
    numbers = [0, *range(2, count + 1)]
    assert sorted(core.id for core in made.cores) == sorted([*numbers, 1])
    places = {number: divmod(n, columns) for n, number in enumerate(numbers)}
    near = {
        (x, y)
        for x, (row, column) in places.items()
        for y, other in places.items()
        if abs(row - other[0]) + abs(column - other[1]) == 1
    }
    assert {(x.sender, x.receiver) for x in made.links} == near
    assert len(made.links) == len(near)


def test_coordinates_are_column_and_row(tmp_path: Path) -> None:
    model = parsed(
        tmp_path,
        f"{CORES}core_coordinates: {{1: [2, 3]}}\n"
        "core_connectivity: [{type: bus, cores: [0, 1, 5], bandwidth: 4}]\n",
    )
    assert [core.coordinates for core in model.cores] == [None, (2, 3), None]


def test_items_of_shared_memory_with_a_core_in_common_are_one(tmp_path: Path) -> None:
    shared = """\
name: m
cores: {0: tpu_like, 1: tpu_like, 2: tpu_like, 3: simd, 4: simd, 5: offchip}
offchip_core_id: 5
core_memory_sharing: ["2, 1", [4, 3], "0,1"]
core_connectivity: [{type: bus, cores: [0, 3, 5], bandwidth: 4}]
"""
    assert parsed(tmp_path, shared).shared == ((0, 1, 2), (3, 4))


def test_the_form_of_2024(tmp_path: Path) -> None:
    text = """\
name: m
cores: {0: tpu_like.yaml, 1: tpu_like.yaml}
offchip_core: offchip.yaml
core_connectivity: ["0, 1", "0, 2", "1, 2"]
core_memory_sharing: []
bandwidth: 32
unit_energy_cost: 1.5
"""
    found = parsed(tmp_path, text)
    wires = ChannelSpec(bandwidth=32, energy_per_cycle=1.5)
    quad = read_multicore("quad_tpu")
    offchip = quad.core(6)
    assert isinstance(offchip, StorageCore)
    far = OffChip(
        core=copy_with(offchip, {"id": 2, "coordinates": None}), wires=wires, linked=(0, 1)
    )
    cores = [copy_with(x, {"coordinates": None}) for x in quad.compute_cores[:2]]
    expected = point_to_point("m", cores, [(0, 1)], wires, far)
    assert found.cores == expected.cores
    assert set(found.links) == set(expected.links)
    assert found.offchip == 2


def test_what_else_stands_in_files_of_2026(tmp_path: Path) -> None:
    """As in that of a TPU v7: measured rates, a node, memory shared by more than two."""
    text = """\
name: m
cores: {0: ./cores/mxu.yaml, 1: ./cores/mxu.yaml, 2: ./cores/vmem.yaml, 3: offchip.yaml}
offchip_core_id: 3
core_memory_sharing:
  - 2, 0, 1
bandwidth:
  3.dram.rw_port_1: {ceiling: 53600, contiguous: 53600, burst: 32}
technology_node: n3
core_connectivity:
  - {type: link, cores: [2, 3], bandwidth: 13400}
"""
    tree = yaml.safe_load(CORE)
    (tmp_path / "cores").mkdir()
    (tmp_path / "cores" / "mxu.yaml").write_text(CORE)
    store = {"name": "vmem", "type": "zigzag.memory", "memories": tree["memories"]}
    (tmp_path / "cores" / "vmem.yaml").write_text(yaml.safe_dump(store))
    model = parsed(tmp_path, text)
    assert model.shared == ((0, 1, 2),)
    assert set(model.links) == set(ChannelSpec(bandwidth=13400).links([(2, 3)]))
    assert [x.id for x in model.compute_cores] == [0, 1]


def test_a_core_off_the_chip_needs_no_type_in_the_form_of_2024(tmp_path: Path) -> None:
    text = bundled_cores()["offchip"].read_text()
    (tmp_path / "far.yaml").write_text(text.replace("type: offchip\n", ""))
    (tmp_path / "typed.yaml").write_text(text)
    form = """\
name: m
cores: {0: tpu_like}
offchip_core: FILE.yaml
core_connectivity: ["0, 1"]
bandwidth: 32
"""
    one, other = (parsed(tmp_path, form.replace("FILE", name)) for name in ("far", "typed"))
    assert one == other


def test_files_are_looked_for_beside_then_in_cores_then_among_the_bundled(tmp_path: Path) -> None:
    text = bundled_cores()["tpu_like"].read_text()

    def found(given: str = "tpu_like.yaml") -> str:
        ways = "core_connectivity: [{type: bus, cores: [0, 1, 5], bandwidth: 4}]\n"
        return parsed(tmp_path, CORES.replace("tpu_like.yaml", given) + ways).cores[0].name

    assert found() == "tpu_like"
    (tmp_path / "cores").mkdir()
    (tmp_path / "cores" / "tpu_like.yaml").write_text(text.replace("name: tpu_like", "name: in"))
    assert (found(), found("./cores/tpu_like.yaml")) == ("in", "in")
    (tmp_path / "tpu_like.yaml").write_text(text.replace("name: tpu_like", "name: beside"))
    assert (found(), found("cores/tpu_like.yaml")) == ("beside", "in")


def test_cores_in_place_are_as_in_files(tmp_path: Path) -> None:
    quad = resolve_multicore("quad_tpu")
    tree = yaml.safe_load(quad.read_text())
    for number, name in tree["cores"].items():
        text = bundled_cores()[Path(name).stem].read_text()
        tree["cores"][number] = yaml.safe_load(text)
    assert parsed(tmp_path, yaml.safe_dump(tree)) == read_multicore("quad_tpu")


CORE: Final = """\
name: c
type: zigzag.compute
operator_types: [Conv, com.microsoft.QLinearAdd]
dataflows: [{D1: ["K, 2"]}, {D1: ["C, 2"], D2: ["OX, 2", "FX, 2"]}]
operand_precision: {input: int8, accumulator: int32}
banks: {count: 4, width: 32}
operational_array: {dimensions: [D1, D2], sizes: [4, 4], unit_energy: 1}
memories:
  sram:
    size: 1024
    r_cost: 1
    w_cost: 1
    operands: [I1, O]
    served_dimensions: [D1, D2]
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 8
        allocation: ["I1, fh", "I1, tl", "O, fh", "O, tl", "O, fl", "O, th"]
"""


def test_cores_say_what_they_can_do(tmp_path: Path) -> None:
    file = tmp_path / "core.yaml"
    file.write_text(CORE)
    core = parse_core(file, 3)
    assert isinstance(core, ComputeCore)
    assert (core.id, core.name) == (3, "c")
    assert core.operators == ("Conv", "com.microsoft.QLinearAdd")
    assert core.runs("Conv")
    assert not core.runs("Gemm")

    def unrolled(name: str, *loops: tuple[str, int]) -> Unrolling:
        made = tuple(Loop(dimension=d, size=n) for d, n in loops)
        return Unrolling(array_dimension=name, loops=made)

    assert core.dataflows == (
        SpatialMapping(unrollings=(unrolled("D1", ("K", 2)),)),
        SpatialMapping(unrollings=(unrolled("D1", ("C", 2)), unrolled("D2", ("OX", 2), ("FX", 2)))),
    )


@pytest.mark.parametrize("kind", ["memory", "zigzag.memory", "offchip", "zigzag.offchip"])
def test_cores_that_store_need_no_array(tmp_path: Path, kind: str) -> None:
    tree = yaml.safe_load(CORE)
    for field in ("operator_types", "dataflows"):
        del tree[field]
    file = tmp_path / "core.yaml"
    tree["type"] = kind
    tree["operational_array"] = {"dimensions": ["D1"], "sizes": [0]}
    file.write_text(yaml.safe_dump(tree))
    with_array = parse_core(file)
    del tree["operational_array"]
    file.write_text(yaml.safe_dump(tree))
    assert parse_core(file) == with_array
    assert isinstance(with_array, StorageCore)
    assert [level.served_dimensions for level in with_array.memories] == [()]
    assert sorted(with_array.top_levels) == ["I1", "O"]


NAMES: Final = ("dual_shared", "mesh_4x4", "quad_hetero", "quad_tpu", "simba")


def test_what_is_bundled() -> None:
    assert multicore_names() == NAMES
    assert not set(NAMES) & set(accelerator_names())


@pytest.mark.parametrize("name", NAMES)
def test_bundled_accelerators_have_their_name_and_use_bundled_cores(name: str) -> None:
    model = read_multicore(name)
    assert model.name == name
    used = yaml.safe_load(resolve_multicore(name).read_text())["cores"].values()
    assert {Path(file).stem for file in used} <= set(bundled_cores())
    assert [core.name for core in model.cores] == [Path(file).stem for file in used]


def test_every_bundled_core_is_used() -> None:
    files = [yaml.safe_load(resolve_multicore(name).read_text()) for name in NAMES]
    used = {Path(file).stem for tree in files for file in tree["cores"].values()}
    assert used == set(bundled_cores())


def test_the_quads_run_convolutions_pooling_and_additions() -> None:
    for name in ("quad_tpu", "quad_hetero"):
        model = read_multicore(name)
        runs = {
            operator: [x.id for x in model.compute_cores if x.runs(operator)]
            for operator in ("Conv", "MaxPool", "Add")
        }
        assert runs == {"Conv": [0, 1, 2, 3], "MaxPool": [0, 1, 2, 3, 4], "Add": [0, 1, 2, 3, 5]}
    assert len({x.accelerator for x in read_multicore("quad_tpu").compute_cores[:4]}) == 1
    assert len({x.accelerator for x in read_multicore("quad_hetero").compute_cores[:4]}) == 3


def test_the_vector_core_runs_all_operators_of_elements_and_rows() -> None:
    core = next(x for x in read_multicore("quad_tpu").compute_cores if x.name == "simd")
    reductions = {name for name in REDUCTIONS if "Reduce" in name}
    groups = ELEMENTWISE, GRADIENTS, NORMALIZATIONS
    others = {
        name for group in groups for name, x in group.items() if isinstance(x.becomes, Vector)
    }
    assert {*others, *reductions, "LRN"} <= {*(core.operators or ())}


def test_the_mesh_is_what_the_builder_makes() -> None:
    model = read_multicore("mesh_4x4")
    offchip = model.core(18)
    assert isinstance(offchip, StorageCore)
    wires = ChannelSpec(bandwidth=128)
    grid = mesh(
        "mesh_4x4",
        model.compute_cores[:16],
        4,
        ChannelSpec(bandwidth=64),
        OffChip(core=offchip, wires=wires),
    )
    assert set(model.links) == set(grid.links)
    assert model.cores[:16] == grid.cores[:16]
    assert model.buses == bus("b", model.compute_cores, wires, offchip).buses


def test_the_quad_is_what_the_builder_makes() -> None:
    model = read_multicore("quad_tpu")
    offchip, near = model.core(6), ChannelSpec(bandwidth=32)
    assert isinstance(offchip, StorageCore)
    ring = [model.compute_cores[i] for i in (0, 1, 3, 2)]
    beside = [AttachedCore(core=x, wires=near) for x in model.compute_cores[4:]]
    made = mesh("q", ring, 2, near, OffChip(core=offchip, wires=ChannelSpec(bandwidth=128)), beside)
    assert set(made.links) == set(model.links)
    assert {x.id: x for x in made.cores} == {x.id: x for x in model.cores}


def test_the_dual_shares_one_memory() -> None:
    model = read_multicore("dual_shared")
    assert model.shared == ((0, 1),)
    tops = [{level.instance for level in x.top_levels.values()} for x in model.compute_cores]
    assert tops[0] == tops[1]
    assert len(tops[0]) == 1


def test_simba_is_six_by_six() -> None:
    model = read_multicore("simba")
    assert (len(model.compute_cores), len(model.links), model.buses) == (36, 2 * (60 + 6), ())


def test_models_are_taken_as_they_are() -> None:
    model = read_multicore("dual_shared")
    assert read_multicore(model) is model
    mapping = CoreMapping(entries=(CoreAllocation(cores=(1,)),))
    assert read_core_mapping(mapping) is mapping
    assert read_core_mapping(None) == CoreMapping()


MAPPING: Final = """\
- name: default
  spatial_mapping: {D1: ["K, 4"]}
  core_allocation: [0, 1]
  intra_core_tiling: ["oy, all"]
- name: Add
  core_allocation: 3
- name: conv1
  core_allocation: [2, 0, 2]
  core_allocation_is_fixed: true
  intra_core_tiling: []
  inter_core_tiling: ["K, 3", "OX, 2"]
- name: Gemm
  spatial_mapping: {D1: ["C, 4"]}
  core_allocation_is_fixed: false
"""


def test_core_allocations_field_by_field(tmp_path: Path) -> None:
    file = tmp_path / "mapping.yaml"
    file.write_text(MAPPING)
    rows = HintLoop(dimension="OY")
    parts = (HintLoop(dimension="K", tiles=3), HintLoop(dimension="OX", tiles=2))
    assert read_core_mapping(file) == CoreMapping(
        entries=(
            CoreAllocation(cores=(0, 1), intra=(rows,)),
            CoreAllocation(target="Add", cores=(3,)),
            CoreAllocation(target="conv1", cores=(2, 0, 2), fixed=True, inter=parts),
        )
    )


def test_so_are_dataflows(tmp_path: Path) -> None:
    file = tmp_path / "mapping.yaml"
    file.write_text(
        "- {name: default, dataflow: weight_stationary, core_allocation: 1}\n"
        "- {name: Gemm, dataflow: output_stationary}\n"
    )
    assert read_core_mapping(file) == CoreMapping(
        entries=(
            CoreAllocation(cores=(1,), dataflow=Dataflow.WEIGHT_STATIONARY),
            CoreAllocation(target="Gemm", dataflow=Dataflow.OUTPUT_STATIONARY),
        )
    )


def test_one_core_looks_at_none_of_it(tmp_path: Path) -> None:
    file = tmp_path / "mapping.yaml"
    file.write_text(MAPPING)
    with_cores = read_mapping(file, for_accelerator=None)
    kept = [line for line in MAPPING.splitlines() if "core_" not in line]
    file.write_text("\n".join(kept))
    without = read_mapping(file, for_accelerator=None)
    assert with_cores == without
    assert with_cores.content_hash == without.content_hash
    assert read_core_mapping(file) == CoreMapping()
