"""Vector operators whose tensors and attributes do not fit: a result or a located error."""

from contextlib import suppress

import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from nestmap.model import InputError, VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.operators.record import Vector
from nestmap.pipeline.frontend.onnx.operators.registry import operators_that_become
from tests.properties.variants import examples

NAMES = ("axis", "kernel_shape", "size", "mode", "sampling_ratio", "num_heads", "approximate")
MORE_NAMES = ("rotary_embedding_dim", "reduction", "training_mode", "antialias", "activation")
VALUES = (0, 1, -1, -9, 3, 2**31, 1.5, "linear", "tanh", "none", [2], [1, 2], [-1, 3], [0])

sizes = st.sampled_from([1, 2, 2, 3, 4, 0])
shapes = st.lists(sizes, max_size=5) | st.none()
attributes = st.dictionaries(
    st.sampled_from((*NAMES, *MORE_NAMES)), st.sampled_from(VALUES), max_size=3
)


@examples
@given(
    st.sampled_from(sorted(operators_that_become(Vector))),
    st.lists(shapes, max_size=6),
    st.lists(shapes, min_size=1, max_size=2),
    attributes,
    st.sampled_from([9, 13, 17, 22]),
)
def test_a_result_or_a_located_error(
    operator: str,
    read: list[list[int] | None],
    made: list[list[int] | None],
    stated: dict[str, int | float | str | list[int]],
    opset: int,
) -> None:
    domain, _, name = operator.rpartition(".")
    inputs, outputs = _values("x", read), _values("y", made)
    reads, makes = ([value.name for value in values] for values in (inputs, outputs))
    node = helper.make_node(name, reads, makes, name="node", domain=domain)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in stated.items())
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "net", inputs, outputs)
    with suppress(InputError):
        (parsed,) = parse_onnx(helper.make_model(graph, opset_imports=opsets)).nodes
        assert not isinstance(parsed, VectorNode) or parsed.total_operations > 0


def _values(letter: str, group: list[list[int] | None]) -> list[onnx.ValueInfoProto]:
    kind = onnx.TensorProto.FLOAT
    return [
        helper.make_tensor_value_info(f"{letter}{i}", kind, shape) for i, shape in enumerate(group)
    ]
