"""The layers of ONNX networks against those that zigzag-dse builds of the same files.

Intended differences, each with a test here:

* ZigZag calls the height X and the width Y in kernels, strides, dilations and paddings, yet not in
  the sizes of tensors; we never swap them. Layers agree where height and width are alike.
* ZigZag counts the input of the network as constant; here only what is known beforehand is.
* ZigZag indexes the second input of a MatMul by batch axes only where a node produces it; here
  its own shape decides.
* ZigZag leaves out the padding of ``auto_pad``; here it is worked out (it costs nothing either
  way, since the length of the axis is given).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

import onnx
import pytest
import zigzag
from onnx import shape_inference
from zigzag.parser.onnx.onnx_model_parser import ONNXModelParser
from zigzag.workload.layer_node import LayerNode as ReferenceLayer

from nestmap.model import AffineIndex, InputOperand, Layer, OutputOperand
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, layer_of, model, node, one

INPUTS = Path(str(zigzag.__file__)).parent / "inputs"
NETWORKS = ("alexnet", "resnet18", "mobilenetv2")


@final
@dataclass(frozen=True)
class Facts:
    """What costs depend on, the same for both packages."""

    operator: str
    equation: str
    sizes: list[tuple[str, int]]
    axes: Mapping[str, tuple[str, int | None, tuple[int, int]]]
    precisions: dict[str, int]
    elements: dict[str, int]
    macs: int


def _reference_layers(source: Path | onnx.ModelProto) -> list[ReferenceLayer]:
    """The layers that ZigZag builds, in the order of the file."""
    mapping = str(INPUTS / "mapping" / "default.yaml")
    given = str(source) if isinstance(source, Path) else shape_inference.infer_shapes(source)
    nodes = ONNXModelParser(given, mapping).run().node_list
    layers = [found for found in nodes if isinstance(found, ReferenceLayer)]
    return sorted(layers, key=lambda layer: layer.id)


def _reference_facts(layer: ReferenceLayer) -> Facts:
    lengths = layer.pr_layer_dim_sizes
    relations = {str(x).partition(" ")[0]: str(x) for x in layer.dimension_relations}
    paddings = {str(dim): padding for dim, padding in layer.padding.data.items()}
    axes = {
        str(dim): (relations[str(dim)], int(size), paddings[str(dim)])
        for dim, size in ({} if lengths is None else lengths.data).items()
    }
    return Facts(
        operator=layer.type,
        equation=str(layer.equation),
        sizes=[(str(dim), int(size)) for dim, size in layer.layer_dim_sizes.data.items()],
        axes=axes,
        precisions={str(name): bits for name, bits in layer.operand_precision.data.items()},
        elements={str(name): int(count) for name, count in layer.operand_size_elem.items()},
        macs=int(layer.total_mac_count),
    )


def _facts(layer: Layer) -> Facts:
    output, *inputs = (_access(operand) for operand in layer.operands)
    indices = (index for operand in layer.operands for index in operand.indices)
    precisions = {operand.name: operand.precision for operand in layer.inputs}
    return Facts(
        operator=layer.operator,
        equation=f"{output} = {' * '.join(inputs)}",
        sizes=list(layer.sizes.items()),
        axes={str(x.name): (_relation(x), x.size, x.padding) for x in indices if len(x.terms) > 1},
        precisions=precisions
        | {"O_final": layer.output.precision, "O": layer.output.partial_precision},
        elements={operand.name: layer.elements(operand.name) for operand in layer.operands},
        macs=layer.macs,
    )


def _access(operand: InputOperand | OutputOperand) -> str:
    names = (index.name or index.dimensions[0] for index in operand.indices)
    return operand.name + "".join(f"[{name.lower()}]" for name in names)


def _relation(index: AffineIndex) -> str:
    terms = " + ".join(f"{term.coefficient}*{term.dimension}" for term in index.terms)
    return f"{index.name} = {terms}"


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    path = INPUTS / "workload" / f"{name}.onnx"
    ours, reference = parse_onnx(path).layers, _reference_layers(path)
    assert [_facts(layer) for layer in ours] == [_reference_facts(x) for x in reference]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_connected_alike(name: str) -> None:
    path = INPUTS / "workload" / f"{name}.onnx"
    workload, reference = parse_onnx(path), _reference_layers(path)
    position = {found.name: i for i, found in enumerate(workload.nodes)}
    for ours, theirs in zip(workload.layers, reference, strict=True):
        sources = {x.name: position[x.source] for x in ours.inputs if x.source is not None}
        assert {str(x): i for x, i in theirs.input_operand_source.items()} == sources
        constant = {operand.name for operand in ours.inputs if operand.constant}
        assert constant == {"W"}
        assert {str(x) for x in theirs.constant_operands} == constant | ({"I"} - sources.keys())


CONVOLUTIONS: dict[str, dict[str, Attribute]] = {
    "plain": {},
    "strides": {"strides": [2, 2]},
    "dilations": {"dilations": [2, 2]},
    "strides and dilations": {"strides": [2, 2], "dilations": [3, 3]},
    "strides beyond the kernel": {"strides": [5, 5]},
    "pads": {"pads": [1, 1, 2, 2]},
    "groups": {"group": 2},
    "depthwise": {"group": 8, "pads": [1, 1, 1, 1]},
    "weight_size": {"weight_size": 3},
    "act_size": {"act_size": 5},
    "output_size": {"output_size": 20},
    "all sizes": {"weight_size": 4, "act_size": 6, "output_size": 10},
}


@pytest.mark.parametrize("attributes", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
@pytest.mark.parametrize("image", [(14, 14), (12, 17)])
def test_convolutions(attributes: dict[str, Attribute], image: tuple[int, int]) -> None:
    group = attributes.get("group", 1)
    assert isinstance(group, int)
    source = one(
        "Conv",
        {"x": (2, 8, *image)},
        {"w": (16, 8 // group, 3, 3)},
        attributes | {"kernel_shape": [3, 3]},
    )
    (reference,) = _reference_layers(source)
    assert _facts(layer_of(source)) == _reference_facts(reference)


MATRICES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Attribute]]] = {
    "Gemm": ("Gemm", (4, 8), (8, 16), {}),
    "transA": ("Gemm", (8, 4), (8, 16), {"transA": 1}),
    "transB": ("Gemm", (4, 8), (16, 8), {"transB": 1}),
    "both": ("Gemm", (8, 4), (16, 8), {"transA": 1, "transB": 1}),
    "sizes": ("Gemm", (4, 8), (8, 16), {"weight_size": 4, "act_size": 6, "output_size": 10}),
    "act_size": ("MatMul", (4, 8), (8, 16), {"act_size": 16}),
    "MatMul": ("MatMul", (4, 8), (8, 16), {}),
    "batch": ("MatMul", (2, 4, 8), (8, 16), {}),
    "batch of one": ("MatMul", (1, 4, 8), (8, 16), {}),
    "heads": ("MatMul", (2, 3, 4, 8), (8, 16), {}),
}


@pytest.mark.parametrize(
    ("operator", "left", "right", "attributes"), MATRICES.values(), ids=MATRICES
)
def test_products(
    operator: str, left: tuple[int, ...], right: tuple[int, ...], attributes: dict[str, Attribute]
) -> None:
    source = one(operator, {"x": left}, {"w": right}, attributes)
    (reference,) = _reference_layers(source)
    assert _facts(layer_of(source)) == _reference_facts(reference)


STACKS = [((2, 4, 8), (2, 8, 16)), ((2, 3, 4, 8), (2, 3, 8, 16))]


@pytest.mark.parametrize(("left", "right"), STACKS)
def test_products_of_activations(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    makers = [node("Relu", "x", "q", name="q"), node("Relu", "z", "k", name="k")]
    source = model([*makers, node("MatMul", "q k", "y", name="n")], {"x": left, "z": right})
    (reference,) = _reference_layers(source)
    assert _facts(layer_of(source)) == _reference_facts(reference)


@pytest.mark.parametrize(("left", "right"), STACKS)
def test_a_stack_of_weights_is_indexed_by_its_batch_axes(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    source = one("MatMul", {"x": left}, {"w": right})
    (reference,) = _reference_layers(source)
    batch = left[0] if len(left) == 3 else left[0] * left[1]
    assert _facts(layer_of(source)).elements["W"] == batch * 8 * 16
    assert _reference_facts(reference).elements["W"] == 8 * 16


def test_height_and_width_are_not_swapped() -> None:
    attributes: dict[str, Attribute] = {
        "kernel_shape": [3, 5],
        "strides": [1, 2],
        "dilations": [2, 1],
        "pads": [1, 2, 3, 4],
    }
    source = one("Conv", {"x": (1, 8, 20, 20)}, {"w": (16, 8, 3, 5)}, attributes)
    (reference,) = _reference_layers(source)
    ours, theirs = _facts(layer_of(source)), _reference_facts(reference)
    assert dict(ours.sizes) == dict(theirs.sizes) | {"FX": 5, "FY": 3}
    assert dict(theirs.sizes)["FX"] == 3
    assert ours.axes == {
        "IY": ("IY = 1*OY + 2*FY", 20, (1, 3)),
        "IX": ("IX = 2*OX + 1*FX", 20, (2, 4)),
    }
    assert theirs.axes == {
        "IX": ("IX = 1*OX + 2*FX", 20, (1, 3)),
        "IY": ("IY = 2*OY + 1*FY", 20, (2, 4)),
    }
    assert ours.macs == theirs.macs


def test_auto_pad_is_worked_out() -> None:
    attributes: dict[str, Attribute] = {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}
    source = one("Conv", {"x": (1, 8, 14, 14)}, {"w": (16, 8, 3, 3)}, attributes)
    (reference,) = _reference_layers(source)
    ours, theirs = _facts(layer_of(source)), _reference_facts(reference)
    assert {axis: padding for axis, (_, _, padding) in ours.axes.items()} == {
        "IX": (1, 1),
        "IY": (1, 1),
    }
    assert {axis: padding for axis, (_, _, padding) in theirs.axes.items()} == {
        "IX": (0, 0),
        "IY": (0, 0),
    }
    assert (ours.elements, ours.sizes) == (theirs.elements, theirs.sizes)
