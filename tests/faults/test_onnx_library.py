"""What makes the onnx library crash, hang or take all memory; found by benchmarks.fuzz."""

import resource
from itertools import pairwise

import onnx
import pytest
from onnx import TensorProto, defs, helper

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import integers, model, node, weights


@pytest.mark.parametrize("name", sorted({schema.name for schema in defs.get_all_schemas()}))
def test_operators_that_read_something_unknown(name: str) -> None:
    for schema in defs.get_all_schemas():
        if schema.name == name:
            for count in {min(schema.min_input, 8), min(schema.max_input, 8)}:
                _parses_or_explains(_after_unknown(schema, count))


def _after_unknown(schema: defs.OpSchema, count: int) -> onnx.ModelProto:
    """A model in which an operator reads what a node makes of which nothing is known."""
    names = [f"t{i}" for i in range(count)]
    odd = node("Mystery", "x", " ".join(["t", *names]), name="odd", domain="acme")
    made = helper.make_node(schema.name, names, ["y"], name="n", domain=schema.domain)
    source = model([odd, made], {"x": (2, 3)})
    del source.opset_import[:]
    versions = {"": defs.onnx_opset_version(), "acme": 1, schema.domain: schema.since_version}
    source.opset_import.extend(helper.make_opsetid(*entry) for entry in versions.items())
    return source


def _parses_or_explains(source: onnx.ModelProto) -> None:
    outcome = _outcome(source)
    assert outcome == "parsed" or outcome.startswith("model 'net'")


def _outcome(source: onnx.ModelProto) -> str:
    """Where the parser says that the model is wrong, if it does."""
    try:
        parse_onnx(source)
    except InputError as error:
        return error.where
    return "parsed"


def test_operators_without_their_attributes_and_bodies() -> None:
    for name in ("SequenceMap", "If", "Loop", "Scan"):
        _parses_or_explains(model([node(name, "x", "y"), node("Relu", "x", "z")], {"x": (2, 3)}))


def test_indices_of_negative_length() -> None:
    source = model([node("GatherND", "x i", "y", name="n")], {"x": (2, 2), "i": (2, -1)})
    source.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    assert parse_onnx(source).nodes[0].outputs[0].sizes is None


NEGATIVE: dict[str, tuple[onnx.NodeProto, ...]] = {
    "pooled": (node("MaxPool", "x", "t", {"kernel_shape": [30]}),),
    "padded": (
        node("Constant", "", "p", {"value_ints": [0, 0, -9, 0, 0, -9]}),
        node("Pad", "x p", "t"),
    ),
    "transposed": (node("ConvTranspose", "x w", "t", {"pads": [9, 9], "auto_pad": "VALID"}),),
}


@pytest.mark.parametrize("makers", NEGATIVE.values(), ids=NEGATIVE)
def test_sizes_that_come_out_negative(makers: tuple[onnx.NodeProto, ...]) -> None:
    readers = [
        node("Cast", "t", "i", {"to": 7}),
        node("GatherND", "x i", "g"),
        node("Split", "t", "a b", {"num_outputs": 2, "axis": 2}),
        node("Slice", "t zero one two", "c"),
    ]
    stored = [integers(name, i) for i, name in enumerate(("zero", "one", "two"))]
    source = model([*makers, *readers], {"x": (2, 3, 8)}, [weights("w", 3, 3, 3), *stored])
    source.opset_import[0].version = 18
    _parses_or_explains(source)


@pytest.mark.parametrize("count", [-1, 0, 1, 4, 2**30])
def test_splits_into_other_than_their_outputs(count: int) -> None:
    split = node("Split", "x", "a b c", {"num_outputs": count}, name="n")
    for source in (model([split], {"x": (4, 3)}), model([*_odd(), split], {"z": (4, 3)})):
        source.opset_import[0].version = 18
        assert all(tensor.sizes is None for tensor in parse_onnx(source).nodes[-1].outputs)


@pytest.mark.parametrize("inside", [False, True])
def test_splits_into_other_than_their_outputs_beside_functions_of_another_version(
    inside: bool,
) -> None:
    split, relu = node("Split", "a", "b c d", {"num_outputs": 1}), node("Relu", "a", "b")
    opsets = [helper.make_opsetid("", 18 if inside else 17)]
    body = split if inside else relu
    function = helper.make_function("acme", "F", ["a"], list(body.output), [body], opsets)
    nodes = [relu if inside else split, helper.make_node("F", ["a"], body.output, domain="acme")]
    nodes[1].output[:] = ["y"]
    source = model(nodes, {"a": (4, 3)}, functions=[function])
    source.opset_import[0].version = 17 if inside else 18
    _parses_or_explains(source)


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, -(2**63)])
def test_numbers_of_more_than_32_bits(number: int) -> None:
    nodes = [
        node("LayerNormalization", "x w", "y", {"axis": number}),
        node("GatherND", "x x", "z", {"batch_dims": number}),
        node("Relu", "x", "r"),
    ]
    _parses_or_explains(model(nodes, {"x": (2, 3)}, [weights("w", 3)]))


def test_batch_axes_less_than_none() -> None:
    nodes = [node("GatherND", "x i", "z", {"batch_dims": -1000}), node("Relu", "x", "r")]
    _parses_or_explains(model(nodes, {"x": (2, 3)}, [integers("i", 0, 0)]))


def test_an_endless_trip_count() -> None:
    data = onnx.helper.make_tensor("n", TensorProto.FLOAT, [], [float("inf")])
    body = helper.make_graph([], "body", [], [])
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    network = parse_onnx(model([loop, node("Relu", "x", "r")], {"x": (2, 3)}, [data]))
    assert network.unknown_operators == {"Loop": 1}


def test_an_operator_with_a_line_break() -> None:
    network = parse_onnx(model([node("Odd\nName", "x", "y")], {"x": (2, 3)}))
    assert network.unknown_operators == {"Odd\ufffdName": 1}


def _odd() -> list[onnx.NodeProto]:
    """Nodes that make ``x``, of sizes that are found out after the others."""
    return [
        node("NonZero", "k", "p"),
        node("Shape", "p", "s"),
        node("Expand", "z s", "x"),
        node("Constant", "", "k", {"value_ints": [1, 1, 1]}),
    ]


LONG: dict[str, tuple[str, str]] = {
    "Expand": ("x", "to"),
    "Reshape": ("x", "to"),
    "Tile": ("x", "to"),
    "ConstantOfShape": ("", "to"),
    "Unsqueeze": ("x", "to"),
    "Slice": ("x", "to to"),
    "Sub": ("", "to to"),
    "Cast": ("", "to"),
}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("operator", LONG)
def test_shapes_of_two_billion_axes(operator: str, stored: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reads = " ".join(LONG[operator])
    length = 2**31 - 1
    attributes = {"to": 7} if operator == "Cast" else {}
    tensor = onnx.TensorProto(name="to", data_type=TensorProto.INT64, dims=[length])
    source = model(
        [node(operator, reads, "t", attributes, name="n"), node("Relu", "x", "y")],
        {"x": (2, 3)},
        [tensor] if stored else [],
    )
    if not stored:
        given = helper.make_tensor_value_info("to", TensorProto.INT64, [length])
        source.graph.input.append(given)
    assert len(parse_onnx(source).nodes) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("element", [-1, 1000, 2**31 - 1])
def test_element_types_that_do_not_exist(element: int) -> None:
    tensor = weights("w", 8, 4)
    tensor.data_type = element
    source = model([node("MatMul", "x w", "y", name="n")], {"x": (2, 8)}, [tensor])
    assert parse_onnx(source).macs == 2 * 8 * 4


@pytest.mark.parametrize("version", [-1, 0, 2**31, 2**62])
def test_versions_of_another_domain(version: int) -> None:
    nodes = [node("Mystery", "x", "t", domain="acme"), node("MatMul", "x w", "y")]
    source = model(nodes, {"x": (2, 8)}, [weights("w", 8, 4)])
    source.opset_import[1].version = version
    assert parse_onnx(source).macs == 2 * 8 * 4


@pytest.mark.parametrize("version", [-1, 0, defs.onnx_opset_version() + 1, 2**62])
def test_versions_of_the_standard_operators_that_do_not_exist(version: int) -> None:
    source = model([node("Relu", "x", "y")], {"x": (2, 8)})
    source.opset_import[0].version = version
    with pytest.raises(InputError) as caught:
        parse_onnx(source)
    assert caught.value.found == f"version {version} of the standard operators (opset_import)"
    assert caught.value.expected.startswith(f"a version from 1 to {defs.onnx_opset_version()}")


@pytest.mark.parametrize("version", range(7, defs.onnx_opset_version() + 1))
def test_all_versions_of_the_standard_operators(version: int) -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("Relu", "c", "r"),
        node("Reshape", "r to", "f"),
        node("MatMul", "f m", "y"),
    ]
    stored = [weights("w", 3, 2, 3, 3), integers("to", 1, -1), weights("m", 12, 5)]
    source = model(nodes, {"x": (1, 2, 4, 4)}, stored)
    source.opset_import[0].version = version
    assert parse_onnx(source).macs == 3 * 2 * 9 * 4 + 12 * 5


def test_two_versions_of_one_domain() -> None:
    source = model([node("Relu", "x", "y")], {"x": (2, 8)})
    source.opset_import.append(helper.make_opsetid("ai.onnx", 13))
    with pytest.raises(InputError, match="versions 17 and 13 of domain ''"):
        parse_onnx(source)


def test_the_long_name_of_the_standard_domain() -> None:
    source = model([node("MatMul", "x w", "y", domain="ai.onnx")], {"x": (2, 8)})
    source.graph.initializer.append(weights("w", 8, 4))
    assert parse_onnx(source).macs == 2 * 8 * 4


def test_a_domain_without_a_version() -> None:
    nodes = [node("Mystery", "x", "t", domain="com.else"), node("MatMul", "x w", "y")]
    network = parse_onnx(model(nodes, {"x": (2, 8)}, [weights("w", 8, 4)]))
    assert network.unknown_operators == {"com.else.Mystery": 1}
    assert network.macs == 2 * 8 * 4


def _calls(count: int, each: int) -> onnx.ModelProto:
    """Functions of which each calls the one before it so many times."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    functions = [helper.make_function("acme", "F0", ["a"], ["b"], [node("Relu", "a", "b")], opsets)]
    for i in range(1, count):
        names = ["a", *(f"t{k}" for k in range(1, each)), "b"]
        body = [node(f"F{i - 1}", a, b, domain="acme") for a, b in pairwise(names)]
        functions.append(helper.make_function("acme", f"F{i}", ["a"], ["b"], body, opsets))
    call = node(f"F{count - 1}", "x", "y", domain="acme")
    return model([call], {"x": (2,)}, functions=functions)


def test_functions_that_double_with_every_call() -> None:
    with pytest.raises(InputError) as caught:
        parse_onnx(_calls(60, 2))
    assert caught.value.found == f"functions with {2**59} nodes after inlining"


def test_functions_in_functions() -> None:
    assert len(parse_onnx(_calls(30, 1)).nodes) == 1
    assert len(parse_onnx(_calls(5, 3)).nodes) == 3**4
    _parses_or_explains(_calls(3000, 1))
