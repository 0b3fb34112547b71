"""Layers in a line: what they are made of, how they are connected, what is refused."""

import pytest
from pydantic import ValidationError

import nestmap
from nestmap.model import InputError, Layer, LayerNode, VectorNode
from nestmap.model.workload.builders import Source


def test_two_lines() -> None:
    c1 = nestmap.conv2d("c1", (1, 3, 32, 32), (16, 3, 3, 3), padding=1)
    found = nestmap.explore(nestmap.network("mine", c1), "tpu_like", search="loma", lpf_limit=3)
    assert found.workload == "mine"
    assert [result.cme.layer for result in found.layers] == ["c1"]


def test_padding_and_strides_lie_in_the_axes() -> None:
    layer = nestmap.conv2d(
        "c", (2, 8, 9, 30), (4, 2, 3, 5), stride=(1, 2), padding=(0, 2), dilation=(2, 1), groups=4
    )
    assert layer.sizes == {
        **{"B": 2, "K": 1, "G": 4, "OX": 15, "OY": 5},
        **{"C": 2, "FX": 5, "FY": 3},
    }
    image = layer.inputs[1]
    assert [str(index) for index in image.indices] == ["b", "g", "c", "oy+2*fy", "2*ox+fx"]
    assert [index.padding for index in image.indices[-2:]] == [(0, 0), (2, 2)]
    assert [index.size for index in image.indices[-2:]] == [9, 30]
    assert [x.constant for x in layer.inputs] == [True, False]


def test_one_and_three_axes() -> None:
    flat = nestmap.conv1d("c", (1, 4, 10), (2, 4, 3), stride=2)
    assert (flat.sizes["OX"], flat.sizes["OY"], flat.macs) == (4, 1, 4 * 2 * 4 * 3)
    deep = nestmap.conv3d("c", (1, 4, 5, 6, 7), (2, 4, 1, 2, 3))
    assert [deep.sizes[d] for d in ("OZ", "OY", "OX")] == [5, 5, 5]
    assert deep.macs == 5 * 5 * 5 * 2 * 4 * 6


def test_precision_by_role() -> None:
    bits = nestmap.Precision(weight=4, activation=16, output=8, partial_sum=32)
    layer = nestmap.linear("fc", (3, 5), 7, precision=bits)
    assert {x.name: x.precision for x in layer.inputs} == {"I": 16, "W": 4}
    assert (layer.output.precision, layer.output.partial_precision) == (8, 32)
    both = nestmap.matmul("m", (3, 5), (5, 7), precision=nestmap.Precision(weight=4, activation=16))
    assert [x.precision for x in both.inputs] == [16, 16]
    assert (both.output.precision, both.output.partial_precision) == (16, 32)


def test_sources_are_names_layers_nodes_or_what_ends_in_them() -> None:
    a = nestmap.gemm("a", (4, 8), (8, 16))
    core = nestmap.attention("core", (1, 2, 4, 8), sources=("a", a, LayerNode(layer=a)))
    readers: list[tuple[Source, str | None]] = [
        (None, None),
        ("a", "a"),
        (a, "a"),
        (core, "core"),
        (core[1], "core/softmax"),
    ]
    for source, name in readers:
        assert nestmap.linear("x", (4, 8), 3, source=source).inputs[0].source == name
    assert core[0].sources == ("a", "a")
    assert core[2].sources == ("core/softmax", "a")
    after = nestmap.linear("after", (1, 2, 4, 8), 5, source=core)
    assert nestmap.network("n", a, core, after).readers["core"] == ("after",)


def test_attention_is_two_products_and_a_softmax() -> None:
    scores, softmax, values = nestmap.attention("a", (2, 6, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4))
    assert isinstance(scores, LayerNode)
    assert isinstance(softmax, VectorNode)
    assert isinstance(values, LayerNode)
    assert scores.layer.macs == 2 * 6 * 5 * 7 * 8
    assert values.layer.macs == 2 * 6 * 5 * 7 * 4
    # two heads of queries share each head of keys
    assert scores.layer.elements("W") == 2 * 3 * 7 * 8
    assert values.layer.elements("W") == 2 * 3 * 7 * 4
    assert softmax.iterations == (2, 6, 5, 7)
    assert [t.sizes for t in values.outputs] == [(2, 6, 5, 4)]
    assert not any(x.constant for node in (scores, values) for x in node.layer.inputs)
    for reader, maker in ((softmax, scores), (values, softmax)):
        assert reader.inputs[0] == maker.outputs[0]
        assert reader.sources[0] == maker.name


def conv(image: tuple[int, ...] = (1, 4, 8, 8), weights: tuple[int, ...] = (4, 4, 3, 3)) -> Layer:
    return nestmap.conv2d("c", image, weights)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: conv((4, 8, 8)), r"conv2d 'c': found image 4 x 8 x 8; expected 4 sizes: batch"),
        (lambda: conv(weights=(4, 3, 3, 3)), r"4 input channels, .*; expected 3 x 1 input"),
        (lambda: conv(weights=(4, 4, 9, 3)), r"spans 9 of 8 \+ 0 elements \(axis Y\)"),
        (lambda: conv((1, 4, 0, 8)), r"image 1 x 4 x 0 x 8; expected whole numbers from 1"),
        (lambda: conv((1, 4, 2**31, 8)), r"whole numbers from 1 to 2\*\*31 - 1"),
        (lambda: nestmap.conv2d("c", (1, 4, 8, 8), (6, 1, 3, 3), groups=4), "6 output channels in"),
        (lambda: nestmap.conv2d("c", (1, 4, 8, 8), (4, 4, 3, 3), padding=-1), "padding -1"),
        (lambda: nestmap.conv2d("c", (1, 4, 8, 8), (4, 4, 3, 3), stride=(1, 1, 1)), "each of 2"),
        (lambda: nestmap.conv2d("c", (1, 4, 8, 8), (4, 4, 3, 3), groups=0), "groups 0"),
        (lambda: nestmap.gemm("g", (2, 3), (4, 5)), r"gemm 'g': found 2 x 3 and 4 x 5, whose"),
        (lambda: nestmap.gemm("g", (2, 3, 4), (4, 5)), "expected 2 sizes: rows, inner"),
        (lambda: nestmap.linear("l", (3,), 4), "expected two sizes or more"),
        (lambda: nestmap.linear("l", (3, 4), 0), "features 0"),
        (lambda: nestmap.matmul("m", (2, 3, 4), (3, 4, 5)), "batch axes 2 and 3; expected"),
        (lambda: nestmap.attention("a", (1, 6, 5, 8), (1, 4, 5, 8)), "keys in equal groups"),
        (lambda: nestmap.attention("a", (1, 6, 5, 8), (1, 6, 5, 4)), "same batch and head size"),
        (
            lambda: nestmap.attention("a", (1, 6, 5, 8), None, (1, 6, 4, 8)),
            "the same batch, heads and length",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=message):
        wrong()


def test_networks_refuse_names_that_occur_twice_and_sources_that_are_not_there() -> None:
    a = nestmap.gemm("a", (4, 8), (8, 16))
    with pytest.raises(ValidationError, match="'a' occurs 2 times"):
        nestmap.network("n", a, a)
    with pytest.raises(ValidationError, match="reads from 'a', which is not in the workload"):
        nestmap.network("n", nestmap.linear("b", (4, 16), 2, source=a))


def test_the_facade_knows_what_it_says_and_no_more() -> None:
    for name in dir(nestmap):
        assert getattr(nestmap, name) is not None
    with pytest.raises(AttributeError, match="conv4d"):
        _ = nestmap.conv4d  # type: ignore[attr-defined]
