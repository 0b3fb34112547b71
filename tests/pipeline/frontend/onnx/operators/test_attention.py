"""Attention: operators and the MatMul nodes that they stand for become the same two layers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, Layer, NoCostNode, VectorNode, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written

SCORES = "O[b][h][d][k] += I[b][h][d][c] * W[b][h][k][c]"
VALUES = "O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]"
SHARED_SCORES = "O[b][h][b3][d][k] += I[b][h][b3][d][c] * W[b][h][k][c]"
SHARED_VALUES = "O[b][h][b3][d][k] += I[b][h][b3][d][c] * W[b][h][c][k]"


def _facts(workload: Workload) -> list[tuple[object, ...]]:
    """What the mapping of each layer depends on; a Transpose orders the axes of its output."""
    return [
        (
            layer.loops,
            [sorted(map(str, operand.indices)) for operand in layer.operands],
            [operand.precision for operand in layer.operands],
            layer.output.partial_precision,
            [layer.elements(operand.name) for operand in layer.operands],
        )
        for layer in workload.layers
    ]


def _separate(query: str, key: str, value: str, nodes: str) -> Workload:
    return parse_onnx(written(f"float[{query}] q, float[{key}] k, float[{value}] v", nodes))


def _operator(query: str, key: str, value: str, attributes: str = "") -> Workload:
    call = f"y = Attention {attributes} (q, k, v)"
    return parse_onnx(written(f"float[{query}] q, float[{key}] k, float[{value}] v", call))


SEPARATE = """
    t = Transpose <perm = [0, 1, 3, 2]> (k)
    s = MatMul (q, t)
    r = Constant <value_float = 0.125> ()
    c = Mul (s, r)
    p = Softmax (c)
    y = MatMul (p, v)
"""


def test_separate_nodes_and_the_operator() -> None:
    shapes = ("2,12,5,64", "2,12,7,64", "2,12,7,32")
    operator = _operator(*shapes)
    assert _facts(operator) == _facts(_separate(*shapes, SEPARATE))
    first, second = operator.layers
    assert (first.equation, second.equation) == (SCORES, VALUES)
    assert first.sizes == {"C": 64, "D": 5, "K": 7, "B": 2, "H": 12}
    assert second.sizes == {"C": 7, "D": 5, "K": 32, "B": 2, "H": 12}


HEADS = """
    to = Constant <value_ints = [2, -1, 12, 64]> ()
    q4 = Reshape (q, to)
    k4 = Reshape (k, to)
    v4 = Reshape (v, to)
    qt = Transpose <perm = [0, 2, 1, 3]> (q4)
    kt = Transpose <perm = [0, 2, 3, 1]> (k4)
    vt = Transpose <perm = [0, 2, 1, 3]> (v4)
    s = MatMul (qt, kt)
    p = Softmax (s)
    o = MatMul (p, vt)
    ot = Transpose <perm = [0, 2, 1, 3]> (o)
    back = Constant <value_ints = [2, -1, 768]> ()
    y = Reshape (ot, back)
"""


def test_through_transpose_and_reshape() -> None:
    shapes = ("2,5,768", "2,7,768", "2,7,768")
    operator = _operator(*shapes, "<q_num_heads = 12, kv_num_heads = 12>")
    assert _facts(operator) == _facts(_separate(*shapes, HEADS))


REPEATED = """
    axes = Constant <value_ints = [2]> ()
    to = Constant <value_ints = [1, 8, 4, 7, 64]> ()
    merged = Constant <value_ints = [1, 32, 7, 64]> ()
    k5 = Unsqueeze (k, axes)
    ke = Expand (k5, to)
    kr = Reshape (ke, merged)
    kt = Transpose <perm = [0, 1, 3, 2]> (kr)
    v5 = Unsqueeze (v, axes)
    ve = Expand (v5, to)
    vr = Reshape (ve, merged)
    r = Constant <value_float = 0.35> ()
    qs = Mul (q, r)
    ks = Mul (kt, r)
    s = MatMul (qs, ks)
    p = Softmax (s)
    y = MatMul (p, vr)
"""


def test_repeated_keys_are_those_of_grouped_queries() -> None:
    """Eight key heads for 32 query heads, as in Llama, also where each key is scaled."""
    shapes = ("1,32,5,64", "1,8,7,64", "1,8,7,64")
    operator = _operator(*shapes)
    assert _facts(operator) == _facts(_separate(*shapes, REPEATED))
    first, second = operator.layers
    assert (first.equation, second.equation) == (SHARED_SCORES, SHARED_VALUES)
    assert first.sizes == {"C": 64, "D": 5, "K": 7, "B": 1, "H": 8, "B3": 4}
    assert first.elements("W") == 8 * 7 * 64


def test_expanded_batches_are_read_once() -> None:
    nodes = "to = Constant <value_ints = [6, 4, 8]> () e = Expand (w, to) y = MatMul (x, e)"
    (layer,) = parse_onnx(written("float[6,3,4] x, float[1,4,8] w", nodes)).layers
    assert layer.equation == "O[b][d][k] += I[b][d][c] * W[c][k]"
    assert layer.elements("W") == 32


def test_two_repeated_inputs() -> None:
    nodes = """
        to = Constant <value_ints = [6, 4, 4]> ()
        a = Expand (x, to)
        b = Expand (w, to)
        y = MatMul (a, b)
    """
    (layer,) = parse_onnx(written("float[1,4,4] x, float[1,4,4] w", nodes)).layers
    assert layer.macs == 6 * 4 * 4 * 4


def test_the_nodes_of_an_operator() -> None:
    workload = parse_onnx(
        written(
            "float[2,6,5,8] q, float[2,2,7,8] k, float[2,2,7,8] v, float[5,10] m,"
            "float[2,2,3,8] pk, float[2,2,3,8] pv",
            "y, ok, ov = Attention <is_causal = 1, softcap = 30.0> (q, k, v, m, pk, pv)",
            outputs="float[2,6,5,8] y, float[2,2,10,8] ok, float[2,2,10,8] ov",
        )
    )
    key, value, scores, softmax, last = workload.nodes
    assert isinstance(key, NoCostNode)
    assert key.outputs[0].sizes == value.outputs[0].sizes == (2, 2, 10, 8)
    assert scores.sources == (key.name,)
    assert isinstance(softmax, VectorNode)
    assert softmax.iterations == (2, 6, 5, 10)
    assert softmax.operations == 5 + 1 + 1 + 1 + 3  # Softmax, scale, mask, causal, soft cap
    assert [tensor.name for tensor in softmax.inputs] == [scores.name, "m"]
    assert last.sources == (softmax.name, value.name)
    assert [tensor.name for tensor in last.outputs] == ["y", "ok", "ov"]
    assert [node.operator for node in workload.nodes] == [
        "Concat",
        "Concat",
        "Attention",
        "Softmax",
        "Attention",
    ]


def test_an_empty_cache() -> None:
    shapes = "float[1,2,5,8] q, float[1,2,5,8] k, float[1,2,5,8] v"
    caches = "float[1,2,0,8] pk, float[1,2,0,8] pv"
    call = "y, ok, ov = Attention (q, k, v, , pk, pv)"
    outputs = "float[1,2,5,8] y, float[1,2,5,8] ok, float[1,2,5,8] ov"
    with_cache = parse_onnx(written(f"{shapes}, {caches}", call, outputs=outputs))
    assert _facts(with_cache) == _facts(parse_onnx(written(shapes, "y = Attention (q, k, v)")))


SIZES = st.integers(1, 6)


@settings(deadline=None)
@given(st.tuples(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES, SIZES), st.integers(0, 3), st.booleans())
def test_products(sizes: tuple[int, int, int, int, int, int, int], past: int, flat: bool) -> None:
    batch, keys, shared, queries, length, size, value_size = sizes
    heads, total = keys * shared, length + past
    if flat:
        shapes = (
            f"float[{batch},{queries},{heads * size}] q, float[{batch},{length},{keys * size}] k,"
            f"float[{batch},{length},{keys * value_size}] v"
        )
    else:
        shapes = (
            f"float[{batch},{heads},{queries},{size}] q, float[{batch},{keys},{length},{size}] k,"
            f"float[{batch},{keys},{length},{value_size}] v"
        )
    caches = f"float[{batch},{keys},{past},{size}] pk, float[{batch},{keys},{past},{value_size}] pv"
    numbers = f"<q_num_heads = {heads}, kv_num_heads = {keys}>" if flat else ""
    call = f"y, ok, ov = Attention {numbers} (q, k, v, , pk, pv)"
    workload = parse_onnx(written(f"{shapes}, {caches}", call, outputs="y, ok, ov"))
    first, second = workload.layers
    assert first.macs == batch * heads * queries * total * size
    assert second.macs == batch * heads * queries * total * value_size
    assert _elements(first) == [
        batch * heads * queries * total,
        batch * heads * queries * size,
        batch * keys * total * size,
    ]
    assert _elements(second) == [
        batch * heads * queries * value_size,
        batch * heads * queries * total,
        batch * keys * total * value_size,
    ]


def _elements(layer: Layer) -> list[int]:
    return [layer.elements(operand.name) for operand in layer.operands]


def test_attention_of_onnx_runtime() -> None:
    """BERT-base: the input is projected by one product."""
    workload = parse_onnx(
        written(
            "float[2,128,768] x, float[768,2304] w, float[2304] b",
            "y = com.microsoft.Attention <num_heads = 12> (x, w, b)",
        )
    )
    projection, scores, values = workload.layers
    assert projection.sizes == {"C": 768, "D": 128, "K": 2304, "B": 2}
    assert projection.elements("W") == 768 * 2304
    assert scores.sizes == {"C": 64, "D": 128, "K": 128, "B": 2, "H": 12}
    assert values.sizes == {"C": 128, "D": 128, "K": 64, "B": 2, "H": 12}
    assert [x.source for x in scores.inputs] == [projection.name, projection.name]
    assert workload.nodes[-1].outputs[0].sizes == (2, 128, 768)


def test_multi_head_attention_of_onnx_runtime() -> None:
    shapes = ("2,5,768", "2,7,768", "2,7,768")
    inputs = ", ".join(f"float[{shape}] {name}" for shape, name in zip(shapes, "qkv", strict=True))
    call = "y = com.microsoft.MultiHeadAttention <num_heads = 12> (q, k, v)"
    separate = _separate(*shapes, HEADS)
    assert _facts(parse_onnx(written(inputs, call))) == _facts(separate)


@pytest.mark.parametrize("packed", [True, False])
def test_group_query_attention_of_onnx_runtime(packed: bool) -> None:
    """One new token with 15 in the cache: queries, keys and values apart or packed."""
    shapes = "float[1,1,384] q" if packed else "float[1,1,256] q, float[1,1,64] k, float[1,1,64] v"
    past = "float[1,2,15,32] pk, float[1,2,15,32] pv, int32[1] lengths, int32[1] total"
    read = ("q, , ," if packed else "q, k, v,") + " pk, pv, lengths, total"
    numbers = "<num_heads = 8, kv_num_heads = 2>"
    call = f"y, ok, ov = com.microsoft.GroupQueryAttention {numbers} ({read})"
    workload = parse_onnx(written(f"{shapes}, {past}", call, outputs="y, ok, ov"))
    first, second = workload.layers
    assert first.sizes == {"C": 32, "D": 1, "K": 16, "B": 1, "H": 2, "B3": 4}
    assert second.sizes == {"C": 16, "D": 1, "K": 32, "B": 1, "H": 2, "B3": 4}


@pytest.mark.parametrize("shared", [0, 1])
def test_decoder_attention_of_onnx_runtime(shared: int) -> None:
    """One new token, with 15 before it in a cache, or in a buffer for 16."""
    length = 15 + shared
    inputs = "float[2,1,64] q, float[2,1,64] k, float[2,1,64] v, " + ", ".join(
        f"float[2,4,{length},16] {name}" for name in ("pk", "pv")
    )
    call = (
        "y, ok, ov = com.microsoft.DecoderMaskedMultiHeadAttention "
        f"<num_heads = 4, past_present_share_buffer = {shared}> (q, k, v, , , pk, pv)"
    )
    first, second = parse_onnx(written(inputs, call, outputs="y, ok, ov")).layers
    assert first.sizes == {"C": 16, "D": 1, "K": 16, "B": 2, "H": 4}
    assert second.sizes == {"C": 16, "D": 1, "K": 16, "B": 2, "H": 4}


def test_decoder_attention_to_an_encoder() -> None:
    """Keys and values of 7 positions, from the encoder."""
    inputs = "float[2,1,64] q, float[2,4,7,16] k, float[2,4,7,16] v"
    call = "y = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4> (q, k, v)"
    workload = parse_onnx(written(inputs, call))
    assert workload.layers[0].sizes == {"C": 16, "D": 1, "K": 7, "B": 2, "H": 4}
    assert workload.nodes[-1].outputs[0].sizes == (2, 1, 64)


def test_sparse_attention_of_onnx_runtime() -> None:
    """All blocks count; the keys are those of the cache."""
    inputs = (
        "float[1,32,256] q, float[1,32,64] k, float[1,32,64] v, float[1,2,64,32] pk, "
        "float[1,2,64,32] pv, int32[1,5] rows, int32[1,10] columns, int32[1] total, int32[1] l"
    )
    call = (
        "y, ok, ov = com.microsoft.SparseAttention <num_heads = 8, kv_num_heads = 2, "
        "sparse_block_size = 16> (q, k, v, pk, pv, rows, columns, total, l)"
    )
    stated = "float[1,32,256] y, float[1,2,64,32] ok, float[1,2,64,32] ov"
    first, second = parse_onnx(written(inputs, call, outputs=stated)).layers
    assert first.sizes == {"C": 32, "D": 32, "K": 64, "B": 1, "H": 2, "B3": 4}
    assert second.sizes == {"C": 64, "D": 32, "K": 32, "B": 1, "H": 2, "B3": 4}


@pytest.mark.parametrize("packed", [True, False])
def test_paged_attention_of_onnx_runtime(packed: bool) -> None:
    """Three sequences of two tokens each, with up to five blocks of 16 places."""
    shapes = "float[6,384] q" if packed else "float[6,256] q, float[6,64] k, float[6,64] v"
    inputs = (
        f"{shapes}, float[40,16,2,32] pk, float[40,16,2,32] pv, int32[4] ends, int32[3] past, "
        "int32[3,5] blocks"
    )
    read = ("q, , ," if packed else "q, k, v,") + " pk, pv, ends, past, blocks"
    numbers = "<num_heads = 8, kv_num_heads = 2>"
    workload = parse_onnx(written(inputs, f"y = com.microsoft.PagedAttention {numbers} ({read})"))
    first, second = workload.layers
    assert first.sizes == {"C": 32, "D": 2, "K": 80, "B": 3, "H": 2, "B3": 4}
    assert second.sizes == {"C": 80, "D": 2, "K": 32, "B": 3, "H": 2, "B3": 4}
    assert workload.nodes[-1].outputs[0].sizes == (6, 256)


_DECODER = (
    "y = com.microsoft.DecoderMaskedMultiHeadAttention "
    "<num_heads = 4, past_present_share_buffer = 1> (q, k, v, , , pk, pv)"
)
_PAGED = (
    "y = com.microsoft.PagedAttention <num_heads = 8, kv_num_heads = 2> "
    "(q, , , pk, pv, ends, past, blocks)"
)
_NEW = "float[2,1,64] q, float[2,1,64] k, float[2,1,64] v"
_ENDS = "int32[4] ends, int32[3] past"
CACHES = {
    "a buffer of two axes": (f"{_NEW}, float[2,4] pk, float[2,4] pv", _DECODER),
    "a buffer of other heads": (f"{_NEW}, float[2,4,9,8] pk, float[2,4,9,8] pv", _DECODER),
    "buffers of two lengths": (f"{_NEW}, float[2,4,9,16] pk, float[2,4,8,16] pv", _DECODER),
    "tokens of three axes": (
        f"float[1,6,384] q, float[9,16,2,32] pk, float[9,16,2,32] pv, {_ENDS}, int32[3,5] blocks",
        _PAGED,
    ),
    "other heads in blocks": (
        f"float[6,384] q, float[9,16,4,16] pk, float[9,16,4,16] pv, {_ENDS}, int32[3,5] blocks",
        _PAGED,
    ),
    "other blocks of values": (
        f"float[6,384] q, float[9,16,2,32] pk, float[9,8,2,32] pv, {_ENDS}, int32[3,5] blocks",
        _PAGED,
    ),
}


@pytest.mark.parametrize(("inputs", "call"), CACHES.values(), ids=CACHES)
def test_caches_of_other_shapes_are_told(inputs: str, call: str) -> None:
    with pytest.raises(InputError, match="Attention"):
        parse_onnx(written(inputs, call))


WRONG = {
    "heads": ("2,5,768", "2,7,768", "2,7,768", "<q_num_heads = 7, kv_num_heads = 7>", "heads"),
    "no heads": ("2,5,768", "2,7,768", "2,7,768", "", "heads that divide hidden"),
    "shared": ("1,5,2,8", "1,3,7,8", "1,3,7,8", "", "key heads divide"),
    "lengths": ("1,2,5,8", "1,2,7,8", "1,2,6,8", "", "lengths"),
    "head sizes": ("1,2,5,8", "1,2,7,9", "1,2,7,8", "", "sizes of queries and keys"),
}


@pytest.mark.parametrize(("query", "key", "value", "attributes", "expected"), WRONG.values())
def test_wrong(query: str, key: str, value: str, attributes: str, expected: str) -> None:
    with pytest.raises(InputError, match=r"\(Attention\)") as caught:
        _operator(query, key, value, attributes)
    assert expected in caught.value.expected
