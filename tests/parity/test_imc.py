"""Arrays that compute in memory beside the reference: every figure to a relative 1e-9.

``make stress`` (``NESTMAP_STRESS=1``) takes more mappings, and the bundled networks.
"""

from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from zigzag.api import get_hardware_performance_zigzag

import nestmap
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    Counting,
    Layer,
    MappingProblem,
    OperationalArray,
    Relevance,
    SpatialProblem,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.stages import SpatialMappingGeneratorStage
from tests.costmodel.imc.machines import convolution
from tests.costmodel.machines import mapped, ordered
from tests.counting import by_reference
from tests.in_memory import imc_machines
from tests.parity.networks import read_network
from tests.parity.reference import ReferenceCrashError, reference_mappings
from tests.parity.reference_imc import imc_differences, reference_imc_evaluation
from tests.parity.test_locality import residual_network
from tests.strategies import Case, layers, temporal_mappings, unrolled_problems
from tests.sweeps import STRESS

INPUTS = Path(str(files("zigzag") / "inputs"))
MACHINES = ("aimc", "dimc")
LAYERS = (
    ("alexnet", (0, 1, 4, 5)),
    ("resnet18", (0, 1, 7, 12, 20)),
    ("mobilenetv2", (1, 2)),  # depthwise and pointwise
)
EXAMPLES = 2000 if STRESS else 30


@cache
def network(name: str) -> Workload:
    return parse_onnx(INPUTS / "workload" / f"{name}.onnx")


def machine(name: str) -> Accelerator:
    machine = read_accelerator(INPUTS / "hardware" / f"{name}.yaml")
    return machine.counted(Counting.REFERENCE)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    ("of", "position"), [(of, position) for of, positions in LAYERS for position in positions]
)
def test_layers_of_real_networks_cost_the_same(of: str, position: int, name: str) -> None:
    layer = network(of).layers[position]
    mapping = read_mapping(INPUTS / "mapping" / "default_imc.yaml", for_accelerator=None)
    problem = MappingProblem(layer=layer, accelerator=machine(name), constraints=mapping.of(layer))
    compared = 0
    for spatial in SpatialMappingGeneratorStage(max_mappings=2, mixed=True)(problem):
        for temporal in islice(reference_mappings(spatial, lpf_limit=3), 0, 100, 25):
            reference = reference_imc_evaluation(spatial, temporal)
            assert imc_differences(evaluate(spatial, temporal), reference) == []
            compared += 1
    assert compared


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A layer whose weights are constant, as the package knows them, and both mappings.

    No diagonal mapping: there the package mixes up dimensions, or breaks down.
    """
    layer = draw(layers().filter(lambda layer: len(layer.inputs) == 2))
    # A tree over one row of weights of 1 or 2 bit has a negative delay in the package.
    machine = draw(imc_machines().filter(lambda x: is_tree(x.array)))
    problem = MappingProblem(layer=constant_weights(layer), accelerator=machine)
    spatial = draw(unrolled_problems(problem).filter(lambda spatial: not is_diagonal(spatial)))
    return Case(spatial, draw(temporal_mappings(spatial)))


def is_tree(array: OperationalArray) -> bool:
    assert array.imc is not None
    return array.imc_sizes.rows > 1 or array.imc.weight_precision > 2


def constant_weights(layer: Layer) -> Layer:
    inputs = tuple(copy_with(x, {"constant": x.name == "W"}) for x in layer.inputs)
    return copy_with(layer, {"inputs": inputs})


def is_diagonal(spatial: SpatialProblem) -> bool:
    layer, mapping = spatial.layer, spatial.spatial_mapping
    shared = [
        loop
        for loop in mapping.on("D1")
        if layer.relevance("W", loop.dimension) is Relevance.IRRELEVANT
    ]
    return bool(shared) and any(loop.size > 1 for loop in mapping.on("D2"))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(cases())
def test_random_mappings_cost_the_same(case: Case) -> None:
    try:
        reference = reference_imc_evaluation(case.spatial, case.temporal)
    except ReferenceCrashError:
        reject()
    assert imc_differences(evaluate(by_reference(case.spatial), case.temporal), reference) == []


@pytest.mark.parametrize(
    ("rows", "order"), [("FX 3 C 8", "FY 3 OY 4 K 4"), ("FX 3 FY 3", "C 8 OY 4 K 4")]
)
@pytest.mark.parametrize("name", MACHINES)
def test_diagonal_mappings_cost_the_same_where_the_package_keeps_the_order(
    name: str, rows: str, order: str
) -> None:
    layer = constant_weights(convolution())
    spatial = mapped(layer, machine(name), {"D1": "K 4 OX 4", "D2": rows})
    temporal = ordered(order, {"O": (1, 2, 3), "W": (1, 3), "I": (0, 2, 3)})
    reference = reference_imc_evaluation(spatial, temporal)
    assert imc_differences(evaluate(spatial, temporal), reference) == []


Totals = tuple[object, ...]
"""Energy, latency, clock period and area."""


def reference_totals(of: onnx.ModelProto, name: str, folder: Path) -> Totals:
    """The package's, with data kept on chip."""
    *figures, _ = get_hardware_performance_zigzag(
        of,
        str(INPUTS / "hardware" / f"{name}.yaml"),
        str(INPUTS / "mapping" / "default_imc.yaml"),
        opt="latency",
        lpf_limit=3,
        nb_spatial_mappings_generated=1,
        in_memory_compute=True,
        dump_folder=str(folder),
        loma_show_progress_bar=False,
    )
    return tuple(figures)


def totals(of: onnx.ModelProto, name: str) -> Totals:
    """Ours."""
    found = nestmap.explore(
        of,
        INPUTS / "hardware" / f"{name}.yaml",
        INPUTS / "mapping" / "default_imc.yaml",
        search="loma",
        objective="latency",
        lpf_limit=3,
        spatial_mappings=1,
        mixed=True,
        keep_on_chip=True,
        reference=True,
    )
    first = found.layers[0].cme
    return found.energy, found.latency, first.clock_period, first.area


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("name", MACHINES)
def test_a_network_costs_the_same(name: str, tmp_path: Path) -> None:
    expected = reference_totals(residual_network(), name, tmp_path)
    assert totals(residual_network(), name) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("of", [of for of, _ in LAYERS] if STRESS else ["mobilenetv2"])
def test_bundled_networks_cost_the_same(of: str, name: str, tmp_path: Path) -> None:
    expected = reference_totals(read_network(of), name, tmp_path)
    assert totals(read_network(of), name) == pytest.approx(expected, rel=1e-9, abs=0)
