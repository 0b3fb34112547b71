"""Networks made in Python are compared as those of files are."""

import warnings

import pytest

import nestmap
from nestmap.model import InputError, InputWarning, Layer, Workload, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.workload.consistency import check_workload


def conv(name: str, channels: int, *, out: int = 8, source: str | None = None) -> Layer:
    """A convolution of 3 x 3 to four channels, padded."""
    return layer_from_equation(
        "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        {"B": 1, "K": 4, "C": channels, "OY": out, "OX": out, "FY": 3, "FX": 3},
        name=name,
        operator="Conv",
        relations=("ix=ox+fx", "iy=oy+fy"),
        sources={"I": source} if source else {},
        axes={"IX": (8, (1, 1)), "IY": (8, (1, 1))},
    )


def test_layers_that_suit_each_other_are_accepted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_workload(Workload.of(conv("a", 3), conv("b", 4, source="a")))


def test_another_shape_is_an_error() -> None:
    workload = Workload.of(conv("a", 3), conv("b", 5, source="a"))
    with pytest.raises(InputError, match="reads 1 x 5 x 8 x 8 elements"):
        check_workload(workload)
    with pytest.raises(InputError, match="workload workload: layer 'b': I: found"):
        nestmap.explore(workload, "tpu_like")
    with pytest.raises(InputError, match="workload workload: layer 'b': I: found"):
        nestmap.stream(workload, "quad_tpu")


def test_axes_that_loops_do_not_reach_are_an_error() -> None:
    with pytest.raises(InputError, match=r"layer 'a': I: found 8 elements with padding 1 and 1"):
        check_workload(Workload.of(conv("a", 3, out=9)))


def test_another_precision_is_a_warning() -> None:
    wide = conv("a", 3)
    output = copy_with(wide.output, {"precision": 16})
    workload = Workload.of(copy_with(wide, {"output": output}), conv("b", 4, source="a"))
    with pytest.warns(InputWarning, match="I of 'b' with 8 bits an element, from O of 'a' with 16"):
        check_workload(workload)
