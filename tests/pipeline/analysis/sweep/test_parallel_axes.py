"""Axes of parallel coordinates: heights of designs, and numbers that can be told apart."""

import numpy as np
import pytest

from nestmap.model import Objective
from nestmap.model.evaluation.objective import DesignQuantity
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    parameter_column,
)
from nestmap.pipeline.analysis.sweep.parallel_axes import ParallelAxis, parallel_axes


def axis_of(areas: list[float]) -> ParallelAxis:
    """The axis of designs with these areas."""
    values = np.array(areas)
    rows = parameter_column("rows", range(len(areas)))
    area = ObjectiveColumn(DesignQuantity.AREA, values)
    numbers = tuple(range(len(areas)))
    mapped = (Objective.ENERGY,) * len(areas)
    view = DesignsView("space", numbers, mapped, (rows,), (area,), values == values.min())
    return parallel_axes(view)[-1]


@pytest.mark.parametrize(
    ("areas", "first", "last", "different"),
    [
        ([10, 20, 50], "10", "50", 5),
        ([16.57, 16.7], "16.57", "16.7", 5),
        ([1000, 1000.001], "1,000", "1,000.001", 5),
        ([1, 1 + 1e-12], "1", "1", 1),
        ([7, 7], "7", "7", 1),
    ],
)
def test_numbers_can_be_told_apart(
    areas: list[float], first: str, last: str, different: int
) -> None:
    texts = [text for _, text in axis_of(areas).ticks]
    assert (texts[0], texts[-1], len(set(texts))) == (first, last, different)


def test_designs_stand_between_the_lowest_and_the_highest_value() -> None:
    assert axis_of([30, 10, 20]).heights.tolist() == [1, 0, 0.5]
    assert axis_of([1, 100, 10_000]).heights.tolist() == pytest.approx([0, 0.5, 1])
    assert axis_of([-5, 0, 5]).heights.tolist() == [0, 0.5, 1]
