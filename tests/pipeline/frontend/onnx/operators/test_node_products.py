"""Array operators of the onnx package's node tests: their products counted from what was run.

The counts are written down from the definitions of the operators, with the shapes of the arrays of
a run; the parser's own shapes play no part.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import prod

import onnx

from nestmap.model import InputError, Layer, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.operators.record import Layers
from nestmap.pipeline.frontend.onnx.operators.registry import operators_that_become
from tests.pipeline.frontend.onnx.counting import products_of_einsum
from tests.pipeline.frontend.onnx.node_cases import NodeCase, node_cases

Node = onnx.NodeProto
Attributes = Mapping[str, object]


def _attributes(node: Node) -> Attributes:
    return {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}


def _whole(attributes: Attributes, name: str, default: int = 0) -> int:
    value = attributes.get(name, default)
    assert isinstance(value, int)
    return value


def _read(case: NodeCase, node: Node, position: int) -> tuple[int, ...]:
    """The shape of an input; that of no input is empty."""
    name = node.input[position] if position < len(node.input) else ""
    return case.inputs[name].shape if name else ()


def _made(case: NodeCase, node: Node) -> tuple[int, ...]:
    return case.outputs[node.output[0]].shape


def _windows(weights: int) -> Callable[[NodeCase, Node], int]:
    """For each output one product with each weight of its channel."""
    return lambda case, node: prod(_made(case, node)) * prod(_read(case, node, weights)[1:])


def _scattered(case: NodeCase, node: Node) -> int:
    """Pairs of an output and a kernel element that meet at a multiple of the stride."""
    attributes = _attributes(node)
    image, weights, made = _read(case, node, 0), _read(case, node, 1), _made(case, node)
    count = len(image) - 2
    strides, dilations, pads = (
        _axis_values(node, name, [default] * count * times)
        for name, default, times in (("strides", 1, 1), ("dilations", 1, 1), ("pads", 0, 2))
    )
    pairs = 1
    for i in range(count):
        whole = strides[i] * (image[i + 2] - 1) + dilations[i] * (weights[i + 2] - 1) + 1
        before = pads[i]
        if "auto_pad" in attributes or "output_shape" in attributes:
            extra = _axis_values(node, "output_padding", [0] * count)[i]
            crop = whole + extra - made[i + 2]
            before = crop // 2 if attributes.get("auto_pad") == b"SAME_UPPER" else crop - crop // 2
        pairs *= sum(
            (o + before - dilations[i] * f) % strides[i] == 0
            for o in range(made[i + 2])
            for f in range(weights[i + 2])
        )
    return pairs * image[0] * image[1] * weights[1]


def _axis_values(node: Node, name: str, default: list[int]) -> list[int]:
    return next((list(x.ints) for x in node.attribute if x.name == name), default)


def _inner(left: int = 0) -> Callable[[NodeCase, Node], int]:
    """For each output one product with each element of a row."""
    return lambda case, node: prod(_made(case, node)) * _read(case, node, left)[-1]


def _gemm(case: NodeCase, node: Node) -> int:
    axis = 0 if _attributes(node).get("transA") else 1
    return prod(_made(case, node)) * _read(case, node, 0)[axis]


def _einsum(case: NodeCase, node: Node) -> int:
    equation = _attributes(node)["equation"]
    assert isinstance(equation, bytes)
    shapes = [_read(case, node, position) for position in range(len(node.input))]
    return products_of_einsum(equation.decode(), shapes) if len(shapes) > 1 else 0


def _heads(case: NodeCase, node: Node, position: int) -> tuple[int, int, int, int]:
    sizes = _read(case, node, position)
    if len(sizes) == 4:
        return sizes[0], sizes[1], sizes[2], sizes[3]
    name = "q_num_heads" if position == 0 else "kv_num_heads"
    heads = _whole(_attributes(node), name)
    return sizes[0], heads, sizes[1], sizes[2] // heads


def _attention(case: NodeCase, node: Node) -> int:
    batch, heads, queries, size = _heads(case, node, 0)
    past = _read(case, node, 4) if node.op_type == "Attention" else ()
    keys = _heads(case, node, 1)[2] + (past[2] if past else 0)
    return batch * heads * queries * keys * (size + _heads(case, node, 2)[3])


def _linear_attention(case: NodeCase, node: Node) -> int:
    """State times query for each query head; outer product and, in delta rules, state times key."""
    batch, heads, steps, size = _heads(case, node, 0)
    _, key_heads, _, value_size = _heads(case, node, 2)
    rule = _attributes(node).get("update_rule", b"gated_delta")
    assert isinstance(rule, bytes)
    return batch * steps * size * value_size * (heads + key_heads * (1 + (b"delta" in rule)))


def _recurrent(case: NodeCase, node: Node) -> int:
    """Each step multiplies each row of the batch with all of W and R."""
    image, kernel, state = (_read(case, node, position) for position in range(3))
    return image[0] * image[1] * (prod(kernel) + prod(state))


PRODUCTS: Mapping[str, Callable[[NodeCase, Node], int]] = {
    "Conv": _windows(1),
    "ConvInteger": _windows(1),
    "QLinearConv": _windows(3),
    "DeformConv": _windows(1),
    "CausalConvWithState": _windows(1),
    "ConvTranspose": _scattered,
    "Gemm": _gemm,
    "MatMul": _inner(),
    "MatMulInteger": _inner(),
    "QLinearMatMul": _inner(),
    "Einsum": _einsum,
    "Attention": _attention,
    "FlexAttention": _attention,
    "LinearAttention": _linear_attention,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
}


def _single() -> Iterator[tuple[NodeCase, Node]]:
    """The models of nothing but one array operator."""
    for case in node_cases().values():
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in PRODUCTS:
            yield case, nodes[0]


def test_products_are_those_of_the_definition() -> None:
    seen: Counter[str] = Counter()
    for case, node in _single():
        workload = parse_onnx(case.model)
        assert workload.macs == PRODUCTS[node.op_type](case, node), case.name
        seen[node.op_type] += 1
    assert seen.keys() == PRODUCTS.keys()
    assert seen.total() > 200


def test_every_standard_operator_is_among_them() -> None:
    standard = {
        name.rpartition(".")[2] for name in operators_that_become(Layers) if "microsoft" not in name
    }
    assert standard == PRODUCTS.keys()


def test_the_last_node_makes_what_the_onnx_node_makes() -> None:
    for case, node in _single():
        workload = parse_onnx(case.model)
        last = workload.nodes[-1]
        assert last.name == (node.name or f"{node.op_type}_0")
        assert [tensor.name for tensor in last.outputs] == [x for x in node.output if x]
        readers = {source for each in workload.nodes for source in each.sources}
        assert readers == {each.name for each in workload.nodes[:-1]}


WEIGHTS = {"QLinearConv": 3, "QLinearMatMul": 3}
WHOLE_INPUT = {"Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"}


def test_operands_are_as_large_as_the_tensors() -> None:
    for case, node in _single():
        layers = parse_onnx(case.model).layers
        if node.op_type in {"Einsum", "Attention", "FlexAttention", "LinearAttention"}:
            continue
        if node.op_type in {"LSTM", "GRU", "RNN"}:
            found = [layer.elements("W") for layer in layers]
            assert found == [prod(_read(case, node, 1)), prod(_read(case, node, 2))]
            continue
        weights = prod(_read(case, node, WEIGHTS.get(node.op_type, 1)))
        assert sum(layer.elements("W") for layer in layers) == weights, case.name
        assert sum(layer.elements("O") for layer in layers) == prod(_made(case, node)), case.name
        if node.op_type in WHOLE_INPUT:
            assert layers[0].elements("I") == prod(_read(case, node, 0)), case.name


def _outcome(case: NodeCase) -> Workload | str:
    try:
        return parse_onnx(case.model)
    except InputError as error:
        return error.found


def test_models_with_array_operators_parse_or_say_why() -> None:
    names = {name.rpartition(".")[2] for name in operators_that_become(Layers)}
    found = {case.name: _outcome(case) for case in node_cases().values() if case.operators & names}
    errors = {name: reason for name, reason in found.items() if isinstance(reason, str)}
    assert all(name.startswith("test_affine_grid_") for name in errors)  # run-time sizes
    assert all("unknown sizes" in reason for reason in errors.values())
    assert len(found) > 300


def _facts(layer: Layer) -> tuple[object, ...]:
    """What mapping the layer depends on; loops of one iteration change nothing."""
    sizes = {name: size for name, size in layer.sizes.items() if size > 1}
    elements = [layer.elements(operand.name) for operand in layer.operands]
    return sorted(sizes.values()), sizes.get("C"), sizes.get("D"), sizes.get("K"), elements


def test_expanded_attention_has_the_layers_of_the_operator() -> None:
    """Function bodies of the standard: separate MatMuls, keys repeated by Expand."""
    compared = shared = 0
    for case in node_cases().values():
        whole = node_cases().get(case.name.removesuffix("_expanded"))
        if "MatMul" in case.operators and whole and whole.operators == frozenset(["Attention"]):
            layers = parse_onnx(whole.model).layers
            assert [_facts(x) for x in parse_onnx(case.model).layers] == [
                _facts(x) for x in layers
            ], case.name
            compared += 1
            shared += "B3" in layers[0].sizes
    assert compared > 70
    assert shared > 10
