"""Contractions: how axes are named by what they do, and that no size is lost."""

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from nestmap.model.workload.contraction import contraction
from nestmap.model.workload.loop_nests import matrix_product


def test_a_matrix_product() -> None:
    found = contraction({"b": 2, "i": 4, "j": 8}, {"b": 2, "j": 8, "k": 16}, "bik")
    assert found == matrix_product({"C": 8, "D": 4, "K": 16}, (2,), (2,))


def test_roles() -> None:
    left = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}
    right = {"a": 2, "c": 4, "d": 5, "f": 7, "g": 8}
    nest = contraction(left, right, "abf")
    sizes = {loop.dimension: loop.size for loop in nest.loops}
    assert sizes == {"C": 5, "C2": 4, "C3": 6, "C4": 8, "D": 3, "K": 7, "B": 2}
    texts = ["".join(f"[{index}]" for index in access.indices) for access in nest.inputs]
    assert texts == ["[b][d][c][c2][c3]", "[b][c][c2][c4][k]"]


SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), max_size=5)


@given(SIZES, SIZES, st.data())
def test_every_axis_has_one_loop(
    left: dict[str, int], right: dict[str, int], data: st.DataObject
) -> None:
    right = {label: left.get(label, size) for label, size in right.items()}
    both = {**left, **right}
    output = data.draw(st.lists(st.sampled_from(sorted(both)), unique=True)) if both else []
    nest = contraction(left, right, output)
    sizes = {loop.dimension: loop.size for loop in nest.loops}
    assert len(sizes) == len(nest.loops)
    assert prod(sizes.values()) == prod(both.values())
    for axes, access in zip((left, right), nest.inputs, strict=True):
        touched = [sizes[index.dimensions[0]] for index in access.indices]
        assert prod(touched) == prod(axes.values())
    assert prod(sizes[x.dimensions[0]] for x in nest.output) == prod(both[x] for x in output)
