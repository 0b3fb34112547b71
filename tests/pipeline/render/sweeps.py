"""Sweeps to draw: made-up designs whose objectives follow from their parameters."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from nestmap.model import Objective
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    Flags,
    Floats,
    ObjectiveColumn,
    parameter_column,
)

PARAMETERS: Final[Mapping[str, Sequence[Value]]] = {
    "rows": (8, 16, 32, 64),
    "has_buffer": (True, False),
    "sram": tuple(2**n for n in range(20, 25)),
}
"""The first one decides most."""

HOSTILE: Final[Mapping[str, Sequence[Value]]] = {
    "a_parameter_of_thirty_two_letter": (0.125, 8, 16),
    "kind": ("$x_1$", "a_memory_of_a_long_name" * 4, "\u4e2d\u6587", " ", "edram"),
    **{f"p{n}": tuple(range(n, 40 * (n + 1), n + 1)) for n in range(4)},
}
"""Names and values that could trip over one another."""

ENERGY, LATENCY, EDP, AREA = DESIGN_OBJECTIVES


PRODUCT, LOSS, LENGTH = (
    ObjectiveFormula(of=Expression(text=text))
    for text in (
        "0.25 * energy * area ** 2 / max(latency, 1) ** 0.5 + energy * (kind == '$x_1$' and 1)",
        "-energy",
        "latency ** 2 + 1000000 * area + rows - sram",
    )
)
"""Expressions with a long text, and with negative values."""


def designs(
    number: int,
    objectives: Sequence[SweepObjective] = (ENERGY, LATENCY),
    parameters: Mapping[str, Sequence[Value]] = PARAMETERS,
    infeasible: int = 0,
    each: int = 1,
) -> DesignsView:
    """So many designs, always the same ones; ``each`` is mapped for so many objectives."""
    steps = np.arange(1, number * each + 1, dtype=np.float64)
    columns = tuple(
        parameter_column(name, [values[int(x)] for x in steps * (0.7548776662 + n) % len(values)])
        for n, (name, values) in enumerate(parameters.items())
    )
    first, second, *_ = (x.places / max(1, len(x.values) - 1) for x in columns)
    noise = steps * 0.5698402910 % 1
    energy: Floats = 1e9 * (1 + 0.8 * first + 0.1 * second + 0.2 * noise)
    latency: Floats = 1e6 * 40 ** (1 - first) * (1 + 0.1 * noise)
    figures: dict[SweepObjective, Floats] = {
        ENERGY: energy,
        LATENCY: latency,
        EDP: energy * latency,
        AREA: 1 + 3 * first + second,
        PRODUCT: energy**2,
        LOSS: -energy,
        LENGTH: latency**2,
    }
    chosen = tuple(ObjectiveColumn(x, figures[x]) for x in objectives)
    rows = np.stack([x.values for x in chosen], axis=1)
    on_front = _on_front(rows)
    mapped = tuple(Objective)[:each] * number
    numbers = tuple(n // each for n in range(number * each))
    return DesignsView("arrays", numbers, mapped, columns, chosen, on_front, infeasible)


def _on_front(rows: Floats) -> Flags:
    """Which rows no other row beats; one that is beaten is beaten by one on the front."""
    found = np.zeros(len(rows), np.bool_)
    for place in np.lexsort(rows.T[::-1]).tolist():  # a row is behind those that beat it
        front, row = rows[found], rows[place]
        found[place] = not ((front <= row).all(axis=1) & (front < row).any(axis=1)).any()
    return found
