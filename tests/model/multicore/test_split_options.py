"""Options of splitting: lists of hints fit the mode."""

import pytest
from pydantic import ValidationError

from nestmap.model.multicore.split_options import HintLoop, SplitMode, SplitOptions

OY = (HintLoop(dimension="OY"),)


def test_the_default_is_layer_by_layer() -> None:
    assert SplitOptions().hints == ((),)
    assert SplitOptions().mode is SplitMode.OUTER


def test_hints_read_as_they_are_given() -> None:
    assert [str(HintLoop(dimension="OY", tiles=n)) for n in (None, 4)] == ["OY=all", "OY=4"]


@pytest.mark.parametrize("tiles", [0, -1])
def test_a_number_of_tiles_is_positive(tiles: int) -> None:
    with pytest.raises(ValidationError):
        HintLoop(dimension="OY", tiles=tiles)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(ValidationError):
        SplitOptions(mode=SplitMode.OUTER_AND_WEIGHTS, weight_share=share)


def test_there_is_a_list_of_hints_for_each_range_of_layers() -> None:
    made = SplitOptions(mode=SplitMode.PER_LAYER, hints=(OY, (), OY), cutoffs=(2, 5))
    assert made.cutoffs == (2, 5)


@pytest.mark.parametrize(
    ("mode", "hints", "cutoffs", "message"),
    [
        (SplitMode.PER_LAYER, 1, (2,), "1 lists of hint loops for 1 layer cutoffs; expected 2"),
        (SplitMode.PER_LAYER, 3, (2,), "3 lists of hint loops for 1 layer cutoffs; expected 2"),
        (SplitMode.OUTER, 2, (), "2 lists of hint loops for 0 layer cutoffs; expected 1"),
        (SplitMode.INNER, 2, (4,), r"cutoffs \(4,\) in mode 2; expected mode 3"),
        (SplitMode.PER_LAYER, 3, (5, 2), r"layer cutoffs \(5, 2\); expected ascending ones"),
        (SplitMode.PER_LAYER, 3, (5, 5), r"layer cutoffs \(5, 5\); expected ascending ones"),
    ],
)
def test_lists_that_do_not_fit_are_refused(
    mode: SplitMode, hints: int, cutoffs: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        SplitOptions(mode=mode, hints=(OY,) * hints, cutoffs=cutoffs)
