"""ONNX models that contradict themselves: false statements about tensors, nodes that misfit."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
import zigzag
from benchmarks.fuzz.onnx_seeds import own_models
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from nestmap.model import InputError, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, integers, model, node, one, weights
from tests.pipeline.frontend.onnx.node_cases import node_cases
from tests.sweeps import STRESS, some_of

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def _states(
    source: onnx.ModelProto, name: str, *dims: int | str | None, element: int = FLOAT
) -> onnx.ModelProto:
    """The model with a statement about a tensor."""
    source.graph.value_info.append(helper.make_tensor_value_info(name, element, dims))
    return source


def _behind_relu() -> onnx.ModelProto:
    nodes = [node("Relu", "x", "r", name="act"), node("Conv", "r w", "y", name="conv")]
    return model(nodes, {"x": (1, 64, 56, 56)}, [weights("w", 8, 64, 1, 1)])


def _of_type(operator: str, element: int) -> onnx.ModelProto:
    source = one(operator, {"x": (2, 3, 8, 8), "w": (4, 3, 3, 3)}, {})
    if operator != "Conv":
        source = one(operator, {"x": (2, 8), "w": (8, 4)}, {})
    for value in source.graph.input:
        value.type.tensor_type.elem_type = element
    return source


def _custom(*shape: int) -> onnx.ModelProto:
    """Behind an operator that ONNX does not define, the statement is all that is known."""
    nodes = [node("Mystery", "x", "t", domain="acme"), node("MatMul", "t w", "y", name="n")]
    return _states(model(nodes, {"x": (2, 8)}, [weights("w", 8, 4)]), "t", *shape)


def _in_branch() -> onnx.ModelProto:
    body = helper.make_graph(
        [node("Relu", "x", "t", name="act"), node("MatMul", "t w", "z", name="n")],
        "body",
        [],
        [onnx.ValueInfoProto(name="z")],
        value_info=[helper.make_tensor_value_info("t", FLOAT, [200, 8])],
    )
    choice = helper.make_node("If", ["c"], ["y"], name="if", then_branch=body, else_branch=body)
    true = helper.make_tensor("c", TensorProto.BOOL, [], [True])
    return model([choice], {"x": (2, 8)}, [true, weights("w", 8, 4)])


STATEMENTS: dict[str, tuple[onnx.ModelProto, str, str, str]] = {
    "a shape": (
        _states(_behind_relu(), "r", 1, 6400, 56, 56),
        "node 'act' (Relu): output 'r'",
        "the stated shape [1, 6400, 56, 56]",
        "[1, 64, 56, 56], which follows from its inputs (--trust-shapes: the stated one counts)",
    ),
    "a number of axes": (
        _states(_behind_relu(), "r", 64, 56, 56),
        "node 'act' (Relu): output 'r'",
        "the stated shape [64, 56, 56]",
        "[1, 64, 56, 56], which follows",
    ),
    "a shape in part": (
        _states(_behind_relu(), "r", "N", None, 56, 57),
        "node 'act' (Relu): output 'r'",
        "the stated shape [N, ?, 56, 57]",
        "[1, 64, 56, 56], which follows",
    ),
    "an element type": (
        _states(_behind_relu(), "r", 1, 64, 56, 56, element=TensorProto.FLOAT16),
        "node 'act' (Relu): output 'r'",
        "the stated element type float16",
        "float, which follows",
    ),
    "a graph output": (
        model([node("Relu", "x", "y", name="n")], {"x": (2, 8)}, outputs={"y": (2, 9)}),
        "node 'n' (Relu): output 'y'",
        "the stated shape [2, 9]",
        "[2, 8], which follows",
    ),
    "an input": (
        _states(_behind_relu(), "x", 1, 6400, 56, 56),
        "tensor 'x'",
        "the stated shape [1, 6400, 56, 56]",
        "[1, 64, 56, 56], as the input of the graph has",
    ),
    "a stored tensor": (
        _states(_behind_relu(), "w", 800, 64, 1, 1),
        "tensor 'w'",
        "the stated shape [800, 64, 1, 1]",
        "[8, 64, 1, 1], as the stored tensor has",
    ),
    "an input that is stored": (
        model([node("MatMul", "x w", "y")], {"x": (2, 8), "w": (8, 400)}, [weights("w", 8, 4)]),
        "tensor 'w'",
        "the stated shape [8, 400]",
        "[8, 4], as the stored tensor has",
    ),
    "two statements": (
        _states(_custom(2, 8), "t", 200, 8),
        "tensor 't'",
        "the stated shapes [200, 8] and [2, 8]",
        "one shape",
    ),
    "a branch": (
        _in_branch(),
        "node 'if/then_branch/act' (Relu): output 'if/then_branch/t'",
        "the stated shape [200, 8]",
        "[2, 8], which follows",
    ),
    "behind an operator of onnxruntime": (
        _states(
            model(
                [
                    node("Gelu", "x", "g", name="act", domain="com.microsoft"),
                    node("MatMul", "g w", "y"),
                ],
                {"x": (2, 8)},
                [weights("w", 8, 4)],
            ),
            "g",
            200,
            8,
        ),
        "node 'act' (com.microsoft.Gelu): output 'g'",
        "the stated shape [200, 8]",
        "[2, 8], which follows",
    ),
    "behind an operator for floats that reads integers": (
        _states(_of_type("Conv", TensorProto.INT8), "y", 2, 4, 6, 7, element=TensorProto.INT8),
        "node 'n' (Conv): output 'y'",
        "shape [2, 4, 6, 7]",
        "[2, 4, 6, 6]",
    ),
}


def _reshape(*target: int, rank: int = 2) -> onnx.ModelProto:
    shape = (1, 192) if rank == 2 else (192,)
    nodes = [node("Reshape", "x to", "r", name="n"), node("Relu", "r", "y")]
    return model(nodes, {"x": shape}, [integers("to", *target)])


def _reshaped_to_a_statement() -> onnx.ModelProto:
    nodes = [node("Reshape", "x to", "r", name="n"), node("MatMul", "r w", "y")]
    source = model(nodes, {"x": (1, 192), "to": (2,)}, [weights("w", 768, 4)])
    source.graph.input[1].type.tensor_type.elem_type = INT64
    return _states(source, "r", 1, 768)


def _one(
    operator: str, shapes: str, attributes: dict[str, Attribute] | None = None
) -> onnx.ModelProto:
    """A model of one node ``n`` with inputs of shapes such as ``1x2 3``."""
    sizes = {f"i{k}": tuple(map(int, x.split("x"))) for k, x in enumerate(shapes.split())}
    return one(operator, sizes, {}, attributes)


BROADCAST = "shapes that broadcast to each other"
MISFITS: dict[str, tuple[onnx.ModelProto, str, str]] = {
    "reshape": (_reshape(1, 768), "192 elements of shape [1, 192] in shape [1, 768]", "192 elem"),
    "reshape with a zero": (_reshape(0, 48), "192 elements", "a shape of 192 elements"),
    "reshape to the rest": (_reshape(5, -1), "[1, 192], [2] with the values [5, -1]", "fit"),
    "reshape to what is stated": (_reshaped_to_a_statement(), "in shape [1, 768]", "192 elements"),
    "add": (_one("Add", "1x192 3"), "inputs of shapes [1, 192] and [3]", BROADCAST),
    "sum of three": (_one("Sum", "4x1 1x3 2x3"), "[4, 1] and [1, 3] and [2, 3]", BROADCAST),
    "where": (_one("Where", "4 4 5"), "[4] and [4] and [5]", BROADCAST),
    "gemm": (_one("Gemm", "2x8 8x4 7"), "a bias of shape [7]", "that broadcasts to [2, 4]"),
    "gemm of one row": (_one("Gemm", "1x8 8x4 2x4"), "a bias of shape [2, 4]", "to [1, 4]"),
    "conv": (_one("Conv", "1x3x8x8 4x3x3x3 7"), "a bias of shape [7]", "shape [4]"),
    "conv, a number": (_one("Conv", "1x3x8x8 4x3x3x3 1"), "a bias of shape [1]", "shape [4]"),
    "transposed conv": (
        _one("ConvTranspose", "1x4x8x8 4x3x3x3 3", {"group": 2}),
        "a bias of shape [3]",
        "shape [6]",
    ),
    "transpose": (_one("Transpose", "2x3x4", {"perm": [0, 1]}), "perm [0, 1]", "from 0 to 2 once"),
    "transpose twice": (_one("Transpose", "2x3", {"perm": [1, 1]}), "perm [1, 1]", "once"),
    "concat": (_one("Concat", "1x5 4x3", {"axis": 1}), "inputs [1, 5], [4, 3]", "fit"),
    "batch norm": (_one("BatchNormalization", "1x5x4 4 4 4 4"), "[1, 5, 4], [4]", "fit"),
    "layer norm": (_one("LayerNormalization", "2x3x8 4"), "a scale of shape [4]", "to [2, 3, 8]"),
    "instance norm": (_one("InstanceNormalization", "2x3x8 3 5"), "a bias of shape [5]", "[3]"),
    "slope": (_one("PRelu", "2x3x8 5"), "a slope of shape [5]", "broadcasts to [2, 3, 8]"),
    "clip": (_one("Clip", "2x3 3"), "a minimum of shape [3]", "one number"),
    "pooling beyond its input": (_one("MaxPool", "1x2x4", {"kernel_shape": [9]}), "-4", "fit"),
    "too many inputs": (_one("Relu", "2x3 2x3"), "input size 2 not in range", "fit"),
    "no attribute": (_one("Cast", "2x3"), "Required attribute 'to' is missing", "fit"),
    "type of an attribute": (_one("Softmax", "2x3", {"axis": 1.0}), "axis", "fit"),
    "conv of text": (_of_type("Conv", TensorProto.STRING), "elements of type string", "numbers"),
    "gemm of text": (_of_type("Gemm", TensorProto.STRING), "elements of type string", "numbers"),
    "product of flags": (_of_type("MatMul", TensorProto.BOOL), "elements of type bool", "numbers"),
}


@pytest.mark.parametrize(
    ("source", "where", "found", "expected"), STATEMENTS.values(), ids=STATEMENTS
)
def test_false_statements(source: onnx.ModelProto, where: str, found: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(source)
    assert caught.value.where == f"model 'net': {where}"
    assert found in caught.value.found
    assert expected in caught.value.expected
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("source", "found", "expected"), MISFITS.values(), ids=MISFITS)
def test_nodes_that_misfit(source: onnx.ModelProto, found: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(source)
    assert caught.value.where.startswith("model 'net': node 'n' (")
    assert found in caught.value.found
    assert expected in caught.value.expected
    assert "\n" not in str(caught.value)


ATTRIBUTES: dict[str, tuple[onnx.ModelProto, str, str]] = {
    "misspelled": (
        _one("Conv", "1x3x8x8 4x3x3x3", {"strydes": [2, 2]}),
        "attribute 'strydes'",
        "strides (one of act_size, auto_pad, ",
    ),
    "of another operator": (_one("Relu", "2x3", {"alpha": 0.5}), "attribute 'alpha'", "one of"),
}


@pytest.mark.parametrize(("source", "found", "expected"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_unknown_attributes(source: onnx.ModelProto, found: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(source)
    assert (caught.value.found, caught.value.expected[: len(expected)]) == (found, expected)


def test_an_unknown_attribute_in_a_body() -> None:
    source = _in_branch()
    del source.graph.node[0].attribute[0].g.value_info[:]
    source.graph.node[0].attribute[0].g.node[0].attribute.append(helper.make_attribute("to", 1))
    with pytest.raises(InputError, match=r"node 'if' \(If\): node 'act' \(Relu\): found attr"):
        parse_onnx(source)


def test_an_attribute_twice() -> None:
    source = _one("Softmax", "2x3", {"axis": 1})
    source.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
    with pytest.raises(InputError, match="attribute 'axis' twice"):
        parse_onnx(source)


GOOD: dict[str, onnx.ModelProto] = {
    "symbolic sizes": _states(_behind_relu(), "r", "batch", "channels", None, 56),
    "an unknown rank": _behind_relu(),
    "own attributes": _one("Add", "2x3 3", {"act_size": 4, "weight_size": 4, "output_size": 8}),
    "an attribute of another version": _one("Squeeze", "2x1x3", {"axes": [1]}),
    "a bias for each row": _one("Gemm", "2x8 8x4 2x1"),
    "a number as bias": one("Gemm", {"x": (2, 8), "w": (8, 4), "c": ()}, {}),
    "an open shape": _reshape(0, -1),
    "integers in an operator for floats": _of_type("Conv", TensorProto.INT8),
    "a maximum of one element": _one("Clip", "2x3 1 1"),
}
GOOD["an unknown rank"].graph.value_info.append(helper.make_tensor_value_info("r", FLOAT, None))


@pytest.mark.parametrize("source", GOOD.values(), ids=GOOD)
def test_what_contradicts_nothing(source: onnx.ModelProto) -> None:
    assert parse_onnx(source).nodes


def test_what_cannot_be_inferred_is_as_stated() -> None:
    assert parse_onnx(_custom(5, 8)).macs == 5 * 8 * 4


def test_inferred_sizes_do_not_depend_on_other_statements() -> None:
    nodes = [node("Flatten", "x", "t"), node("MatMul", "t w", "y")]
    source = model(nodes, {"x": (2, 4, 2)}, [weights("w", 8, 4)])
    assert parse_onnx(_states(source, "t", "a", "b")).macs == 2 * 8 * 4


def _without_statements(source: onnx.ModelProto) -> onnx.ModelProto:
    """The model without ``value_info``, also in its bodies."""
    copy = onnx.ModelProto()
    copy.CopyFrom(source)
    _strip(copy.graph)
    return copy


def _strip(graph: onnx.GraphProto) -> None:
    del graph.value_info[:]
    for made in graph.node:
        for attribute in made.attribute:
            for body in (attribute.g, *attribute.graphs):
                if body.node:
                    _strip(body)


def _outcome(source: onnx.ModelProto) -> Workload | None:
    try:
        return parse_onnx(source, name="net")
    except InputError:
        return None


def _bundled() -> Iterator[tuple[str, onnx.ModelProto]]:
    folders = (Path(onnx.__file__).parent / "backend/test/data", Path(str(zigzag.__file__)).parent)
    golden = Path(__file__).parents[1] / "golden"
    for path in sorted(path for folder in (*folders, golden) for path in folder.rglob("*.onnx")):
        yield path.stem, onnx.ModelProto.FromString(path.read_bytes())
    yield from ((case.name, case.model) for case in node_cases().values())


def test_statements_of_bundled_models_change_nothing() -> None:
    stated = 0
    for name, source in _bundled():
        if source.graph.value_info:
            stated += 1
            assert _outcome(source) == _outcome(_without_statements(source)), name
    assert stated > 5


@pytest.mark.stress
def test_what_onnx_infers_contradicts_no_bundled_model() -> None:
    for name, source in _bundled():
        if not source.graph.value_info and len(source.graph.node) < MOST_NODES:
            stated = onnx.shape_inference.infer_shapes(source, data_prop=True)
            assert (_outcome(stated) is None) == (_outcome(source) is None), name


MOST_NODES = 200 if STRESS else 12


def _stated() -> Iterator[onnx.ModelProto]:
    """Networks that state all their sizes."""
    for source in own_models():
        yield onnx.shape_inference.infer_shapes(source, data_prop=True)
    path = Path(str(zigzag.__file__)).parent / "inputs/workload/alexnet.onnx"
    yield onnx.ModelProto.FromString(path.read_bytes())


STATED = tuple(source for source in _stated() if source.graph.value_info)
SIZES = st.sampled_from([0, 1, 2, 3, 5, 8, 64, 100, 2**31])


@settings(deadline=None, max_examples=some_of(200))
@given(data=st.data())
def test_a_false_statement_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    source = onnx.ModelProto()
    source.CopyFrom(data.draw(st.sampled_from(STATED)))
    value = data.draw(st.sampled_from(list(source.graph.value_info)))
    dims = value.type.tensor_type.shape.dim
    match data.draw(st.sampled_from(["size", "axis less", "axis more", "element"])):
        case "size" if dims:
            dims[data.draw(st.integers(0, len(dims) - 1))].dim_value = data.draw(SIZES)
        case "axis less" if dims:
            del dims[data.draw(st.integers(0, len(dims) - 1))]
        case "axis more":
            dims.add(dim_value=data.draw(SIZES))
        case _:
            value.type.tensor_type.elem_type = data.draw(st.integers(1, 16))
    found = _outcome(source)
    assert found is None or found == _outcome(_without_statements(source))
