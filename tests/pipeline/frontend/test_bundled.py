"""Bundled examples: found by name, equal to the machines they stand for, and legal."""

import subprocess
import sys
from pathlib import Path

import pytest

from nestmap.model import (
    InputError,
    MappingConstraints,
    MappingProblem,
    SpatialProblem,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend import bundled as presets
from nestmap.pipeline.frontend.networks import network_names
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from tests.pipeline.frontend.yaml.zigzag_files import zigzag_inputs

ZIGZAGS = (
    "aimc",
    "ascend_like",
    "dimc",
    "edge_tpu_like",
    "eyeriss_like",
    "meta_prototype",
    "tesla_npu_like",
    "tpu_like",
)
NAMES = tuple(sorted((*ZIGZAGS, "edge_22nm")))
IMC = ("aimc", "dimc")

LARGE = layer_from_equation(
    "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
    {"B": 1, "G": 64, "K": 64, "C": 64, "OY": 56, "OX": 56, "FY": 3, "FX": 3},
    name="large",
    relations=("ix=ox+fx", "iy=oy+fy"),
)
"""A layer that is large in all dimensions, so that any unrolling fits it."""


def test_every_machine_has_an_accelerator_and_a_mapping() -> None:
    assert presets.accelerator_names() == NAMES
    assert presets.mapping_names() == tuple(sorted((*NAMES, "free")))


@pytest.mark.parametrize("name", ZIGZAGS)
def test_accelerators_are_those_of_zigzag(name: str) -> None:
    ours = parse_accelerator(presets.resolve_accelerator(name))
    (reference,) = (f for f in zigzag_inputs("hardware") if f.stem == name)
    assert ours.name == name
    unsaid: dict[str, object] = {
        "name": name,
        "area_unit": ours.area_unit,
    }  # what its files do not say
    assert ours == copy_with(parse_accelerator(reference), unsaid)


@pytest.mark.parametrize("name", [x for x in ZIGZAGS if x not in (*IMC, "eyeriss_like")])
def test_mappings_are_those_of_zigzag(name: str) -> None:
    ours = parse_mapping(presets.resolve_mapping(name))
    (reference,) = (f for f in zigzag_inputs("mapping") if f.stem in (name, f"{name}_like"))
    entries = parse_mapping(reference).entries
    # its tpu_like file has an entry for one layer of one network, which is no part of the machine
    general = tuple(entry for entry in entries if not entry.target.startswith("example_"))
    assert ours == MappingConstraints(entries=general)


@pytest.mark.parametrize("name", IMC)
def test_hints_of_imc_arrays_are_those_of_zigzag(name: str) -> None:
    (ours,) = parse_mapping(presets.resolve_mapping(name)).entries
    (reference,) = (f for f in zigzag_inputs("mapping") if f.stem == "default_imc")
    general, addition = parse_mapping(reference).entries
    assert ours == general
    assert addition.target == "Add"  # which both skip


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IMC])
def test_mappings_are_legal_for_their_machines(name: str) -> None:
    accelerator = parse_accelerator(presets.resolve_accelerator(name))
    path = presets.default_mapping_for(name)
    assert path is not None
    for entry in parse_mapping(path).entries:
        assert entry.spatial_mapping is not None
        problem = MappingProblem(layer=LARGE, accelerator=accelerator, constraints=entry)
        SpatialProblem(problem=problem, spatial_mapping=entry.spatial_mapping)  # checks itself


def test_networks_of_the_onnx_package() -> None:
    names = presets.light_names()
    assert {"light:resnet50", "light:squeezenet", "light:alexnet"} <= set(names)
    for name in names:
        assert presets.resolve_workload(name).is_file()
    plain, prefixed = (
        presets.resolve_workload(f"light:{name}") for name in ("alexnet", "bvlc_alexnet")
    )
    assert plain == prefixed


def test_generated_networks_are_named_beside_them() -> None:
    names = presets.workload_names()
    assert names == (*presets.light_names(), *network_names())
    with pytest.raises(InputError, match=r"expected a file or bert-base \(one of light:"):
        presets.resolve_workload("bert_base")


def test_names_are_found_without_importing_onnx() -> None:
    code = (
        "import sys; from nestmap.pipeline.frontend.bundled import workload_names; "
        "assert workload_names(); assert 'onnx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("path", ["a.yaml", "b.YML", "net.onnx", "some/where", "here\\there"])
def test_paths_are_taken_as_they_are(path: str) -> None:
    for resolve in (presets.resolve_accelerator, presets.resolve_mapping, presets.resolve_workload):
        assert resolve(path) == Path(path)


def test_a_file_needs_no_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine").write_text("x")
    assert presets.resolve_accelerator("machine") == Path("machine")
    with pytest.raises(InputError):
        presets.resolve_accelerator("machina")


def test_unknown_names_list_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(InputError) as accelerator:
        presets.resolve_accelerator("tpu_lik")
    assert accelerator.value.where == "accelerator"
    assert accelerator.value.found == "'tpu_lik'"
    assert accelerator.value.expected == f"a file or tpu_like (one of {', '.join(NAMES)})"
    with pytest.raises(InputError, match="mapping: found 'zzz'; expected a file or one of aimc"):
        presets.resolve_mapping("zzz")
    with pytest.raises(InputError, match=r"workload: .* a file or light:resnet50 \(one of light:"):
        presets.resolve_workload("light:resnet51")
    for text in ("", "x" * 5000, "a\0b"):
        with pytest.raises(InputError):
            presets.resolve_workload(text)


def test_only_bundled_accelerators_have_a_default_mapping() -> None:
    assert presets.default_mapping_for("tpu_like") == presets.resolve_mapping("tpu_like")
    assert presets.default_mapping_for("some/tpu_like.yaml") is None
