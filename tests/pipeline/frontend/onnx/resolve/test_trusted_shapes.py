"""Shapes that a model states, where others follow from its inputs: ``--trust-shapes``."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

from nestmap.model import InputError, InputWarning
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.cli.inputs import run
from tests.pipeline.frontend.onnx.build import FLOAT, model, node, weights


def without_an_attribute() -> onnx.ModelProto:
    """A gradient of a strided convolution whose ``output_padding`` got lost."""
    nodes = [
        node("ConvTranspose", "dy w", "dx", {"pads": (1,) * 4, "strides": (2, 2)}, name="dgrad"),
        node("Relu", "dx", "y", name="relu"),
    ]
    made = model(nodes, {"dy": (4, 64, 4, 4)}, [weights("w", 64, 32, 3, 3)])
    made.graph.value_info.append(helper.make_tensor_value_info("dx", FLOAT, [4, 32, 8, 8]))
    return made


def test_it_is_refused_and_the_error_names_the_option() -> None:
    with pytest.raises(InputError, match=r"\(--trust-shapes: the stated one counts\)$"):
        parse_onnx(without_an_attribute())


def test_the_stated_shape_counts() -> None:
    told = r"tensor 'dx': found the stated shape \[4, 32, 8, 8\]; expected \[4, 32, 7, 7\], which"
    with pytest.warns(InputWarning, match=told):
        found = parse_onnx(without_an_attribute(), trust_shapes=True)
    (relu,) = found.vector_nodes
    assert relu.outputs[0].sizes == (4, 32, 8, 8)
    padded = without_an_attribute()
    padded.graph.node[0].attribute.append(helper.make_attribute("output_padding", [1, 1]))
    assert [x.macs for x in found.layers] == [x.macs for x in parse_onnx(padded).layers]


def test_another_element_type_stays_an_error() -> None:
    made = without_an_attribute()
    made.graph.value_info[0].type.tensor_type.elem_type = onnx.TensorProto.INT8
    made.graph.value_info[0].type.tensor_type.ClearField("shape")
    with pytest.raises(InputError, match="the stated element type int8"):
        parse_onnx(made, trust_shapes=True)


def test_the_option_of_commands(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(without_an_attribute().SerializeToString())
    assert run("show", str(file)).code == 2
    assert run("show", str(file), "--trust-shapes").code == 0
    assert run("show", str(file), "--trust-shapes", "--strict").code == 2
    assert "--trust-shapes cannot be combined" in run("show", "bert-base", "--trust-shapes").err
