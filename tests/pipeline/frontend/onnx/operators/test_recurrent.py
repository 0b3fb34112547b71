"""LSTM, GRU and RNN nodes: two products and the gates between them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def test_an_lstm_of_one_direction() -> None:
    workload = parse_onnx(
        written(
            "float[35,20,650] x, float[1,800,650] w, float[1,800,200] r, float[1,1600] b",
            "y, h, c = LSTM <hidden_size = 200> (x, w, r, b)",
            outputs="y, h, c",
        )
    )
    forward, back = workload.layers
    assert forward.equation == "O[d][k] += I[d][c] * W[c][k]"
    assert forward.sizes == {"C": 650, "D": 35 * 20, "K": 800}
    assert back.equation == "O[b][d][k] += I[b][d][c] * W[c][k]"
    assert back.sizes == {"C": 200, "D": 20, "K": 800, "B": 35}
    gates = workload.nodes[-1]
    assert isinstance(gates, VectorNode)
    assert gates.iterations == (1, 35, 20, 200)
    assert gates.operations == 13 + 4
    assert gates.sources == (forward.name, back.name)
    assert [tensor.name for tensor in gates.outputs] == ["y", "h", "c"]


def test_a_gru_of_two_directions() -> None:
    workload = parse_onnx(
        written(
            "float[7,3,16] x, float[2,96,16] w, float[2,96,32] r",
            'y = GRU <hidden_size = 32, direction = "bidirectional"> (x, w, r)',
        )
    )
    forward, back = workload.layers
    assert forward.equation == "O[b][d][k] += I[d][c] * W[b][c][k]"
    assert back.equation == "O[b][h][d][k] += I[b][h][d][c] * W[b][c][k]"
    assert back.sizes == {"C": 32, "D": 3, "K": 96, "B": 2, "H": 7}


def test_the_first_state_comes_from_a_node() -> None:
    workload = parse_onnx(
        written(
            "float[7,3,16] x, float[1,32,16] w, float[1,32,32] r, float[1,3,32] z",
            "h = Relu (z) y = RNN <hidden_size = 32> (x, w, r, , , h)",
        )
    )
    assert workload.layers[1].inputs[0].source == workload.nodes[0].name


SIZE = st.integers(1, 6)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(GATES)),
    st.tuples(SIZE, SIZE, SIZE, SIZE),
    st.sampled_from(["forward", "reverse", "bidirectional"]),
    st.booleans(),
)
def test_products_and_weights(
    operator: str, sizes: tuple[int, int, int, int], direction: str, batch_first: bool
) -> None:
    steps, batch, inputs, hidden = sizes
    directions = 2 if direction == "bidirectional" else 1
    wide = GATES[operator] * hidden
    image = f"{batch},{steps},{inputs}" if batch_first else f"{steps},{batch},{inputs}"
    attributes = f'<hidden_size = {hidden}, direction = "{direction}", layout = {batch_first:d}>'
    workload = parse_onnx(
        written(
            f"float[{image}] x, float[{directions},{wide},{inputs}] w,"
            f"float[{directions},{wide},{hidden}] r",
            f"y = {operator} {attributes} (x, w, r)",
        )
    )
    forward, back = workload.layers
    assert forward.macs == steps * batch * directions * wide * inputs
    assert back.macs == steps * batch * directions * wide * hidden
    assert forward.elements("W") == directions * wide * inputs
    assert back.elements("W") == directions * wide * hidden
    assert forward.elements("I") == steps * batch * inputs
    assert back.elements("I") == steps * batch * directions * hidden


def test_lstm_of_onnx_runtime() -> None:
    workload = parse_onnx(
        written(
            "float[7,3,16] x, int8[1,16,128] w, int8[1,32,128] r",
            "y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 32> (x, w, r)",
        )
    )
    forward, back = workload.layers
    assert (forward.sizes, back.sizes) == (
        {"C": 16, "D": 21, "K": 128},
        {"C": 32, "D": 3, "K": 128, "B": 7},
    )
    assert [x.precision for x in (*forward.inputs, *back.inputs)] == [8, 8, 8, 8]
    assert (forward.output.partial_precision, back.output.partial_precision) == (32, 32)


@pytest.mark.parametrize(
    ("weights", "attributes", "expected"),
    [
        ("float[1,100,16] w, float[1,128,32] r", "", "[1, 128, 16] and [1, 128, 32]"),
        ("float[2,128,16] w, float[2,128,32] r", "", "[1, 128, 16] and [1, 128, 32]"),
        ("float[1,128,16] w, float[1,128,32] r", "<hidden_size = 31>", "32, as in R"),
        ("float[1,128,16] w, float r", "", "[1, 0, 16] and [1, 0, 0]"),
    ],
)
def test_wrong(weights: str, attributes: str, expected: str) -> None:
    with pytest.raises(InputError, match=r"\(LSTM\)") as caught:
        parse_onnx(written(f"float[7,3,16] x, {weights}", f"y = LSTM {attributes} (x, w, r)"))
    assert expected in caught.value.expected
