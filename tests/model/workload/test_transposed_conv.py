"""Transposed convolutions: the phases of an axis share out its kernel and its outputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model.workload.loop_nests import Channels
from nestmap.model.workload.transposed_conv import (
    MAX_PHASES,
    TransposedAxis,
    transposed_convolution,
)


@given(
    st.integers(1, 12), st.integers(1, 9), st.integers(1, 6), st.integers(1, 4), st.integers(0, 5)
)
def test_every_kernel_element_and_output_is_in_one_phase(
    size: int, kernel: int, stride: int, dilation: int, before: int
) -> None:
    whole = stride * (size - 1) + dilation * (kernel - 1) + 1
    output = max(stride, whole - before)
    axis = TransposedAxis(
        letter="X",
        input=size,
        kernel=kernel,
        stride=stride,
        dilation=dilation,
        before=before,
        output=output,
    )
    phases = axis.phases
    reached = {(o + before) % stride for o in range(output)}
    used = [f for f in range(kernel) if f * dilation % stride in reached]
    assert sum(each.count * each.kernel for each in phases) == len(used)
    met = {o for o in range(output) for f in used if (o + before - f * dilation) % stride == 0}
    assert sum(each.count * each.outputs for each in phases) == len(met)
    assert len(phases) <= 4
    for each in phases:
        whole_reach = each.outputs + each.dilation * (each.kernel - 1)
        assert whole_reach <= size + sum(each.index.padding)


def test_nests_are_the_combinations_of_phases() -> None:
    axes = [
        TransposedAxis(letter=letter, input=8, kernel=3, stride=2, before=1, output=16)
        for letter in "YX"
    ]
    nests = transposed_convolution(axes, Channels(outputs=5, inputs=7))
    kernels = [
        {loop.dimension: loop.size for loop in nest.loops if loop.dimension[0] == "F"}
        for nest in nests
    ]
    assert kernels == [{"FX": x, "FY": y} for y in (2, 1) for x in (2, 1)]


def test_too_many_phases() -> None:
    axis = TransposedAxis(
        letter="X", input=2, kernel=MAX_PHASES + 1, stride=MAX_PHASES + 1, output=9
    )
    with pytest.raises(ValueError, match="phases; expected no more"):
        transposed_convolution([axis], Channels(outputs=1, inputs=1))
