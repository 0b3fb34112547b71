"""Records: their layout, and what does not fit into them."""

from typing import Annotated, final

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import DIMENSIONS, LEVELS, fill_corner, new_record
from nestmap.model import InputError, Layer, Loop, MemoryLevel
from nestmap.model.arrays import Floats, Ints
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered


@final
class Sample:
    """A record with every kind of field."""

    count: int
    share: float
    whole: Annotated[Ints, (2, 3)]
    decimal: Annotated[Floats, (4,)]


def test_a_new_record_is_all_zero() -> None:
    record = new_record(Sample)
    assert (record.count, record.share) == (0, 0.0)
    assert record.whole.shape == (2, 3)
    assert record.whole.dtype == np.int64
    assert record.decimal.shape == (4,)
    assert record.decimal.dtype == np.float64
    assert not record.whole.any()
    assert not record.decimal.any()


def test_records_do_not_share_memory() -> None:
    one, other = new_record(Sample), new_record(Sample)
    one.count, one.whole[0, 0] = 7, 8
    assert (other.count, other.whole[0, 0]) == (0, 0)


def test_values_go_into_the_front_corner() -> None:
    record = new_record(Sample)
    fill_corner(record.whole, [[1, 2], [3, 4]], "numbers")
    assert record.whole.tolist() == [[1, 2, 0], [3, 4, 0]]


@pytest.mark.parametrize(("values", "found"), [([[1, 2, 3, 4]], "4"), ([[1]] * 3, "3")])
def test_too_many_values_are_an_error(values: list[list[int]], found: str) -> None:
    record = new_record(Sample)
    with pytest.raises(InputError, match=f"numbers: found {found} of them; expected at most"):
        fill_corner(record.whole, values, "numbers")


def test_a_field_must_not_hide_what_numpy_means_by_it() -> None:
    @final
    class Bad:
        size: int

    with pytest.raises(AssertionError, match="size"):
        new_record(Bad)


def stacked(levels: int) -> tuple[MemoryLevel, ...]:
    return tuple(memory(f"m{i}", served="D1") for i in range(levels))


def test_eight_memory_levels_fit() -> None:
    spatial = mapped(matmul(4, 4), machine(*stacked(LEVELS - 1)))
    cuts = (0,) * (LEVELS - 2) + (2,)
    cme = evaluate(spatial, ordered("K 4 C 4", dict.fromkeys("OWI", cuts)))
    assert len(cme.levels) == 3 * (LEVELS - 1)


def test_nine_memory_levels_are_too_many() -> None:
    with pytest.raises(InputError) as caught:
        flatten(mapped(matmul(4, 4), machine(*stacked(LEVELS))))
    assert "machine" in caught.value.where
    assert "memory levels" in caught.value.where
    assert caught.value.expected == f"at most {LEVELS}"


def layer_with(dimensions: int) -> Layer:
    layer = matmul(4, 4)
    more = tuple(Loop(dimension=f"X{i}", size=1) for i in range(dimensions - len(layer.loops)))
    return copy_with(layer, {"loops": layer.loops + more})


def test_dimensions_up_to_the_capacity() -> None:
    flatten(mapped(layer_with(DIMENSIONS), machine(memory("m", served="D1"))))
    with pytest.raises(InputError, match=f"layer: .*found {DIMENSIONS + 1} of them"):
        flatten(mapped(layer_with(DIMENSIONS + 1), machine(memory("m", served="D1"))))
