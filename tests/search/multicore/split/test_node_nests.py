"""What is split: constants count by their loops, however their tensors are laid out."""

from pathlib import Path

from nestmap.model import NoCostNode, Workload
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.search.multicore.split.split_workload import split_workload

RESNET = Path(__file__).parents[3] / "golden" / "stream" / "resnet18.onnx"


def test_each_part_of_a_transposed_matrix_has_its_own_weights() -> None:
    """The matrix of the last layer stands in the file as K x C."""
    options = SplitOptions(hints=((HintLoop(dimension="K", tiles=4),),))
    split = split_workload(parse_onnx(RESNET), options, lambda node: False, lambda nest: None)
    last = split.layers[-1]
    parts = [node for node in split.nodes() if node.layer == last.nest.name]
    assert [node.group for node in parts] == [0, 1, 2, 3]
    for node in parts:
        (weights,) = (tensor for tensor in node.inputs if tensor.constant)
        assert weights.bits == 1000 * 512 * 8 // 4


def test_a_network_in_which_nothing_computes_has_no_nodes() -> None:
    nothing = Workload.of(NoCostNode(name="x", operator="Identity"))
    split = split_workload(nothing, SplitOptions(), lambda node: True, lambda nest: None)
    assert (len(split), len(split.edges)) == (0, 0)
