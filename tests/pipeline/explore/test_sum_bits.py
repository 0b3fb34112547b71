"""Partial sums of quantized networks: as wide as the machine's, unless they are stated."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nestmap import explore
from nestmap.model import InfeasibleError, InputError, OutputOperand, Workload, with_sum_bits
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.multicore.api import read_stream
from nestmap.pipeline.render.text.workload import operator_notes
from nestmap.pipeline.sweep.space.checked_space import check_space


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


def integers(operator: str) -> onnx.ModelProto:
    """An integer product whose outputs are its sums, as in networks that are quantized as they run.

    A Cast and a product with scales follow in these.
    """
    is_conv = operator == "ConvInteger"
    image, weight = ([1, 16, 8, 8], (32, 16, 3, 3)) if is_conv else ([4, 64], (64, 32))
    graph = helper.make_graph(
        [
            helper.make_node(operator, ["x", "w"], ["sums"]),
            helper.make_node("Cast", ["sums"], ["y"], to=TensorProto.FLOAT),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, image)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.ones(weight, np.int8), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("operator", ["MatMulInteger", "ConvInteger"])
@pytest.mark.parametrize("machine", accelerator_names())
def test_sums_that_are_outputs_have_the_bits_of_the_machine(machine: str, operator: str) -> None:
    network = read_network(integers(operator), machine)
    room = network.accelerator.levels_of("O")[0].instance.size
    output = output_of(network.workload)
    assert (output.precision, output.partial_precision) == (min(32, room), min(32, room))
    assert explore(integers(operator), machine, search="loma", lpf_limit=3).energy > 0


def test_stated_bits_of_sums_are_those_of_such_outputs() -> None:
    network = parse_onnx(integers("MatMulInteger"))
    for bits, kept in ((20, 20), (48, 32)):
        output = output_of(with_sum_bits(network, bits))
        assert (output.precision, output.partial_precision) == (kept, bits)


def test_sums_on_several_cores_are_those_of_the_narrowest() -> None:
    wide = read_multicore("quad_hetero")
    core, *others = wide.cores
    assert isinstance(core, ComputeCore)
    narrow = copy_with(core, {"accelerator": read_accelerator("tpu_like")})
    machine = copy_with(wide, {"cores": (narrow, *others)})
    assert output_of(read_stream(quantized(), wide).workload).partial_precision == 32
    assert output_of(read_stream(quantized(), machine).workload).partial_precision == 16


def test_each_design_of_a_sweep_has_its_own_sums(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(quantized().SerializeToString())
    space = tmp_path / "space.yaml"
    space.write_text(
        f"name: sums\naccelerator: tpu_like\nnetworks: [{file}]\n"
        "parameters: {bits: [16, 24]}\nset: {memories.rf_2B.size: bits}\n"
    )
    checked = check_space(space)
    widths = list[int]()
    for number in range(2):
        design = checked.settings.space.design(number)
        (problem,) = checked.problems(design, checked.accelerator(design))
        widths.append(output_of(problem.workload).partial_precision)
    assert widths == [16, 24]


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
