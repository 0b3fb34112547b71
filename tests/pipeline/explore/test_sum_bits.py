"""Partial sums of quantized networks: as wide as the machine's, unless they are stated."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nestmap import explore
from nestmap.model import InfeasibleError, InputError, OutputOperand, Workload, with_sum_bits
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.render.text.workload import operator_notes


def quantized(sums: int | None = None) -> onnx.ModelProto:
    """A QLinearConv of 16 to 32 channels, 28 x 28; ``sums``: the bits of a sum, if stated."""
    reads = ["x", "s", "z", "w", "s", "zw", "s", "z"]
    conv = helper.make_node("QLinearConv", reads, ["y"], pads=[1] * 4)
    if sums is not None:
        conv.attribute.append(helper.make_attribute("output_size", sums))
    graph = helper.make_graph(
        [conv],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 16, 28, 28])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 32, 28, 28])],
        [
            numpy_helper.from_array(np.array(0.1, np.float32), "s"),
            numpy_helper.from_array(np.array(128, np.uint8), "z"),
            numpy_helper.from_array(np.array(0, np.int8), "zw"),
            numpy_helper.from_array(np.ones((32, 16, 3, 3), np.int8), "w"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def output_of(workload: Workload) -> OutputOperand:
    (layer,) = workload.layers
    return layer.output


@pytest.mark.parametrize("machine", accelerator_names())
def test_a_quantized_network_has_a_mapping_on_every_bundled_machine(machine: str) -> None:
    network = read_network(quantized(), machine)
    room = network.accelerator.levels_of("O")[0].instance.size
    assert output_of(network.workload).partial_precision == min(32, room)
    assert explore(quantized(), machine, search="loma", lpf_limit=3).energy > 0
    (note,) = operator_notes(network.workload) or [""]
    assert (f"Partial sums have {room} bit" in note) == (room < 32)


def test_stated_sums_stay_as_they_are() -> None:
    stated = read_network(quantized(24), "tpu_like").workload
    assert output_of(stated).partial_precision == 24
    assert not operator_notes(stated)
    asked = with_sum_bits(parse_onnx(quantized()), 20)
    assert output_of(read_network(asked, "tpu_like").workload).partial_precision == 20
    with pytest.raises(
        InfeasibleError, match=r"needs at least 20 bit \(sums of 20 bit: --sum-bits"
    ):
        explore(asked, "tpu_like", search="loma", lpf_limit=3)


def test_sums_are_never_narrower_than_outputs() -> None:
    assert output_of(with_sum_bits(parse_onnx(quantized()), 4)).partial_precision == 8
    with pytest.raises(InputError, match="sum_bits: found 0"):
        with_sum_bits(parse_onnx(quantized()), 0)
