"""Vector and movement operators against the reference runs and definitions of the onnx package."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest

from nestmap.model import VectorNode, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE
from nestmap.pipeline.frontend.onnx.operators.record import Movement, Vector
from nestmap.pipeline.frontend.onnx.operators.registry import operators_that_become
from tests.pipeline.frontend.onnx.node_cases import Array, NodeCase, node_cases

VECTOR = operators_that_become(Vector)
MOVEMENT = operators_that_become(Movement)

# The data decide how much these make.
SIZES_BY_DATA = {"Compress", "NonMaxSuppression", "NonZero", "Unique"}
# Where an input says what the output is to be, the onnx package infers nothing: MaxUnpool, and
# Range for float16, which other operators in turn convert.
SIZES_NOT_INFERRED = {"MaxUnpool", "Range", "Cast"}
# Twice the half that it makes, as if "onesided" were off when it is not said (onnx 1.23).
SIZES_WRONG = {"STFT"}


@cache
def _parsed() -> tuple[tuple[NodeCase, Workload], ...]:
    """All models of these operators, their parameters stored in them.

    What operators that move data read is stored as a whole, of what others read all but the first
    input: with nothing but constants they would have nothing to do.
    """
    return tuple(_with_parameters())


def _with_parameters() -> Iterator[tuple[NodeCase, Workload]]:
    for case in node_cases().values():
        if case.operators <= VECTOR | MOVEMENT:
            values = case.model.graph.input[0 if case.operators <= MOVEMENT else 1 :]
            stored = [value.name for value in values if value.name in case.inputs]
            yield case, parse_onnx(case.unstated(stored))


def _single(*operators: str) -> Iterator[tuple[NodeCase, onnx.NodeProto, VectorNode]]:
    """The models of one node of these operators; by default of all whose work is known."""
    for case, workload in _parsed():
        (node, *others), made = case.model.graph.node, workload.vector_nodes
        if not others and made and (not operators or node.op_type in operators):
            yield case, node, made[0]


def _first_output(case: NodeCase) -> Array:
    return case.outputs[case.model.graph.output[0].name]


def _first_input(case: NodeCase) -> Array:
    return case.inputs[case.model.graph.input[0].name]


def test_sizes_and_bits_are_those_of_the_reference_outputs() -> None:
    known, unknown = Counter[str](), Counter[str]()
    for case, workload in _parsed():
        makers = {tensor.name: (node, tensor) for node in workload.nodes for tensor in node.outputs}
        for name, array in case.outputs.items():
            node, tensor = makers[name]
            (unknown if tensor.sizes is None else known)[node.operator] += 1
            if tensor.sizes is not None and node.operator not in SIZES_WRONG:
                assert tensor.sizes == array.shape, case.name
                assert tensor.elements == array.size
            if node.operator != "DequantizeLinear":  # as many bits as before
                assert tensor.precision == _bits(array), case.name
    print(f"{known.total()} outputs of {len(known)} operators; unknown: {dict(unknown)}")
    assert known.total() > 1400
    assert unknown.keys() == SIZES_BY_DATA | SIZES_NOT_INFERRED


def _bits(array: Array) -> int:
    """The bits of an element by the name of its type; of float32 and float64 networks can do 8."""
    width = re.search("[0-9]+", array.dtype.name)
    if width is None:
        assert array.dtype == bool
        return 1
    return 8 if array.dtype.name in ("float32", "float64") else int(width[0])


def test_pooling_runs_through_the_kernel_for_each_output() -> None:
    counts = Counter[str]()
    for case, node, made in _single("MaxPool", "AveragePool", "LpPool"):
        (kernel,) = (a.ints for a in node.attribute if a.name == "kernel_shape")
        assert prod(made.iterations) == _first_output(case).size * prod(kernel), case.name
        counts[node.op_type] += 1
    assert counts.keys() == {"MaxPool", "AveragePool", "LpPool"}
    assert counts.total() > 45


BY_INPUT = (
    *("GlobalAveragePool", "GlobalMaxPool", "ArgMax", "ArgMin", "CumSum", "CumProd", "TopK"),
    *("Softmax", "LogSoftmax", "Hardmax", "BatchNormalization", "InstanceNormalization"),
    *("LayerNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization", "LRN"),
    *("MeanVarianceNormalization", "DynamicQuantizeLinear", "SoftmaxCrossEntropyLoss"),
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Col2Im"),
)


def test_reductions_and_normalizations_run_through_their_input() -> None:
    counts = Counter[str]()
    for case, node, made in _single(*BY_INPUT):
        assert made.iterations == _first_input(case).shape, case.name
        counts[node.op_type] += 1
    assert counts.keys() == set(BY_INPUT)
    assert counts.total() > 250


def test_elementwise_operators_run_through_the_broadcast_of_their_inputs() -> None:
    counts = Counter[str]()
    for case, node, made in _single(*ELEMENTWISE):
        if not case.inputs.keys() >= set(filter(None, node.input)):
            continue  # text
        read = [case.inputs[name].shape for name in node.input if name]
        if node.op_type not in PARAMETERS:
            assert made.iterations == np.broadcast_shapes(*read), case.name
        elif node.op_type != "RotaryEmbedding":
            assert made.iterations == read[0], case.name
        counts[node.op_type] += 1
    assert counts.keys() == {name for name in ELEMENTWISE if "." not in name}
    assert counts.total() > 500


# Their other inputs are scales and zero points, as they are read along one axis.
PARAMETERS = {"QuantizeLinear", "DequantizeLinear", "CastLike", "RotaryEmbedding"}

# Definitions that take apart what one instruction does (comparing with a bound takes them "less"
# and "where", "at least" takes them "greater", "equal" and "or"), that do not subtract the largest
# number before they sum up powers of e, that replace what is to be ignored, or halve the tensor.
OTHER_DEFINITION = {
    *("CastLike", "Clip", "GreaterOrEqual", "LessOrEqual", "ReduceLogSumExp"),
    *("NegativeLogLikelihoodLoss", "RotaryEmbedding"),
}


def test_operations_are_those_of_the_definition() -> None:
    """Operators that the standard defines by others do what these do, conversions left out."""
    compared = Counter[str]()
    parsed = {case.name: (case, workload) for case, workload in _parsed()}
    for name, (_, taken_apart) in parsed.items():
        whole, found, _ = name.partition("_expanded")
        if not found or whole not in parsed or not parsed[whole][1].vector_nodes:
            continue
        (made,) = parsed[whole][1].vector_nodes
        if made.operator not in OTHER_DEFINITION:
            assert made.operations == _operations_of_all(taken_apart, made), name
            compared[made.operator] += 1
    print(dict(compared))
    assert compared.total() > 150


def _operations_of_all(workload: Workload, whole: VectorNode) -> int:
    """Operations that are done as often as all: less often is what is done once a row."""
    nodes = (n for n in workload.vector_nodes if n.operator not in ("Cast", "CastLike"))
    often = prod(whole.iterations)
    return sum(n.operations for n in nodes if prod(n.iterations) == often)


def test_each_operator_does_something() -> None:
    seen = set[str]()
    for _, workload in _parsed():
        for node in workload.vector_nodes:
            assert node.total_operations > 0
            assert node.bits_read > 0
            assert node.bits_written > 0
            seen.add(node.operator)
        for operator in workload.no_cost_operators:
            assert operator in MOVEMENT or operator in VECTOR
    standard = {name for name in VECTOR if "." not in name}
    assert standard - seen == SIZES_BY_DATA & standard | NO_MODEL


# The package has no model of these.
NO_MODEL = {*("GlobalLpPool", "MaxRoiPool", "Multinomial", "SimplifiedLayerNormalization")}


def test_resnet_normalizes_as_many_elements_as_published() -> None:
    """ResNet-50 has 11.1 million activations (Radosavovic et al., CVPR 2020)."""
    path = Path(onnx.__file__).parent / "backend/test/data/light/light_resnet50.onnx"
    nodes = parse_onnx(path).vector_nodes
    normalized = [node for node in nodes if node.operator == "BatchNormalization"]
    assert sum(prod(node.iterations) for node in normalized) / 1e6 == pytest.approx(11.1, abs=0.05)
    assert {node.operations for node in normalized} == {2}
