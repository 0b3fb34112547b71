"""What each mode makes of the hints, layer by layer."""

from contextlib import suppress
from math import ceil, prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.model import Counting, InputError, Workload, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.multicore.split_options import HintLoop, SplitMode, SplitOptions
from nestmap.search.multicore.split.split_workload import split_layer, split_workload
from tests.search.multicore.split.brute import macs
from tests.search.multicore.split.networks import networks
from tests.search.multicore.split.test_exactness import options, split
from tests.search.multicore.split.test_properties import nests, parts


@given(networks(), options())
def test_stream_pads_loops_to_the_next_multiple(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, copy_with(how, {"counting": Counting.REFERENCE}))
    for layer, first, end in parts(made):
        cut = {loop.dimension: loop.size for loop in layer.outer}
        for loop, real in zip(layer.loops, layer.nest.loops, strict=True):
            count = cut.get(loop.dimension, 1)
            assert loop.size == ceil(real.size / count) * count
        nodes = [made.node(place) for place in range(first, end)]
        assert len(set(map(macs, nodes))) == 1
        assert sum(map(macs, nodes)) == prod(loop.size for loop in layer.loops)
        assert len(nodes) == prod(cut.values())


@given(networks(), options())
def test_mode_2_is_mode_1_with_the_other_loops(workload: Workload, how: SplitOptions) -> None:
    for nest in nests(workload):
        inner = copy_with(how, {"mode": SplitMode.INNER})
        within = dict.fromkeys(nest.sizes, 1)
        for hint in how.hints[0]:
            if hint.dimension in nest.sizes:
                size = nest.sizes[hint.dimension]
                within[hint.dimension] = min(hint.tiles or size, size)
        around = tuple(
            HintLoop(dimension=d, tiles=ceil(size / within[d])) for d, size in nest.sizes.items()
        )
        outer = SplitOptions(hints=(around,))
        assert split_layer(nest, inner, None) == split_layer(nest, outer, None)


@given(networks(), options(), st.integers(1, 5))
def test_mode_3_splits_each_layer_by_the_list_of_its_number(
    workload: Workload, how: SplitOptions, cutoff: int
) -> None:
    hints = (how.hints[0], ())
    both = SplitOptions(mode=SplitMode.PER_LAYER, hints=hints, cutoffs=(cutoff,))
    for nest in nests(workload):
        alone = how if nest.number < cutoff else SplitOptions()
        assert split_layer(nest, both, None) == split_layer(nest, alone, None)


@given(
    networks(),
    options(),
    st.integers(8, 400),
    st.floats(0.1, 1, allow_subnormal=False),
    st.sampled_from(Counting),
)
def test_mode_4_makes_the_constants_of_each_group_fit(
    workload: Workload, how: SplitOptions, room: int, share: float, counting: Counting
) -> None:
    how = copy_with(
        how, {"mode": SplitMode.OUTER_AND_WEIGHTS, "weight_share": share, "counting": counting}
    )
    made = None
    with suppress(InputError):  # no part fits; the next test is about that
        made = split_workload(workload, how, lambda node: True, lambda nest: room)
    assume(made is not None)
    assert made is not None
    for layer in made.layers:
        for use in layer.nest.constants:
            assert layer.bits_of(use, counting).max() <= share * room


def test_mode_4_says_which_layer_cannot_be_split() -> None:
    how = SplitOptions(mode=SplitMode.OUTER_AND_WEIGHTS, weight_share=0.5)
    layer = layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]", {"B": 2, "K": 8, "C": 4}, name="fc", constants=["W"]
    )
    fits = split_workload(Workload.of(layer), how, lambda node: True, lambda nest: 64)
    assert len(fits) == 8
    with pytest.raises(InputError, match=r"layer fc: found constants of 256 bit") as caught:
        split_workload(Workload.of(layer), how, lambda node: True, lambda nest: 63)
    assert "parts of at most 32 bit, 0.5 of the smallest memory" in caught.value.expected


@pytest.mark.parametrize(("size", "room", "parts"), [(10, 26, 5), (10, 30, 4), (10, 100, 1)])
def test_mode_4_cuts_k_so_that_whole_rows_fit(size: int, room: int, parts: int) -> None:
    """Of ten rows of ten bits 26 bits hold two: five parts; four parts would have three rows."""
    layer = layer_from_equation(
        "O[k]+=W[k][c]*I[c]",
        {"K": size, "C": 1},
        name="fc",
        constants=["W"],
        precision={"W": 10, "I": 8, "O": 8},
    )
    how = SplitOptions(mode=SplitMode.OUTER_AND_WEIGHTS)
    made = split_workload(Workload.of(layer), how, lambda node: True, lambda nest: room)
    assert len(made) == parts
