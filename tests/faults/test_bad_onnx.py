"""Wrong ONNX files and models: every one gives a message that says where, what and what else."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from nestmap.model import InputError, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, integers, model, node, one, weights


def _network() -> onnx.ModelProto:
    """A small network with all that the parser looks at."""
    attributes: dict[str, Attribute] = {
        "kernel_shape": [3, 3],
        "strides": [2, 2],
        "dilations": [1, 1],
        "pads": [1, 1, 1, 1],
        "group": 2,
        "weight_size": 4,
    }
    nodes = [
        node("Conv", "x w b", "c", attributes, name="conv"),
        node("Relu", "c", "r", name="relu"),
        node("Reshape", "r to", "f", name="flat"),
        node("Gemm", "f g", "o", {"transB": 1}, name="fc"),
        node("MatMul", "o m", "y", name="head"),
    ]
    stored = [
        weights("w", 6, 2, 3, 3),
        weights("b", 6),
        integers("to", 1, -1),
        weights("g", 5, 96),
        weights("m", 5, 3),
    ]
    return model(nodes, {"x": (1, 4, 8, 8)}, stored)


def _missing(path: Path) -> None:
    assert not path.exists()


def _directory(path: Path) -> None:
    path.mkdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("- name: conv\n  operator_type: Conv\n")


def _truncated(path: Path) -> None:
    data = _network().SerializeToString()
    path.write_bytes(data[: len(data) // 2])


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (_missing, "found no such file; expected an ONNX model"),
    "directory": (_directory, "found a directory; expected an ONNX model"),
    "empty": (_empty, "found a graph without nodes; expected an ONNX model with at least one node"),
    "text": (_text, "found data that is truncated or not ONNX; expected an ONNX model"),
    "truncated": (_truncated, "found data that is truncated or not ONNX; expected an ONNX model"),
    "loop of links": (_link_to_itself, "found a file that cannot be read ("),
}


@pytest.mark.parametrize(("make", "message"), FILES.values(), ids=FILES)
def test_files(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "net.onnx"
    make(path)
    with pytest.raises(InputError) as caught:
        parse_onnx(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def _conv(
    image: tuple[int | str | None, ...],
    kernel: tuple[int, ...],
    attributes: dict[str, Attribute] | None = None,
) -> onnx.ModelProto:
    return one("Conv", {"x": image}, {"w": kernel}, attributes)


def _states(source: onnx.ModelProto, *dims: int) -> onnx.ModelProto:
    """The model with an output of a stated shape."""
    stated = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, dims)
    source.graph.output[0].CopyFrom(stated)
    return source


def _after_custom_operator() -> onnx.ModelProto:
    nodes = [
        node("Mystery", "x", "t", name="odd", domain="acme"),
        node("MatMul", "t w", "y", name="n"),
    ]
    return model(nodes, {"x": (2, 8)}, [weights("w", 8, 4)])


def _depends_on_values() -> onnx.ModelProto:
    nodes = [
        node("NonZero", "x", "i", name="where"),
        node("Cast", "i", "t", {"to": 1}, name="cast"),
        node("MatMul", "w t", "y", name="n"),
    ]
    return model(nodes, {"x": (4, 8)}, [weights("w", 5, 2)])


def _cycle() -> onnx.ModelProto:
    nodes = [node("Add", "x b", "a", name="first"), node("Relu", "a", "b", name="second")]
    return model(nodes, {"x": (2,)})


def _two_makers() -> onnx.ModelProto:
    nodes = [node("Relu", "x", "y", name="first"), node("Neg", "x", "y", name="second")]
    return model(nodes, {"x": (2,)})


def _recursive() -> onnx.ModelProto:
    opsets = [helper.make_opsetid("acme", 1)]
    body = [node("Again", "a", "b", domain="acme")]
    function = helper.make_function("acme", "Again", ["a"], ["b"], body, opsets)
    return model([node("Again", "x", "y", domain="acme")], {"x": (2,)}, functions=[function])


def _no_opset() -> onnx.ModelProto:
    source = one("Gemm", {"x": (2, 8)}, {"w": (8, 4)})
    del source.opset_import[:]
    return source


X, W, Y = "node 'n' (Conv): input 'x'", "node 'n' (Conv): input 'w'", "node 'n' (Conv): output 'y'"
CONV, GEMM, MATMUL = "node 'n' (Conv)", "node 'n' (Gemm)", "node 'n' (MatMul)"
K = (4, 2, 3, 3)
MODELS: dict[str, tuple[onnx.ModelProto, str, str, str]] = {
    "nothing at all": (onnx.ModelProto(), "", "graph without nodes", "at least one node"),
    "no shape": (
        one("Conv", {"x": None}, {"w": K}),
        "",
        f"{X}: no shape (an input of the network)",
        "value_info",
    ),
    "no shape from a node": (
        _after_custom_operator(),
        "",
        "node 'n' (MatMul): input 't': no shape (computed by node 'odd') (the first operator that "
        "leaves a size open is node 'odd' (acme.Mystery): output 't' has no shape)",
        "value_info",
    ),
    "depends on values": (
        _depends_on_values(),
        "",
        "node 'n' (MatMul): input 't': shape [2, ?] (computed by node 'cast') (the first operator "
        "that leaves a size open is node 'where' (NonZero): output 'i' has shape [2, ?])",
        "a size for every dimension",
    ),
    "symbolic": (
        _conv(("N", 2, 8, "W"), K),
        "",
        f"unknown sizes that the array needs: {X}: shape [N, 2, 8, W] (an input of the network)",
        "sizes for the network's symbolic dimensions: --dim N=... --dim W=...",
    ),
    "nameless": (_conv((1, 2, None, 8), K), "", f"{X}: shape [1, 2, ?, 8]", "--dim x[2]=..."),
    "zero": (_conv((0, 2, 8, 8), K), X, "dimension 0 in shape [0, 2, 8, 8]", "1 to 2**31 - 1"),
    "negative": (_conv((1, 2, -1, 8), K), "", f"{X}: shape [1, 2, ?, 8]", "--dim x[2]=..."),
    "huge": (_conv((1, 2, 8, 2**31), K), X, "dimension 2147483648", "1 to 2**31 - 1"),
    "no outputs": (_conv((1, 2, 8, 8), (0, 2, 3, 3)), W, "dimension 0", "1 to 2**31 - 1"),
    "channels": (_conv((1, 3, 8, 8), K), CONV, "3 input channels", "2 x 1 input channels"),
    "channels and groups": (
        _conv((1, 2, 8, 8), K, {"group": 2}),
        CONV,
        "2 input channels",
        "2 x 2 input channels",
    ),
    "unequal groups": (
        _conv((1, 6, 8, 8), K, {"group": 3}),
        CONV,
        "4 output channels in 3 groups",
        "equal groups",
    ),
    "no group": (_conv((1, 2, 8, 8), K, {"group": 0}), CONV, "group 0", "1 to 2**31 - 1"),
    "no axis": (_conv((1, 2), (4, 2)), CONV, "shape [1, 2]", "one, two or three spatial axes"),
    "four axes": (
        _conv((1, 2, 3, 3, 3, 3), (4, 2, 1, 1, 1, 1)),
        CONV,
        "[1, 2, 3, 3, 3, 3]",
        "three",
    ),
    "ranks": (_conv((1, 2, 8, 8), (4, 2, 3)), CONV, "weights [4, 2, 3]", "the same number of axes"),
    "kernel": (
        _conv((1, 2, 8, 8), K, {"kernel_shape": [5, 5]}),
        CONV,
        "kernel_shape [5, 5]",
        "[3, 3]",
    ),
    "strides": (_conv((1, 2, 8, 8), K, {"strides": [1]}), CONV, "strides [1]", "2 numbers"),
    "stride": (_conv((1, 2, 8, 8), K, {"strides": [1, 0]}), CONV, "strides 0", "1 to 2**31 - 1"),
    "dilation": (
        _conv((1, 2, 8, 8), K, {"dilations": [-1, 1]}),
        CONV,
        "dilations -1",
        "1 to 2**31 - 1",
    ),
    "pads": (_conv((1, 2, 8, 8), K, {"pads": [1, 1]}), CONV, "pads [1, 1]", "4 numbers"),
    "pad": (_conv((1, 2, 8, 8), K, {"pads": [0, 0, 0, -1]}), CONV, "pads -1", "0 to 2**31 - 1"),
    "pads beyond reason": (
        _conv((1, 2, 8, 8), K, {"pads": [2**31 - 1] * 4}),
        Y,
        "dimension 4294967300",
        "1 to 2**31 - 1",
    ),
    "auto_pad": (_conv((1, 2, 8, 8), K, {"auto_pad": "SOME"}), CONV, "auto_pad 'SOME'", "one of"),
    "auto_pad and pads": (
        _conv((1, 2, 8, 8), K, {"auto_pad": "VALID", "pads": [1, 1, 1, 1]}),
        CONV,
        "auto_pad VALID and pads [1, 1, 1, 1]",
        "only one of the two",
    ),
    "kernel beyond the image": (
        _conv((1, 2, 2, 8), K),
        CONV,
        "reaches over 3 of 2 + 0 elements (axis Y)",
        "within",
    ),
    "type of an attribute": (
        _conv((1, 2, 8, 8), K, {"strides": 2}),
        CONV,
        "attribute strides of type INT",
        "type INTS",
    ),
    "precision": (_conv((1, 2, 8, 8), K, {"act_size": 0}), CONV, "act_size 0", "1 to 2**31 - 1"),
    "type of a precision": (
        _conv((1, 2, 8, 8), K, {"weight_size": 4.0}),
        CONV,
        "weight_size of type FLOAT",
        "type INT",
    ),
    "stated output": (
        _states(_conv((1, 2, 8, 8), K), 1, 4, 8, 8),
        Y,
        "shape [1, 4, 8, 8]",
        "[1, 4, 6, 6]",
    ),
    "rank of the output": (
        _states(_conv((1, 2, 8, 8), K), 4, 6, 6),
        Y,
        "shape [4, 6, 6]",
        "[1, 4, 6, 6]",
    ),
    "no weights": (
        one("Conv", {"x": (1, 2, 8, 8)}, {}),
        CONV,
        "no input number 2",
        "this input, which the operator requires",
    ),
    "inner dimension": (
        one("Gemm", {"x": (2, 8)}, {"w": (4, 8)}),
        GEMM,
        "inner dimensions are 8 and 4",
        "the same",
    ),
    "inner dimension of a transpose": (
        one("Gemm", {"x": (2, 8)}, {"w": (8, 4)}, {"transB": 1}),
        GEMM,
        "are 8 and 4",
        "the same",
    ),
    "rank": (one("Gemm", {"x": (2, 3, 8)}, {"w": (8, 4)}), GEMM, "[2, 3, 8]", "two matrices"),
    "scalar": (one("MatMul", {"x": ()}, {"w": (8, 4)}), MATMUL, "a scalar input", "matrices"),
    "batch": (
        one("MatMul", {"x": (2, 4, 8)}, {"w": (3, 8, 4)}),
        MATMUL,
        "[2] and [3]",
        "broadcast",
    ),
    "undefined input": (
        one("MatMul", {"x": (4, 8)}, {}),
        MATMUL,
        "no input number 2",
        "this input, which the operator requires",
    ),
    "input that nothing produces": (
        model([node("Relu", "nobody", "y", name="n")], {"x": (1,)}),
        "node 'n' (Relu)",
        "input 'nobody', which nothing produces",
        "the output of a node, an input of the graph or an initializer",
    ),
    "cycle": (_cycle(), "", "a cycle of nodes 'first' -> 'second' -> 'first'", "acyclic"),
    "two makers": (
        _two_makers(),
        "node 'second' (Neg)",
        "output 'y', which node 'first' (Relu) computes as well",
        "one node for each tensor",
    ),
    "recursive function": (
        _recursive(),
        "",
        "functions that call each other: 'Again' -> 'Again'",
        "functions without a cycle",
    ),
    "no operator set": (
        _no_opset(),
        "",
        "no version of the standard operators (opset_import)",
        "a version from 1 to ",
    ),
}


@pytest.mark.parametrize(("source", "where", "found", "expected"), MODELS.values(), ids=MODELS)
def test_models(source: onnx.ModelProto, where: str, found: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(source)
    label = f"model {source.graph.name or 'onnx'!r}"
    assert caught.value.where == (f"{label}: {where}" if where else label)
    assert found in caught.value.found
    assert expected in caught.value.expected
    assert "\n" not in str(caught.value)


def test_a_file_is_named_with_the_node(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(_conv((1, 3, 8, 8), K).SerializeToString())
    with pytest.raises(InputError) as caught:
        parse_onnx(path)
    assert caught.value.where == f"{path}: node 'n' (Conv)"


def _not_text(source: onnx.ModelProto, name: bytes) -> onnx.ModelProto:
    """The model with a name that occurs in it replaced by one that is not UTF-8."""
    data = source.SerializeToString().replace(name, b"\xff" * len(name))
    return onnx.ModelProto.FromString(data)


def test_names_that_are_not_text() -> None:
    source = _network()
    source.graph.initializer.append(weights("NAME", 2000))
    with pytest.raises(InputError, match="reading it fails: 'utf-8'"):
        parse_onnx(_not_text(source, b"NAME"))
    with pytest.raises(InputError, match="symbolic dimension"):
        parse_onnx(_not_text(_conv((1, 2, "SIZE", 8), K), b"SIZE"))
    names = [node.name for node in parse_onnx(_not_text(_network(), b"relu")).nodes]
    assert names == ["conv", "\ufffd" * 4, "flat", "fc", "head"]


DATA = _network().SerializeToString()


def _outcome(path: Path, data: bytes) -> Workload | str:
    """The workload, or where the parser says that the file is wrong."""
    path.write_bytes(data)
    try:
        return parse_onnx(path)
    except InputError as error:
        return error.where


def _parses_or_explains(path: Path, data: bytes) -> None:
    outcome = _outcome(path, data)
    assert isinstance(outcome, Workload) or outcome.startswith(str(path))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("onnx") / "net.onnx"


@settings(deadline=None)
@given(length=st.integers(0, len(DATA) - 1))
def test_truncated_files(scratch: Path, length: int) -> None:
    _parses_or_explains(scratch, DATA[:length])


@settings(deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), max_size=4))
@pytest.mark.filterwarnings("ignore:.*unrecognized operators:nestmap.model.InputWarning")
def test_files_with_wrong_bytes(scratch: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for position, value in changes:
        data[position] = value
    _parses_or_explains(scratch, bytes(data))


NUMBERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 5, 8, 96, 2**31, 2**62])


@settings(deadline=None)
@given(data=st.data())
def test_models_with_wrong_numbers(scratch: Path, data: st.DataObject) -> None:
    source = _network()
    for attribute in source.graph.node[0].attribute:
        for i in range(len(attribute.ints)):
            if data.draw(st.booleans()):
                attribute.ints[i] = data.draw(NUMBERS)
    for tensor in source.graph.initializer:
        for i in range(len(tensor.dims)):
            if data.draw(st.booleans()):
                tensor.dims[i] = data.draw(NUMBERS)
    for dim in source.graph.input[0].type.tensor_type.shape.dim:
        if data.draw(st.booleans()):
            dim.dim_value = data.draw(NUMBERS)
    _parses_or_explains(scratch, source.SerializeToString())


NAMES = st.sampled_from(["x", "w", "b", "c", "r", "to", "f", "g", "o", "m", "y", ""])


@settings(deadline=None)
@given(data=st.data())
def test_models_with_wrong_edges(scratch: Path, data: st.DataObject) -> None:
    source = _network()
    for made in source.graph.node:
        for names in (made.input, made.output):
            for i in range(len(names)):
                if data.draw(st.booleans()):
                    names[i] = data.draw(NAMES)
    _parses_or_explains(scratch, source.SerializeToString())
