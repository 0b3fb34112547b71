"""Parallel coordinates: an axis for each parameter and objective, with the heights of designs."""

from typing import Final, NamedTuple

import numpy as np

from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    Floats,
    ObjectiveColumn,
    ParameterColumn,
    labelled,
)

MOST_TICKS: Final = 9
"""The largest number of values that are written at an axis."""

_TICKS: Final = 5
_LETTERS: Final = 60
_DIGITS: Final = 8


class ParallelAxis(NamedTuple):
    """An axis: its label, the heights of the designs (0 to 1), and texts at heights."""

    label: str
    heights: Floats
    ticks: tuple[tuple[float, str], ...]


def parallel_axes(view: DesignsView) -> tuple[ParallelAxis, ...]:
    """The axes of the parameters, then of the objectives.

    Values of parameters stand at equal distances in their order, those of objectives on a linear
    scale, or a logarithmic one if they differ much. A value that all designs have is in the middle.
    """
    return (*map(_parameter_axis, view.parameters), *map(_objective_axis, view.objectives))


def shown_ticks(parameter: ParameterColumn, letters: int) -> list[int]:
    """The places of the values that are written: as many as fit, always the first and the last.

    They are equally far apart where that costs at most half of them.
    """
    count = len(parameter.values)
    longest = min(10, max(map(len, parameter.labels))) + 2
    most = min(count, MOST_TICKS, max(2, letters // longest))
    if most == 1:
        return [0]
    even = (n for n in range(most, most // 2, -1) if (count - 1) % (n - 1) == 0)
    most = next(even, most)
    return sorted({round(x) for x in np.linspace(0, count - 1, most).tolist()})


def _parameter_axis(parameter: ParameterColumn) -> ParallelAxis:
    last = max(1, len(parameter.values) - 1)
    first = 0.0 if len(parameter.values) > 1 else 0.5
    ticks = shown_ticks(parameter, _LETTERS)
    texts = tuple((first + x / last, parameter.labels[x]) for x in ticks)
    return ParallelAxis(parameter.name, first + parameter.places / last, texts)


def _objective_axis(column: ObjectiveColumn) -> ParallelAxis:
    label, unit = labelled(column)
    is_logarithmic = is_wide(column.values)
    values = np.log(column.values) if is_logarithmic else column.values
    low, high = float(values.min()), float(values.max())
    if low == high:
        text = unit.number(float(column.values[0]))
        return ParallelAxis(label, np.full(len(values), 0.5), ((0.5, text),))
    places = np.linspace(0, 1, _TICKS)
    at = low + places * (high - low)
    numbers = np.exp(at) if is_logarithmic else at
    texts = _different_texts((numbers / unit.divisor).tolist())
    heights = (values - low) / (high - low)
    return ParallelAxis(label, heights, tuple(zip(places.tolist(), texts, strict=True)))


def _different_texts(numbers: list[float]) -> list[str]:
    """Numbers with as few digits as tell them apart, but three."""
    for digits in range(3, _DIGITS):
        texts = [_text(x, digits) for x in numbers]
        if len(set(texts)) == len(numbers):
            return texts
    return [_text(x, _DIGITS) for x in numbers]


def _text(number: float, digits: int) -> str:
    """All digits before the point up to a million, which tell more than a power of ten."""
    is_long = 10**digits <= abs(number) < 1e6
    return f"{number:,.0f}" if is_long else f"{number:,.{digits}g}"
