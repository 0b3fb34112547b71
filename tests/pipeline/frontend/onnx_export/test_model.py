"""Split networks as ONNX files: valid, small, and the same network when they are read again."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import onnx
import pytest
from onnx import helper

from nestmap.model import InputError, LayerNode, Workload
from nestmap.model.base import copy_with
from nestmap.model.multicore.problem import StreamProblem, StreamSources
from nestmap.pipeline.frontend.bundled import resolve_multicore
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx_export.model import split_model, write_split_model
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.stages import LayerSplittingStage, StreamONNXModelParserStage
from nestmap.pipeline.stages.multicore.layer_splitting import SplitModel
from nestmap.search.multicore.split.layer_parts import Rewritten, split_layers
from nestmap.search.multicore.split.weight_split_plan import SplitAlong
from tests.pipeline.frontend.onnx.build import Attribute, integers, model, node, one, weights

IMAGE: Final = {"x": (1, 8, 6, 6)}
RESNET: Final = Path(__file__).parents[3] / "golden" / "stream" / "resnet18.onnx"


def halved(source: onnx.ModelProto, along: SplitAlong, parts: int = 2) -> Rewritten:
    def room(node: LayerNode, _: object) -> int:
        return node.layer.elements("W") * 8 // parts

    return split_layers(parse_onnx(source), room, along)


def check(made: onnx.ModelProto) -> None:
    """Whether ONNX takes it for a valid model; the checker is not fully typed."""
    import_module("onnx.checker").check_model(made)


def written(source: onnx.ModelProto, split: Rewritten) -> onnx.ModelProto:
    """The split model, after it was checked."""
    copy = onnx.shape_inference.infer_shapes(source)  # a valid one says the shapes of its outputs
    split_model(copy, split.splits, "test")
    check(copy)
    return copy


def conv(dims: Sequence[int], attributes: Mapping[str, Attribute] | None = None) -> onnx.ModelProto:
    return one("Conv", IMAGE, {"w": dims, "b": dims[:1]}, attributes)


def rounded(workload: Workload) -> Workload:
    """Bits of partial sums left out: an ONNX file does not say them."""
    return copy_with(workload, {"nodes": tuple(_rounded(node) for node in workload.nodes)})


def _rounded(node: object) -> object:
    if not isinstance(node, LayerNode):
        return node
    output = copy_with(node.layer.output, {"precision": 8})
    return copy_with(node, {"layer": copy_with(node.layer, {"output": output})})


MODELS: Final = {
    "conv": conv((8, 8, 3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 1)}),
    "grouped": conv((8, 2, 3, 3), {"group": 4, "dilations": (2, 1)}),
    "gemm": one("Gemm", {"x": (3, 4)}, {"w": (4, 6), "b": (6,)}),
    "transposed": one("Gemm", {"x": (3, 4)}, {"w": (6, 4), "b": (1, 6)}, {"transB": 1}),
    "square": one("Gemm", {"x": (3, 6)}, {"w": (6, 6)}, {"transB": 1}),
    "matmul": one("MatMul", {"x": (2, 3, 4)}, {"w": (4, 6)}),
}


@pytest.mark.parametrize("along", SplitAlong)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("parts", [2, 5, 16])
def test_a_written_model_is_the_split_network(name: str, along: SplitAlong, parts: int) -> None:
    split = halved(MODELS[name], along, parts)
    assert split.splits
    again = parse_onnx(written(MODELS[name], split), name=split.workload.name)
    assert [x.name for x in again.nodes] == [x.name for x in split.workload.nodes]
    assert [(x.sources, x.operator) for x in again.nodes] == [
        (x.sources, x.operator) for x in split.workload.nodes
    ]
    assert rounded(again).layers == rounded(split.workload).layers
    for one_node, other in zip(again.nodes, split.workload.nodes, strict=True):
        assert [x.name for x in one_node.inputs] == [x.name for x in other.inputs]
        assert [(x.name, x.sizes) for x in one_node.outputs] == [
            (x.name, x.sizes) for x in other.outputs
        ]
        if not isinstance(one_node, LayerNode):
            assert getattr(one_node, "routes", None) == getattr(other, "routes", None)
            assert getattr(one_node, "nest", None) == getattr(other, "nest", None)


def test_output_parts_are_read_again_without_a_difference() -> None:
    for source in MODELS.values():
        split = halved(source, SplitAlong.OUTPUTS)
        again = parse_onnx(written(source, split), name=split.workload.name)
        assert again.layers == split.workload.layers


def test_resnet18_from_file_to_file(tmp_path: Path) -> None:
    target = tmp_path / "split.onnx"
    sources = StreamSources(workload=RESNET, accelerator=resolve_multicore("quad_tpu"))
    pipeline = StreamONNXModelParserStage() >> LayerSplittingStage(
        share=0.5, model=SplitModel(source=RESNET, target=target)
    )
    made = pipeline(sources)
    assert parse_onnx(target, name=made.workload.name) == made.workload
    check(onnx.ModelProto.FromString(target.read_bytes()))
    assert target.stat().st_size < 2 * RESNET.stat().st_size
    assert [x.name for x in tmp_path.iterdir()] == ["split.onnx"]


def test_a_network_without_too_large_layers_is_written_as_it_is(tmp_path: Path) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "split.onnx"
    source.write_bytes(MODELS["conv"].SerializeToString())
    workload = parse_onnx(source, name="net")
    problem = StreamProblem(workload=workload, accelerator=read_multicore("quad_tpu"))
    stage = LayerSplittingStage(model=SplitModel(source=source, target=target))
    assert stage(problem) == problem
    assert parse_onnx(target, name="net") == workload


def test_small_constants_keep_their_data() -> None:
    source = model(
        [node("Reshape", "x s", "y", name="r"), node("MatMul", "y w", "z", name="m")],
        {"x": (2, 3, 4)},
        [integers("s", 6, 4), weights("w", 4, 8)],
    )
    split = halved(source, SplitAlong.OUTPUTS)
    again = written(source, split)
    assert [x.name for x in again.graph.initializer] == ["s"]
    assert parse_onnx(again, name=split.workload.name) == split.workload


@pytest.mark.parametrize("name", ["conv", "gemm"])
def test_old_models_slice_by_attributes_and_always_have_a_bias(name: str) -> None:
    source = onnx.ModelProto.FromString(MODELS[name].SerializeToString())
    del source.opset_import[:]
    source.opset_import.append(helper.make_opsetid("", 9))
    source.ir_version = 3
    source.graph.input.extend(
        helper.make_tensor_value_info(x.name, x.data_type, list(x.dims))
        for x in source.graph.initializer
    )
    split = halved(source, SplitAlong.INPUTS)
    again = written(source, split)
    assert rounded(parse_onnx(again)).layers == rounded(split.workload).layers
    assert [x.name for x in again.graph.input] == ["x"]


def quantized() -> onnx.ModelProto:
    reads = "x xs xz w ws wz ys yz"
    scales = [weights(name) for name in ("xs", "ys")]
    zeros = [onnx.TensorProto(name=name, data_type=2) for name in ("xz", "wz", "yz")]
    kernel = onnx.TensorProto(name="w", data_type=2, dims=(8, 8, 1, 1))
    made = model(
        [node("QLinearConv", reads, "y", name="n")],
        IMAGE,
        [*scales, *zeros, kernel, weights("ws", 8)],
    )
    made.graph.input[0].type.tensor_type.elem_type = 2
    return made


def test_quantized_layers_are_written_in_parts_of_the_output_only() -> None:
    source = quantized()
    split = halved(source, SplitAlong.OUTPUTS)
    copy = onnx.ModelProto()
    copy.CopyFrom(source)
    split_model(copy, split.splits, "test")
    assert parse_onnx(copy, name=split.workload.name).layers == split.workload.layers
    with pytest.raises(InputError, match=r"test: layer 'n': found .* its parts cannot be added"):
        split_model(source, halved(source, SplitAlong.INPUTS).splits, "test")


def test_operators_and_constants_that_cannot_be_written_in_parts() -> None:
    strange = one("FusedMatMul", {"x": (3, 4)}, {"w": (4, 6)})
    strange.graph.node[0].domain = "com.microsoft"
    strange.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    split = halved(strange, SplitAlong.OUTPUTS)
    with pytest.raises(InputError, match=r"'n': found operator com\.microsoft\.FusedMatMul"):
        split_model(strange, split.splits, "test")
    computed = model(
        [node("Transpose", "w", "t", {"perm": (1, 0)}), node("MatMul", "x t", "y", name="n")],
        {"x": (3, 4)},
        [weights("w", 6, 4)],
    )
    split = halved(computed, SplitAlong.OUTPUTS)
    with pytest.raises(InputError, match="'n': found weights or biases 't'"):
        split_model(computed, split.splits, "test")


def test_weights_that_a_node_writes_down() -> None:
    """As in the models that the package onnx brings along, which have no weights."""
    shape = node("ConstantOfShape", "s", "w")
    source = model(
        [shape, node("MatMul", "x w", "y", name="n")], {"x": (3, 4)}, [integers("s", 4, 6)]
    )
    split = halved(source, SplitAlong.OUTPUTS)
    assert parse_onnx(written(source, split), name=split.workload.name) == split.workload


def test_a_bias_that_is_computed() -> None:
    source = model(
        [node("Relu", "c", "r"), node("Gemm", "x w r", "y", name="n")],
        {"x": (3, 4), "c": (3, 6)},
        [weights("w", 4, 6)],
    )
    split = halved(source, SplitAlong.OUTPUTS)
    with pytest.raises(InputError, match="'n': found weights or biases 'r'"):
        split_model(source, split.splits, "test")


def test_only_one_part_adds_the_bias() -> None:
    for name in ("conv", "gemm", "transposed"):
        made = written(MODELS[name], halved(MODELS[name], SplitAlong.INPUTS))
        parts = [x for x in made.graph.node if "_split_" in x.name]
        assert [len(x.input) for x in parts] == [3, 2]


def test_a_layer_that_is_not_in_the_model(tmp_path: Path) -> None:
    split = halved(MODELS["conv"], SplitAlong.OUTPUTS)
    with pytest.raises(InputError, match="test: found layer 'n', which is not a node"):
        split_model(model([node("Relu", "x", "y", name="r")], IMAGE), split.splits, "test")
    source = tmp_path / "net.onnx"
    source.write_bytes(MODELS["conv"].SerializeToString())
    with pytest.raises(InputError, match="nowhere"):
        write_split_model(source, tmp_path / "nowhere" / "split.onnx", split.splits)
