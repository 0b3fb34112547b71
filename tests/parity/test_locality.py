"""Data kept on chip beside the reference: the same plans, the same totals of whole networks.

The reference stops with an error where a network has several first or last layers, and where
the top memory is too small for a layer. It keeps data where it has no place where a memory per unit
holds inputs and outputs, and where a reader sees a tensor larger than its writer does (docs,
differences). None of that is drawn here.
"""

from importlib.resources import files
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import shape_inference
from zigzag.api import get_hardware_performance_zigzag
from zigzag.datatypes import LayerOperand
from zigzag.parser.onnx.onnx_model_parser import ONNXModelParser
from zigzag.stages.exploit_data_locality_stages import SearchInterLayerDataLocalityStage
from zigzag.stages.parser.workload_parser import WorkloadParserStage  # pyright: ignore[reportMissingTypeStubs]
from zigzag.stages.stage import Stage as ReferenceStage
from zigzag.workload.dnn_workload import DNNWorkload
from zigzag.workload.layer_node import LayerNode
from zigzag.workload.onnx_workload import ONNXWorkload

from nestmap.model import Accelerator, Counting, NetworkProblem, Objective
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stage_graph import each
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    SpatialMappingConversionStage,
    SumStage,
    WorkloadStage,
    minimal,
)
from nestmap.pipeline.stages.mapping.layers import RemoveUnusedMemoryStage, SearchUnusedMemoryStage
from tests.parity.networks import read_network
from tests.parity.reference_objects import reference_accelerator
from tests.pipeline.frontend.onnx.build import Attribute, model, node, weights
from tests.search.test_locality import ACTIVATIONS, EVERYTHING, machine, memory
from tests.sweeps import STRESS

INPUTS = Path(str(files("zigzag") / "inputs"))
NETWORKS = ("alexnet", "resnet18", "mobilenetv2")
FILES = (
    *(INPUTS / "workload" / f"{name}.onnx" for name in NETWORKS),
    Path(__file__).parents[1] / "golden" / "workloads" / "resnet18.yaml",
)
"""The YAML network has layers that add and pool; in the ONNX files, these are no layers."""
MACHINES = (
    ("tpu_like", "tpu_like"),
    ("edge_tpu_like", "edge_tpu_like"),
    ("tesla_npu_like", "tesla_npu_like"),
    ("meta_prototype", "meta_prototype_like"),
    ("ascend_like", "ascend_like"),
    ("generic_array_cacti", "default"),
)
LPF_LIMIT = 3


ReferenceWorkload = DNNWorkload | ONNXWorkload

Plan = dict[str, dict[str, str]]
"""The top memories by layer and memory operand."""


class FoundError(Exception):
    """The search has come to its end; its result is in the search itself."""


def found(list_of_callables: object, **kwargs: object) -> ReferenceStage:
    """Stands for the stages after the search."""
    raise FoundError(list_of_callables, kwargs)


def parsed(network: onnx.ModelProto | Path) -> ReferenceWorkload:
    """The network as the package reads it from an ONNX model, an ONNX file or a YAML file."""
    mapping = str(INPUTS / "mapping" / "default.yaml")
    if isinstance(network, onnx.ModelProto):
        return ONNXModelParser(network, mapping).run()
    if network.suffix == ".onnx":
        return ONNXModelParser(str(network), mapping).run()
    return WorkloadParserStage([found], workload=str(network), mapping=mapping).parse_workload()


def reference_plan(network: onnx.ModelProto | Path, accelerator: Accelerator) -> Plan:
    """The plan of the package's search; the level of the weights is one for all layers.

    A computed input next to another one comes from the top memory; the package takes it for
    weights (docs, differences).
    """
    workload = parsed(network)
    search = SearchInterLayerDataLocalityStage(
        [found], accelerator=reference_accelerator(accelerator), workload=workload
    )
    with pytest.raises(FoundError):
        list(search.run())
    names = [level.memory_instance.name for level in search.core_mem_level_list]
    layers = {x.id: x for x in workload.node_list if isinstance(x, LayerNode)}
    return {
        layers[i].name: {x.name: names[level] for x, level in levels.items()}
        | {"I2": names[search.mem_update_weight if has_weights(layers[i]) else -1]}
        for i, levels in search.mem_update_list.items()
    }


def has_weights(layer: LayerNode) -> bool:
    """Whether the package counts an operand as constant."""
    constant: list[LayerOperand] = layer.constant_operands
    return len(constant) > 0


def plan(network: onnx.ModelProto | Path, accelerator: Accelerator) -> Plan:
    """Our plan."""
    is_file = isinstance(network, Path)
    workload = read_workload(network) if is_file else parse_onnx(network)
    problem = NetworkProblem(workload=workload, accelerator=accelerator)
    planned = SearchUnusedMemoryStage()(problem)
    return {
        layer.layer: {top.operand: top.memory for top in layer.top_levels}
        for layer in planned.top_levels
    }


@pytest.mark.parametrize("accelerator", [name for name, _ in MACHINES] + ["eyeriss_like"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_bundled_networks_have_the_same_plans(path: Path, accelerator: str) -> None:
    on = read_accelerator(INPUTS / "hardware" / f"{accelerator}.yaml")
    assert plan(path, on) == reference_plan(path, on)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Convolutions in a row and in blocks that add their input to their output."""
    nodes: list[onnx.NodeProto] = []
    stored: list[onnx.TensorProto] = []

    def convolution(reads: str, before: int, after: int, stride: int) -> str:
        name, kernel = f"t{len(nodes)}", draw(st.sampled_from((1, 3)))
        bits = draw(st.sampled_from((8, 16, 24)))
        attributes: dict[str, Attribute] = {
            "kernel_shape": [kernel, kernel],
            "strides": [stride, stride],
            "pads": [kernel // 2] * 4,
            "output_size": bits,
        }
        nodes.append(node("Conv", f"{reads} w{name}", name, attributes, name=f"conv_{name}"))
        stored.append(weights(f"w{name}", after, before, kernel, kernel))
        return name

    def cheap(operator: str, reads: str) -> str:
        name = f"t{len(nodes)}"
        nodes.append(node(operator, reads, name, name=f"cheap_{name}"))
        return name

    channels = draw(st.sampled_from((2, 4, 8)))
    last = convolution("x", 4, channels, 1)
    for block in draw(st.lists(st.sampled_from(("plain", "relu", "residual", "wide")), max_size=4)):
        after = draw(st.sampled_from((2, 4, 8, 16))) if block in ("plain", "wide") else channels
        stride = draw(st.sampled_from((1, 2))) if block in ("plain", "wide") else 1
        if block == "relu":
            last = cheap("Relu", last)
            continue
        branch = convolution(last, channels, after, stride)
        if block == "plain":
            last, channels = branch, after
            continue
        side = last if block == "residual" else convolution(last, channels, after, stride)
        last, channels = cheap("Add", f"{branch} {side}"), after
    convolution(last, channels, 4, 1)
    made = model(nodes, {"x": (1, 4, 8, 8)}, stored)
    return shape_inference.infer_shapes(made)


@st.composite
def machines(draw: st.DrawFn) -> Accelerator:
    """Up to four memories of any operands below a large one."""
    holders = ACTIVATIONS, ACTIVATIONS, EVERYTHING, EVERYTHING, ("I2",), ("I1", "I2"), ("O", "I2")
    chosen = draw(st.lists(st.sampled_from(holders), max_size=4))
    sizes = [draw(st.integers(6, 17).flatmap(_around)) for _ in chosen]
    return machine(
        *(
            memory(f"m{i}", size, operands)
            for i, (size, operands) in enumerate(zip(sizes, chosen, strict=True))
        )
    )


def _around(exponent: int) -> st.SearchStrategy[int]:
    return st.integers(2**exponent, 2 ** (exponent + 1))


@given(networks(), machines())
def test_random_networks_have_the_same_plans(
    network: onnx.ModelProto, accelerator: Accelerator
) -> None:
    assert plan(network, accelerator) == reference_plan(network, accelerator)


def totals(network: onnx.ModelProto, accelerator: str, mapping: str) -> tuple[float, float]:
    """Our energy and latency of a network whose data is kept on chip."""
    machine = read_accelerator(INPUTS / "hardware" / f"{accelerator}.yaml")
    problem = NetworkProblem(
        workload=parse_onnx(network),
        accelerator=machine.counted(Counting.REFERENCE),
        constraints=read_mapping(INPUTS / "mapping" / f"{mapping}.yaml", for_accelerator=None),
    )
    total = (SearchUnusedMemoryStage() >> WorkloadStage() >> each(LAYER) >> SumStage())(problem)
    return total.energy, total.latency


LAYER = (
    RemoveUnusedMemoryStage()
    >> SpatialMappingConversionStage()
    >> LomaStage(lpf_limit=LPF_LIMIT)
    >> each(CostModelStage())
    >> minimal(Objective.LATENCY)
)


def reference_totals(
    network: onnx.ModelProto, accelerator: str, mapping: str, folder: Path
) -> tuple[float, float]:
    """The package's energy and latency with ``exploit_data_locality``."""
    energy, latency, *_ = get_hardware_performance_zigzag(
        network,
        str(INPUTS / "hardware" / f"{accelerator}.yaml"),
        str(INPUTS / "mapping" / f"{mapping}.yaml"),
        opt="latency",
        lpf_limit=LPF_LIMIT,
        nb_spatial_mappings_generated=1,
        exploit_data_locality=True,
        dump_folder=str(folder),
        loma_show_progress_bar=False,
    )
    return energy, latency


def residual_network() -> onnx.ModelProto:
    """Convolutions in a row and beside a bypass, large enough to keep real machines busy."""
    names = ("a", "b", "c", "d")
    reads = ("x", "a", "b", "s")
    nodes = [
        node("Conv", f"{r} w{n}", n, {"kernel_shape": [1, 1]}, name=n)
        for r, n in zip(reads, names, strict=True)
    ]
    nodes.insert(3, node("Add", "b c", "s", name="s"))
    stored = [weights(f"w{n}", 64, 64, 1, 1) for n in names]
    return shape_inference.infer_shapes(model(nodes, {"x": (1, 64, 32, 32)}, stored))


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(("accelerator", "mapping"), MACHINES)
def test_a_network_costs_the_same(accelerator: str, mapping: str, tmp_path: Path) -> None:
    network = residual_network()
    expected = reference_totals(network, accelerator, mapping, tmp_path)
    assert totals(network, accelerator, mapping) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(("accelerator", "mapping"), MACHINES if STRESS else MACHINES[:1])
@pytest.mark.parametrize("network", NETWORKS if STRESS else ["mobilenetv2"])
def test_bundled_networks_cost_the_same(
    network: str, accelerator: str, mapping: str, tmp_path: Path
) -> None:
    expected = reference_totals(read_network(network), accelerator, mapping, tmp_path)
    found = totals(read_network(network), accelerator, mapping)
    assert found == pytest.approx(expected, rel=1e-9, abs=0)
