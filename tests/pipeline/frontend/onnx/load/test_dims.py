"""Symbolic dimensions: sizes are given by name or by place, everywhere at once."""

import onnx
import pytest
from onnx import helper

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import FLOAT, Shapes, model, node, weights


def _network() -> onnx.ModelProto:
    nodes = [node("MatMul", "x w", "h", name="first"), node("MatMul", "h z", "y", name="second")]
    inputs: Shapes = {"x": ("batch", None, 8), "z": ("batch", 4, "seq")}
    return model(nodes, inputs, [weights("w", 8, 4)], outputs={"y": ("batch", "length", "seq")})


def test_sizes_by_name_and_by_place() -> None:
    first, second = parse_onnx(_network(), dims={"batch": 2, "seq": 5, "x[1]": 3}).layers
    assert first.macs == 2 * 3 * 8 * 4
    assert second.macs == 2 * 3 * 4 * 5


def test_the_model_is_not_changed() -> None:
    source = _network()
    before = source.SerializeToString(deterministic=True)
    parse_onnx(source, dims={"batch": 2, "seq": 5, "x[1]": 3})
    assert source.SerializeToString(deterministic=True) == before


def test_sizes_are_set_where_tensors_are_described() -> None:
    nodes = [
        node("Mystery", "x", "t", name="odd", domain="acme"),
        node("MatMul", "t w", "y", name="n"),
    ]
    source = model(nodes, {"x": ("batch", 8)}, [weights("w", 8, 4)])
    source.graph.value_info.append(helper.make_tensor_value_info("t", FLOAT, ["batch", 8]))
    (layer,) = parse_onnx(source, dims={"batch": 6}).layers
    assert layer.macs == 6 * 8 * 4


def test_sizes_that_are_not_needed_may_be_left_open() -> None:
    nodes = [
        node("Relu", "x", "r", name="relu"),
        node("Mystery", "x", "m", name="odd", domain="acme"),
        node("Transpose", "x", "t", name="turned"),
        node("MatMul", "z w", "y", name="n"),
    ]
    network = parse_onnx(model(nodes, {"x": ("N", 3), "z": (2, 8)}, [weights("w", 8, 4)]))
    assert network.macs == 2 * 8 * 4
    assert [tensor.sizes for n in network.nodes[:3] for tensor in n.outputs] == [None] * 3


WRONG: dict[str, tuple[dict[str, int], str, str]] = {
    "unknown": ({"bach": 2}, "no dimension 'bach'", "batch (one of batch, x[1], seq, length)"),
    "of a weight": ({"w[0]": 8}, "no dimension 'w[0]'", "one of batch, x[1], seq, length"),
    "known already": ({"x[2]": 8}, "no dimension 'x[2]'", "x[1] (one of"),
    "zero": ({"batch": 0}, "size 0 for dimension 'batch'", "1 to 2**31 - 1"),
    "huge": ({"batch": 2**31}, "size 2147483648 for dimension 'batch'", "1 to 2**31 - 1"),
}


@pytest.mark.parametrize(("dims", "found", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_dimensions(dims: dict[str, int], found: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(_network(), dims=dims)
    assert (caught.value.where, caught.value.found) == ("model 'net'", found)
    assert caught.value.expected.startswith(expected)


def test_a_model_without_symbolic_dimensions() -> None:
    source = model([node("Relu", "x", "y")], {"x": (2,)})
    with pytest.raises(InputError, match="--dim batch cannot be combined with"):
        parse_onnx(source, dims={"batch": 2})


def test_one_error_lists_all_tensors_and_dimensions() -> None:
    nodes = [node("MatMul", f"x{i} w", f"y{i}", name=f"n{i}") for i in range(7)]
    inputs = {f"x{i}": (f"N{i}", 8) for i in range(7)}
    with pytest.raises(InputError) as caught:
        parse_onnx(model(nodes, inputs, [weights("w", 8, 4)]))
    assert caught.value.found == (
        "unknown sizes that the array needs: "
        + "; ".join(
            f"node 'n{i}' (MatMul): input 'x{i}': shape [N{i}, 8] (an input of the network)"
            for i in range(5)
        )
        + "; and 2 more"
    )
    assert caught.value.expected == (
        "sizes for the network's symbolic dimensions: --dim N0=... --dim N1=... --dim N2=... "
        "--dim N3=... --dim N4=... and so on (7 dimensions)"
    )


def _cached() -> onnx.ModelProto:
    """Scores of new tokens against those of a cache and themselves."""
    inputs: Shapes = {
        "q": ("batch", 4, "new", 32),
        "k": ("batch", 4, 32, "past + new"),
        "m": ("2 * batch - batch", 1, "new", "past + new"),
    }
    nodes = [node("MatMul", "q k", "s", name="scores"), node("Add", "s m", "y", name="mask")]
    return model(nodes, inputs, outputs={"y": ("batch", 4, "new", "past + new")})


def test_sizes_of_expressions_follow() -> None:
    found = parse_onnx(_cached(), dims={"batch": 2, "past": 12, "new": 3})
    assert found.layers[0].macs == 2 * 4 * 3 * 32 * 15
    assert found.vector_nodes[0].outputs[0].sizes == (2, 4, 3, 15)


def test_an_expression_may_be_given_itself() -> None:
    found = parse_onnx(_cached(), dims={"batch": 2, "past + new": 9, "new": 3})
    assert found.layers[0].macs == 2 * 4 * 3 * 32 * 9


def test_errors_name_the_dimensions_of_expressions() -> None:
    with pytest.raises(InputError, match=r"--dim batch=\.\.\. --dim new=\.\.\. --dim past=\.\.\.$"):
        parse_onnx(_cached())
    source = model([node("MatMul", "x w", "y")], {"x": ("a - b", 8)}, [weights("w", 8, 4)])
    with pytest.raises(InputError, match="found size 0 for dimension 'a - b'"):
        parse_onnx(source, dims={"a": 3, "b": 3})


@pytest.mark.parametrize("name", ["-1", "64", "a < b"])
def test_numbers_and_conditions_are_left_open(name: str) -> None:
    inputs: Shapes = {"x": ("batch", 8), "unused": (name, 8)}
    nodes = [node("MatMul", "x w", "y", name="n"), node("Neg", "unused", "z")]
    source = model(nodes, inputs, [weights("w", 8, 4)])
    if name == "a < b":
        with pytest.raises(InputError, match="found size True for dimension 'a < b'"):
            parse_onnx(source, dims={"batch": 3, "a": 1, "b": 2})
    assert parse_onnx(source, dims={"batch": 3}).layers[0].macs == 96


@pytest.mark.parametrize("name", ["batch-size", "a.b", "f(x)", "a / b", "a +", "x" * 300 + " + a"])
def test_other_names_are_no_expressions(name: str) -> None:
    source = model([node("MatMul", "x w", "y", name="n")], {"x": (name, 8)}, [weights("w", 8, 4)])
    assert parse_onnx(source, dims={name: 3}).layers[0].macs == 96
